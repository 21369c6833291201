package idemddb_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Callers that come at any moment share requests, and hardly wait for each other. A request takes 4 ms, and the work up to 20 ms.
func TestManyCallersShareRequestsAndHardlyWait(t *testing.T) {
	t.Parallel()

	alone, requests := callsOf(t, 1)
	if requests != 1 {
		t.Errorf("one caller: %v requests a write, want 1", requests)
	}

	for callers, most := range map[int]struct{ slower, requests float64 }{8: {1.5, 0.7}, 64: {1.2, 0.3}} {
		median, requests := callsOf(t, callers)
		t.Logf("%d callers: half of the calls end in %v (one caller: %v), %.2f requests a write", callers, median, alone, requests)

		if slower := float64(median) / float64(alone); slower > most.slower || requests > most.requests {
			t.Errorf("%d callers: half of the calls take up to %.2f times as long as those of one caller, with %.2f requests a write; want at most %v and %v",
				callers, slower, requests, most.slower, most.requests)
		}
	}
}

// callsOf returns the median time of 20 calls by each of some callers at once, and the requests for each of their two writes.
func callsOf(t *testing.T, callers int) (median time.Duration, requests float64) {
	t.Helper()

	const each = 20

	var took []time.Duration

	synctest.Test(t, func(t *testing.T) {
		db := newDBWith(t, &idemddbtest.Options{Limits: idemddbtest.Limits{Latency: func() time.Duration { return 4 * time.Millisecond }}})
		s := storeOn(t, db, nil)

		var (
			all sync.WaitGroup
			mu  sync.Mutex
		)

		for caller := range callers {
			lots := rand.New(rand.NewPCG(1, uint64(caller)))

			all.Go(func() {
				for i := range each {
					begun := time.Now()

					_, err := idemddb.Do(t.Context(), s, fmt.Sprint(caller, " ", i), nil, func(context.Context) (int, error) {
						time.Sleep(time.Duration(lots.Int64N(int64(20 * time.Millisecond)))) //nolint:forbidigo // the work, on the bubble's clock

						return i, nil
					})
					must(t, err)

					mu.Lock()
					took = append(took, time.Since(begun))
					mu.Unlock()
				}
			})
		}

		all.Wait()

		requests = float64(len(db.Requests())) / float64(2*callers*each)
	})

	slices.Sort(took)

	return took[len(took)/2], requests
}
