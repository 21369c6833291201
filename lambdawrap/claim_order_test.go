package lambdawrap_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// With one worker, a message whose FIFO group has become free runs before those that stand behind it in the batch.
func TestMessagesAreClaimedInTheOrderOfTheBatch(t *testing.T) {
	t.Parallel()

	for _, mode := range modes[1:] {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &mode.opts, func(h *harness) {
				response, err := h.handle(slowly(time.Second))(h.Context(),
					batch("m1 a1 a", "m2 a2 a", "m3 b1 b", "m4 c1 c", "m5 a3 a", "m6 d1 d", "m7 e1 e"))
				h.equal("error", err, nil)
				h.equal("failed", ids(response), []string(nil))
				h.equal("order", h.runs.all(), []string{"m1", "m3", "m2", "m4", "m5", "m6", "m7"}) // m3 starts while m1 is settled
			})
		})
	}
}

func TestClaimsRunAtMostOneGroupAhead(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name    string
		opts    idemddb.Options
		workers int
		ahead   int // claims whose work has not begun, at most
	}{
		{"groups", idemddb.Options{}, 1, 25},
		{"groups, 10 workers", idemddb.Options{}, 10, 25},
		{"claims count", idemddb.Options{MaxAttempts: 3}, 1, 0},
		{"no takeover", idemddb.Options{NoTakeover: true}, 1, 0},
		{"claims count, 10 workers", idemddb.Options{MaxAttempts: 3}, 10, 0},
		{"single", idemddb.Options{Single: true}, 1, 0},
		{"single, 10 workers", idemddb.Options{Single: true}, 10, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &c.opts, func(h *harness) {
				h.opts.Workers = c.workers

				var begun, most atomic.Int64

				function := h.handle(func(context.Context, events.SQSMessage) error {
					if begun.Add(1) == 1 && h.held() > max(c.ahead, c.workers) {
						t.Errorf("%d claimed when the first handler runs", h.held())
					}

					time.Sleep(time.Second) // no request is under way any more
					raise(&most, int64(len(h.db.Items("records")))-begun.Load())
					time.Sleep(time.Second)

					return nil
				})

				h.check(function, numbered(100), nil, messageIDs(100))

				if most.Load() > int64(c.ahead) {
					t.Errorf("%d claimed ahead, want at most %d", most.Load(), c.ahead)
				}
			})
		})
	}
}

func TestTheNextGroupIsClaimedWhileTheLastOfTheOneBeforeRuns(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(h *harness) {
		claimed := map[string]int{}
		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			time.Sleep(time.Second)

			claimed[m.MessageId] = len(h.db.Items("records"))

			return nil
		})
		h.expect(function, numbered(60), nil, messageIDs(60))

		for id, want := range map[string]int{"m0": 25, "m23": 25, "m24": 50, "m48": 50, "m49": 60} {
			h.equal("records at the end of "+id, claimed[id], want)
		}
	})
}
