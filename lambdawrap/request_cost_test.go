package lambdawrap_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// slowRequests lets each request take 5 ms, so that claims and completions that are made meanwhile share the next one.
func (h *harness) slowRequests() {
	h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		time.Sleep(5 * time.Millisecond)

		return idemddbtest.None
	})
}

func TestWhatABatchCosts(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name                     string
		opts                     idemddb.Options
		messages                 int
		requests, units          int // of new keys
		again, againUnits        int // of duplicates that come as first deliveries
		redelivery, redelivUnits int // of duplicates that come as redeliveries
	}{
		{"10 in groups", idemddb.Options{}, 10, 2, 20, 2, 20, 1, 10},
		{"25 in groups", idemddb.Options{}, 25, 2, 50, 2, 50, 1, 25},
		{"10 in single requests", idemddb.Options{Single: true}, 10, 20, 20, 10, 10, 10, 10},
		{"1", idemddb.Options{}, 1, 2, 2, 1, 1, 1, 1},
		{"from the cache", idemddb.Options{Cache: 100}, 10, 2, 20, 0, 0, 0, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &c.opts, func(h *harness) {
				h.slowRequests()
				function := h.handle(succeed)

				for _, step := range []struct {
					name            string
					delivery        int
					requests, units int
				}{
					{"new keys", 1, c.requests, c.units},
					{"duplicates, first delivery", 1, c.again, c.againUnits},
					{"duplicates, redelivered", 2, c.redelivery, c.redelivUnits},
				} {
					_, err := function(h.Context(), deliveredFor(numbered(c.messages), step.delivery))
					h.equal("error", err, nil)

					requests, units := h.costs()
					h.equal(step.name+", requests", requests, step.requests)
					h.equal(step.name+", write units", units, step.units)
				}

				h.equal("runs", len(h.runs.all()), c.messages)
			})
		})
	}
}

func TestWhatABatchOf100Costs(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 10, 50, 100} {
		for name, wrap := range map[string]func(*harness, lambdawrap.Handler) wrapped{"SQS": (*harness).handle, "Batch": (*harness).whole} {
			t.Run(fmt.Sprint(name, workers), func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(h *harness) {
					h.slowRequests()
					h.opts.Workers = workers
					function := wrap(h, succeed)

					h.check(function, numbered(100), nil, messageIDs(100))
					requests, units := h.costs()
					h.equal("write units", units, 200)

					if requests > 30 {
						t.Errorf("%d requests", requests)
					}

					h.check(function, deliveredFor(numbered(100), 2), nil, nil)
					requests, units = h.costs()
					h.equal("redelivered: write units", units, 100)
					h.equal("redelivered: requests", requests, 4)

					h.check(function, numbered(100), nil, nil)
					requests, units = h.costs()
					h.equal("first delivery: write units", units, 200)
					h.equal("first delivery: requests", requests, 8)
				})
			})
		}
	}
}
