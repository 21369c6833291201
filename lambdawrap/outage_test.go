package lambdawrap_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// DynamoDB stops to answer after some requests, and answers again when the invocation has ended. No message is lost, and no invocation
// runs a key twice.
func TestAnOutageThatBeginsInTheMiddle(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.Throttle, idemddbtest.AccessDenied, idemddbtest.TruncatedBody,
	} {
		for _, way := range ways {
			for _, mode := range modes[:3] {
				if testing.Short() && mode.name != modes[0].name {
					continue
				}

				t.Run(fmt.Sprint(fault, ", ", way.name, ", ", mode.name), func(t *testing.T) {
					t.Parallel()
					bubble(t, nil, func(of *harness) {
						k := 0
						for outage(newHarness(of.TB, &mode.opts), way.wrap, fault, k) {
							k++
						}
					})
				})
			}
		}
	}
}

// outage lets all requests after the first k fail. It returns false if there were no more than k.
func outage(h *harness, wrap func(*harness, lambdawrap.Handler) wrapped, fault idemddbtest.Fault, k int) bool {
	const size = 6

	var (
		requests atomic.Int64
		effects  journal // the keys whose work was done
		isOut    atomic.Bool
	)

	isOut.Store(true)
	h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		if n := requests.Add(1); isOut.Load() && n > int64(k) {
			return fault
		}

		return idemddbtest.None
	})

	count := func(key string) int {
		return len(slices.DeleteFunc(effects.all(), func(of string) bool { return of != key }))
	}
	function := wrap(h, func(_ context.Context, m events.SQSMessage) error {
		time.Sleep(time.Second)

		if m.Body == "k4" && isOut.Load() {
			return errBank
		}

		effects.add(m.Body)

		return nil
	})
	event := deliveredFor(batch("m0 k0", "m1 k1", "m2 k2", "m3 k3", "m4 k4", "m5 k5", "m6 k1"), 1)

	ctx, cancel := context.WithTimeout(h.Context(), 40*time.Second)
	defer cancel()

	response, err := function(ctx, event)
	h.equal("error", err, nil)
	h.equal("in time", ctx.Err(), nil)

	failed := ids(response)
	hasFailed := requests.Load() > int64(k)

	for i := range size {
		key, id := fmt.Sprint("k", i), fmt.Sprint("m", i)
		h.equal(id+" is reported unless its work is done", slices.Contains(failed, id), count(key) == 0)
		h.equal(id+" runs once", count(key) <= 1, true)
	}

	h.equal("messages of one key are reported alike", slices.Contains(failed, "m6"), slices.Contains(failed, "m1"))

	// The outage ends, the leases end, and requests that were under way arrive.
	isOut.Store(false)
	time.Sleep(time.Minute)
	h.db.Deliver()
	time.Sleep(time.Minute)

	var back events.SQSEvent
	for _, m := range event.Records {
		if slices.Contains(failed, m.MessageId) {
			back.Records = append(back.Records, m)
		}
	}

	response, err = function(h.Context(), deliveredFor(back, 2))
	h.equal("error", err, nil)
	h.equal("failed, later", ids(response), []string(nil))

	for i := range size {
		h.equal("effects of what came back", count(fmt.Sprint("k", i)), 1)
	}

	// If SQS delivers all messages once more, those run again whose completion was lost.
	response, err = function(h.Context(), deliveredFor(event, 3))
	h.equal("error", err, nil)
	h.equal("failed, at last", ids(response), []string(nil))

	for i := range size {
		h.equal("twice at most", count(fmt.Sprint("k", i)) <= 2, true)
		h.equal("record", h.state(fmt.Sprint("k", i)), "COMPLETED")
	}

	if h.Failed() {
		h.Logf("in an outage after %d requests", k)
	}

	return hasFailed && !h.Failed()
}
