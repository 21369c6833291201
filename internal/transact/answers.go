package transact

import (
	"math"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Answers is what is known of the answers of one backend. The zero value knows nothing. It is safe for concurrent use.
type Answers struct {
	empty atomic.Int64 // answers without consumed capacity in a row, or sendsCapacity
}

const (
	// sendsCapacity says that the backend has sent a consumed capacity. It is so low that no number of empty answers leads back from it.
	sendsCapacity = math.MinInt64

	// believedAfter is how many empty answers in a row mean that a backend never sends the consumed capacity.
	believedAfter = 3
)

// prove reports whether an answer proves that the transaction was committed. An answer without content proves nothing; but a backend
// that has never sent the capacity that was asked for is believed after three in a row. isNew is true for the one that made it so.
func (a *Answers) prove(out *dynamodb.TransactWriteItemsOutput) (isProof, isNew bool) {
	if out != nil && len(out.ConsumedCapacity) > 0 {
		a.empty.Store(sendsCapacity)

		return true, false
	}

	n := a.empty.Add(1)

	return n >= believedAfter, n == believedAfter
}

// endRow ends a row of empty answers, unless it is known what such an answer means.
func (a *Answers) endRow() {
	if n := a.empty.Load(); n > 0 && n < believedAfter {
		a.empty.CompareAndSwap(n, 0)
	}
}
