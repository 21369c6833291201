package lambdawrap_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestTheSameKeyTwiceInABatchRunsOnce(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 4} {
		h := newHarness(t, nil)
		h.opts.Workers = workers
		fail := true
		function := h.handle(func(context.Context, events.SQSMessage) error {
			if fail {
				return errBank
			}

			return nil
		})

		h.expect(function, batch("m1 k", "m2 k", "m3 k"), []string{"m1", "m2", "m3"}, []string{"m1"})
		h.equal("requests", len(h.db.Requests()), 2)

		fail = false
		h.expect(function, batch("m1 k", "m2 k", "m3 k"), nil, []string{"m1"})
	}
}

func TestOneKeyTwiceInABatchIsOnePieceOfWork(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		closed := always()
		function := wrap(failing(closed, "k"))
		event := batch("m1 k", "m2 other", "m3 k", "m4 k")

		h.check(function, event, []string{"m1", "m3", "m4"}, []string{"m1", "m2"})
		closed.Store(false)
		h.check(function, event, nil, []string{"m1"})
		h.equal("attempts", h.attempts("k"), "2")
	})
}

func TestAKeyInProgressElsewhereCostsItsOwnMessage(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		claim(h, h.store, "k2")

		before := h.db.Item("records", recordKey("k2"))
		function := wrap(succeed)
		h.check(function, batch("m1 k1", "m2 k2", "m3 k3", "m4 k2"), []string{"m2", "m4"}, []string{"m1", "m3"})
		h.equal("its record", cmp.Diff(before, h.db.Item("records", recordKey("k2")), ignoreUnexported), "")

		time.Sleep(time.Minute) // the lease of the other worker, which died, is over
		h.check(function, deliveredFor(batch("m2 k2", "m4 k2"), 2), nil, []string{"m2"})
	})
}

func TestTwoBatchesAtOnceHaveTheirOwnOutcomesAndOrder(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		h.opts.Workers = 2

		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			time.Sleep(time.Second)

			if m.Body == "left3" || m.Body == "right1" {
				return errBank
			}

			return nil
		})
		side := func(name string) events.SQSEvent {
			var texts []string
			for i := range 5 {
				texts = append(texts, fmt.Sprintf("%s%d %s%d group", name, i, name, i)) // both events have the same group
			}

			return batch(texts...)
		}
		answers := make([][]string, 2)

		synctest.Wait()

		done := make(chan struct{})

		go func() {
			defer close(done)

			response, err := function(h.Context(), side("left"))
			h.equal("error", err, nil)
			answers[0] = ids(response)
		}()

		response, err := function(h.Context(), side("right"))
		h.equal("error", err, nil)
		answers[1] = ids(response)

		<-done
		h.equal("failed", answers, [][]string{{"left3", "left4"}, {"right1", "right2", "right3", "right4"}})
		h.ran("left0", "left1", "left2", "left3", "right0", "right1")
		h.ordered("left0", "left1", "left2", "left3")
		h.ordered("right0", "right1")
	})
}

func TestManyInvocationsAtOnceDoEachKeyOnce(t *testing.T) {
	t.Parallel()

	for _, mode := range modes {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()

			const keys = 40

			opts := mode.opts
			opts.ClaimPatience = time.Minute // on a busy machine, all of them together take longer than the default; a claim given up may stand in the table

			h := newHarness(t, &opts)
			h.opts.Workers = 3
			h.opts.Logger = slog.New(slog.DiscardHandler)

			var (
				effects  [keys]atomic.Int64
				finished = make(chan error)
			)

			work := func(_ context.Context, m events.SQSMessage) error {
				var key int

				_, err := fmt.Sscanf(m.Body, "k%d", &key)
				effects[key].Add(1)

				return err
			}
			sqs := lambdawrap.SQS(h.store, work, h.opts)
			whole := h.whole(work)

			for n := range rounds(400) {
				go func() {
					function := sqs
					if n%3 == 0 {
						function = whole
					}

					event := batch(fmt.Sprintf("a%d k%d", n, n%keys), fmt.Sprintf("b%d k%d", n, (n*7+3)%keys), fmt.Sprintf("c%d k%d", n, (n*11)%keys))
					response, err := function(context.Background(), event)

					for _, id := range ids(response) {
						if !slices.ContainsFunc(event.Records, func(m events.SQSMessage) bool { return m.MessageId == id }) {
							err = fmt.Errorf("%s is of another batch", id)
						}
					}
					finished <- err
				}()
			}

			for range rounds(400) {
				h.equal("error", <-finished, nil)
			}

			for key := range effects {
				h.equal(fmt.Sprint("effects of ", key), effects[key].Load(), int64(1))
				h.equal(fmt.Sprint("record of ", key), h.state(fmt.Sprintf("k%d", key)), "COMPLETED")
			}
		})
	}
}
