package main

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Trouble comes to a request of many statements as it does to one of a single write.
func TestTroubleWithGroups(t *testing.T) {
	t.Parallel()

	batch := func(delivery int) []events.SQSMessage {
		return []events.SQSMessage{
			message("m-1", `{"paymentId":"p-1","account":"a-1","amount":100}`, delivery),
			message("m-2", `{"paymentId":"p-2","account":"a-1","amount":100}`, delivery),
		}
	}

	for name, play := range map[string]func(ctx context.Context, s *stage){
		"a worker dies after its claims": func(ctx context.Context, s *stage) {
			w := s.worker()
			w.diesAfterClaim()
			s.deliver(ctx, w, expected{answer: noAnswer, records: 1}, batch(1)...)
			s.ends(ctx, "p-2", "INPROGRESS", account{})

			s.pass(32 * time.Second)
			s.deliver(ctx, s.worker(), expected{runs: 2, records: 2}, batch(2)...)
			s.ends(ctx, "p-1", "COMPLETED", account{"200", "2"})
		},
		"a worker freezes after its claims": func(ctx context.Context, s *stage) {
			frozen := s.pausingWorker(pauseBeforePaying)
			claimed, thaw := frozen.freezesAfterClaim()
			call := s.begin(ctx, frozen, batch(1)...)
			<-claimed
			s.requests(frozen.wire.take())

			s.pass(32 * time.Second)
			s.deliver(ctx, s.worker(), expected{runs: 2, records: 2}, batch(2)...)
			thaw()
			<-call.done
			s.end(call, expected{answer: "m-1 m-2", runs: 1, orRuns: 2, records: 1, atLeast: true})
			s.ends(ctx, "p-2", "COMPLETED", account{"200", "2"})
		},
		"DynamoDB refuses the first request": func(ctx context.Context, s *stage) {
			var met atomic.Bool

			w := s.worker()
			w.wire.before = func(_ context.Context, r request) error {
				if len(r.parts) == 2 && met.CompareAndSwap(false, true) {
					return &types.ProvisionedThroughputExceededException{}
				}

				return nil
			}
			s.deliver(ctx, w, expected{runs: 2, records: 3}, batch(1)...)
			s.endAll(ctx, []string{"p-1", "p-2"}, "call-1", account{"200", "2"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				e, err := open(t.Context(), "memory")
				if err != nil {
					t.Fatal(err)
				}

				var out strings.Builder

				s := &stage{
					page: &page{out: &out}, engine: e, work: pay,
					clock: idemddbtest.NewClock(time.Date(2026, 1, 5, 9, 0, 0, 0, time.UTC)),
				}

				if play(t.Context(), s); s.err != nil {
					t.Errorf("%v\n%s", s.err, out.String())
				}
			})
		})
	}
}
