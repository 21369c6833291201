package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A table with four partitions, of which each takes 20 write units a second, gets more work than that for some seconds.
// Statements and parts of transactions are throttled one by one, and each is sent again until it is written: every key ends, and
// its work runs once.
func TestThrottledWritesEndWell(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]*idemddb.ClaimOptions{"claims": nil, "transactions": {Optimistic: true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				keys := 200
				if testing.Short() {
					keys = 50
				}

				db := newDBWith(t, &idemddbtest.Options{Limits: idemddbtest.Limits{
					WriteUnits: 20, Partitions: 4, Latency: func() time.Duration { return 4 * time.Millisecond },
				}})

				var (
					all  sync.WaitGroup
					runs atomic.Int64
				)

				s := storeOn(t, db, &idemddb.Options{ClaimPatience: time.Minute, Lease: 2 * time.Minute})

				for i := range keys {
					all.Go(func() {
						_, err := idemddb.Do(t.Context(), s, fmt.Sprint("k", i), opts, func(ctx context.Context) (int, error) {
							runs.Add(1)

							return i, idemddb.Stage(ctx, items(counted(fmt.Sprint(i))))
						})
						must(t, err)
					})
				}

				all.Wait()

				for i := range keys {
					happened(t, db, fmt.Sprint(i), 1)
				}

				if n := runs.Load(); n != int64(keys) {
					t.Errorf("%d runs of %d keys", n, keys)
				}

				if n := throttledWrites(db); n == 0 {
					t.Error("nothing was throttled")
				}
			})
		})
	}
}

// throttledWrites counts what was throttled: single writes, statements, and transactions with such a part.
func throttledWrites(db *idemddbtest.DB) (n int) {
	isThrottled := func(err error) bool {
		if e, isCanceled := errors.AsType[*types.TransactionCanceledException](err); isCanceled {
			for _, reason := range e.CancellationReasons {
				if *reason.Code == "ProvisionedThroughputExceeded" {
					return true
				}
			}
		}

		_, is := errors.AsType[*types.ProvisionedThroughputExceededException](err)

		return is
	}

	for _, r := range db.Requests() {
		if isThrottled(r.Err) {
			n++
		}

		for _, part := range r.Items {
			if isThrottled(part.Err) {
				n++
			}
		}
	}

	return n
}
