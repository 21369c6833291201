package lambdawrap_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// countRequests makes each request take 2 ms, and counts those that are under way at a time.
func (h *harness) countRequests() (most *atomic.Int64) {
	var now atomic.Int64

	most = &atomic.Int64{}

	h.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
		raise(most, now.Add(1))
		defer now.Add(-1)

		time.Sleep(2 * time.Millisecond)

		return idemddbtest.None
	})

	return most
}

func TestRequestsAreSharedByAnyNumberOfWorkers(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 2, 5, 10, 20, 100} {
		for messages, want := range map[int]float64{10: 0.2, 100: 0.1, 1000: 0.1} {
			if testing.Short() && messages == 1000 && workers != 10 {
				continue
			}

			t.Run(fmt.Sprintf("%d workers, %d messages", workers, messages), func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(h *harness) {
					most := h.countRequests()
					h.opts.Workers = workers
					h.check(h.handle(succeed), numbered(messages), nil, messageIDs(messages))

					if requests, _ := h.costs(); float64(requests) > want*float64(messages) {
						h.Errorf("%d requests", requests)
					}

					if n := most.Load(); n > 8 {
						h.Errorf("%d requests at a time", n)
					}
				})
			})
		}
	}
}

// AWS Lambda Managed Instances runs several invocations at a time in one process.
func TestInvocationsThatOverlapShareRequests(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(h *harness) {
		h.countRequests()

		const invocations, rounds = 64, 10

		function := lambdawrap.SQS(h.store, func(context.Context, events.SQSMessage) error {
			time.Sleep(10 * time.Millisecond)

			return nil
		}, nil)

		var all sync.WaitGroup

		for i := range invocations {
			all.Go(func() {
				for j := range rounds {
					time.Sleep(time.Duration(i) * 300 * time.Microsecond)

					m := events.SQSMessage{MessageId: fmt.Sprint(i, "-", j), Body: "b", EventSourceARN: queue}
					if answer, err := function(h.Context(), events.SQSEvent{Records: []events.SQSMessage{m}}); err != nil || len(answer.BatchItemFailures) > 0 {
						h.Errorf("%v, %v", answer, err)
					}
				}
			})
		}

		all.Wait()

		if requests, _ := h.costs(); requests > invocations*rounds*2*3/10 {
			h.Errorf("%d requests for %d writes", requests, invocations*rounds*2)
		}
	})
}
