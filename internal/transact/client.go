package transact

import (
	"context"
	"math"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// API is what a client needs for transactions; *dynamodb.Client has it.
type API interface {
	TransactWriteItems(
		ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.TransactWriteItemsOutput, error)
}

// Client sends the transactions to one backend, and keeps what is known of its answers. It is safe for concurrent use.
type Client struct {
	API     API
	Options []func(*dynamodb.Options)

	// These are told what happens. key is that of the transaction.
	Retried  func(ctx context.Context, key string, err error) // a try had this answer, and another one follows
	Conflict func(ctx context.Context, key string)            // a try was cancelled: another write of one of its items was under way
	Believed func(ctx context.Context)                        // from now on, an answer without consumed capacity proves a commit

	empty atomic.Int64 // answers without consumed capacity in a row, or sendsCapacity
}

const (
	// sendsCapacity says that the backend has sent a consumed capacity. It is so low that no number of empty answers leads back from it.
	sendsCapacity = math.MinInt64

	// believedAfter is how many empty answers in a row mean that a backend never sends the consumed capacity.
	believedAfter = 3
)

// proves reports whether an answer proves that the transaction was committed. An answer without content proves nothing; but a backend
// that has never sent the capacity that was asked for is believed after three in a row.
func (c *Client) proves(ctx context.Context, out *dynamodb.TransactWriteItemsOutput) bool {
	if out != nil && len(out.ConsumedCapacity) > 0 {
		c.empty.Store(sendsCapacity)

		return true
	}

	n := c.empty.Add(1)
	if n == believedAfter {
		c.Believed(ctx)
	}

	return n >= believedAfter
}

// endRow ends a row of empty answers, unless it is known what such an answer means.
func (c *Client) endRow() {
	if n := c.empty.Load(); n > 0 && n < believedAfter {
		c.empty.CompareAndSwap(n, 0)
	}
}
