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

	// The client calls these functions. key is the Key of the transaction.
	Retried  func(ctx context.Context, key string, err error) // a try had this answer, and another one follows
	Conflict func(ctx context.Context, key string)            // a try was cancelled: another write of one of its items was under way

	// AcceptsEmpty is called when three answers in a row had no consumed capacity. From then on such an answer counts as a commit.
	AcceptsEmpty func(ctx context.Context)

	empty atomic.Int64 // answers without consumed capacity in a row, or sendsCapacity
}

const (
	// sendsCapacity says that the backend has sent a consumed capacity. It is so low that no number of empty answers leads back from it.
	sendsCapacity = math.MinInt64

	// acceptedAfter is how many empty answers in a row mean that a backend never sends the consumed capacity.
	acceptedAfter = 3
)

// proves reports whether an answer proves that the transaction was committed. An answer without the consumed capacity proves nothing,
// because something between the client and DynamoDB may have dropped the content. But if a backend has never sent the capacity that was
// asked for, such an answer counts as a commit after three in a row.
func (c *Client) proves(ctx context.Context, out *dynamodb.TransactWriteItemsOutput) bool {
	if out != nil && len(out.ConsumedCapacity) > 0 {
		c.empty.Store(sendsCapacity)

		return true
	}

	n := c.empty.Add(1)
	if n == acceptedAfter {
		c.AcceptsEmpty(ctx)
	}

	return n >= acceptedAfter
}

// endRow ends a row of empty answers, unless it is known what such an answer means.
func (c *Client) endRow() {
	if n := c.empty.Load(); n > 0 && n < acceptedAfter {
		c.empty.CompareAndSwap(n, 0)
	}
}
