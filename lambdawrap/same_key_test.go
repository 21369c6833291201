package lambdawrap_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestOneKeyTwiceInABatchIsOnePieceOfWork(t *testing.T) {
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
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		claim(h, h.store, "k2")

		before := h.db.Item("records", recordKey("k2"))
		function := wrap(succeed)
		h.check(function, batch("m1 k1", "m2 k2", "m3 k3", "m4 k2"), []string{"m2", "m4"}, []string{"m1", "m3"})
		h.equal("its record", cmp.Diff(before, h.db.Item("records", recordKey("k2")), ignoreUnexported), "")
		h.logs("holder=r-other")

		time.Sleep(time.Minute) // the lease of the other worker, which died, is over
		h.check(function, deliveredFor(batch("m2 k2", "m4 k2"), 2), nil, []string{"m2"})
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

// A process may have several invocations at a time, as with Lambda Managed Instances.

// overlapping calls a function for each event, a moment after the call before it, and returns what each reports as failed, and
// when the last one has answered.
func (h *harness) overlapping(function wrapped, batches ...events.SQSEvent) (failed [][]string, took time.Duration) {
	h.Helper()

	failed = make([][]string, len(batches))
	begun := time.Now()

	var all sync.WaitGroup

	for i, event := range batches {
		all.Go(func() { failed[i], _ = h.within(30*time.Second, function, event) })
		time.Sleep(100 * time.Millisecond)
	}

	all.Wait()

	return failed, time.Since(begun)
}

func TestAMessageWhoseKeyAnotherInvocationOfTheProcessWorksOnWaitsForItsEnd(t *testing.T) {
	everyMode(t, func(h *harness) {
		function := h.handle(slowly(2 * time.Second))

		failed, took := h.overlapping(function, batch("m1 k"), batch("m2 k"), deliveredFor(batch("m1 k"), 2))
		h.equal("failed", failed, make([][]string, 3))
		h.ran("m1")
		h.equal("lines of messages in progress", strings.Count(h.log.String(), "in_progress"), 0)
		h.lasts(took, 2*time.Second, 2*time.Second+moment)
	})
}

// Without a claim the handler of the second one would run, and its commit be refused.
func TestAnOptimisticMessageWaitsForAnotherInvocationOfTheProcess(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.Optimistic = true
		function := h.handle(func(ctx context.Context, m events.SQSMessage) error {
			time.Sleep(2 * time.Second)

			if m.MessageId == "m4" {
				return errBank
			}

			return idemddb.Stage(ctx, idemddb.Effects{})
		})

		failed, took := h.overlapping(function, batch("m1 k"), batch("m2 k"), batch("m3 k"))
		h.equal("failed", failed, make([][]string, 3))
		h.ran("m1")
		h.lasts(took, 2*time.Second, 2*time.Second+moment)

		failed, _ = h.overlapping(function, batch("m4 other"), batch("m5 other"))
		h.equal("failed", failed, [][]string{{"m4"}, nil})
		h.ran("m1", "m4", "m5")
	})
}

// The end of an invocation that has lost its key says nothing of the one that has taken it over.
func TestAMessageWaitsForTheInvocationThatHasTakenItsKeyOver(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(h *harness) {
		h.opts.Optimistic = true

		begun := time.Now()
		h.db.Intercept(faultFor(func(idemddbtest.Request) bool { // until the lease of the first one has run out
			return time.Since(begun) > time.Second && time.Since(begun) < 32*time.Second
		}, idemddbtest.ServerError))

		function := h.handle(func(ctx context.Context, m events.SQSMessage) error {
			time.Sleep(map[string]time.Duration{"m1": 40 * time.Second, "m2": 20 * time.Second}[m.MessageId])

			return idemddb.Stage(ctx, idemddb.Effects{})
		})

		var all sync.WaitGroup

		for _, call := range []struct {
			at    time.Duration
			event events.SQSEvent
		}{
			{0, deliveredFor(batch("m1 k"), 2)}, // a redelivery is claimed, also with Optimistic
			{33 * time.Second, deliveredFor(batch("m2 k"), 2)},
			{41 * time.Second, batch("m3 k")},
		} {
			all.Go(func() {
				time.Sleep(call.at)
				h.within(5*time.Minute, function, call.event)
			})
		}

		all.Wait()
		h.ran("m1", "m2")
	})
}

// With the Store off, messages of two invocations have nothing in common.
func TestWithIdempotencyOffNoMessageWaitsForAnotherInvocation(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")
	bubble(t, nil, func(h *harness) {
		h.opts.Optimistic = true

		failed, took := h.overlapping(h.handle(slowly(2*time.Second)), batch("m1 k"), batch("m2 k"))
		h.equal("failed", failed, make([][]string, 2))
		h.equal("took", took, 2100*time.Millisecond)
	})
}

// It gives its worker to others meanwhile, and its wait ends when nothing more may start.
func TestAMessageWaitsForAnotherInvocationWithinItsTime(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.StopAtFailure = true
		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			switch m.Body {
			case "k":
				time.Sleep(40 * time.Second)
			case "bad":
				return errBank
			}

			return nil
		})

		var all sync.WaitGroup

		all.Go(func() { h.within(time.Minute, function, batch("m1 k")) })
		time.Sleep(100 * time.Millisecond)

		took := h.answeredIn(20*time.Second, function, batch("m2 k", "m3 other"), "m2")
		h.ran("m3")
		h.logs("in_progress")
		h.lasts(took, 18*time.Second, time.Hour)

		took = h.answeredIn(20*time.Second, function, batch("m4 k", "m5 bad"), "m4", "m5")
		h.equal("the first failure ends the wait", took < time.Second, true)
		all.Wait()
	})
}

// An invocation whose answer is due leaves its handler behind, so its key is free when the lease ends: nobody waits for that.
func TestAMessageDoesNotWaitForAHandlerThatIsLate(t *testing.T) {
	everyMode(t, func(h *harness) {
		function := h.handle(slowly(2 * time.Minute))

		var all sync.WaitGroup

		all.Go(func() { h.within(5*time.Second, function, batch("m1 k")) })
		time.Sleep(100 * time.Millisecond)

		took := h.answeredIn(time.Minute, function, batch("m2 k"), "m2")
		h.lasts(took, 4*time.Second, 6*time.Second)

		all.Wait()
	})
}
