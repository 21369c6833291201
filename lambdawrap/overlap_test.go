package lambdawrap_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A process may have several invocations at a time, as with Lambda Managed Instances.

// overlapping calls a function for each event, a moment after the call before it, and returns what each reports as failed, and when the last
// one has answered.
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
	t.Parallel()
	everyMode(t, func(h *harness) {
		function := h.handle(func(context.Context, events.SQSMessage) error {
			time.Sleep(2 * time.Second)

			return nil
		})

		failed, took := h.overlapping(function, batch("m1 k"), batch("m2 k"), deliveredFor(batch("m1 k"), 2))
		h.equal("failed", failed, make([][]string, 3))
		h.ran("m1")
		h.equal("lines of messages in progress", strings.Count(h.log.String(), "in_progress"), 0)

		if took < 2*time.Second || took > 2*time.Second+moment {
			h.Errorf("it takes %v", took)
		}
	})
}

// Without a claim the handler of the second one would run, and its commit be refused.
func TestAnOptimisticMessageWaitsForAnotherInvocationOfTheProcess(t *testing.T) {
	t.Parallel()
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

		if took < 2*time.Second || took > 2*time.Second+moment {
			h.Errorf("it takes %v", took)
		}

		failed, _ = h.overlapping(function, batch("m4 other"), batch("m5 other"))
		h.equal("failed", failed, [][]string{{"m4"}, nil})
		h.ran("m1", "m4", "m5")
	})
}

func TestAMessageTakesOverWhatAnotherInvocationOfTheProcessHasGivenUp(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			time.Sleep(2 * time.Second)

			if m.MessageId == "m1" {
				return errBank
			}

			return nil
		})

		failed, _ := h.overlapping(function, batch("m1 k"), batch("m2 k"))
		h.equal("failed", failed, [][]string{{"m1"}, nil})
		h.ran("m1", "m2")
	})
}

// It gives its worker to others meanwhile, and its wait ends when nothing more may start.
func TestAMessageWaitsForAnotherInvocationWithinItsTime(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			if m.MessageId == "m1" {
				time.Sleep(40 * time.Second)
			}

			return nil
		})

		var all sync.WaitGroup

		all.Go(func() { h.within(time.Minute, function, batch("m1 k")) })
		time.Sleep(100 * time.Millisecond)

		failed, took := h.within(20*time.Second, function, batch("m2 k", "m3 other"))
		h.equal("failed", failed, []string{"m2"})
		h.ran("m3")
		h.logs("in_progress")

		if took < 18*time.Second {
			h.Errorf("it takes %v", took)
		}

		all.Wait()
	})
}

// An invocation whose answer is due leaves its handler behind, so its key is free when the lease ends: nobody waits for that.
func TestAMessageDoesNotWaitForAHandlerThatIsLate(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		function := h.handle(func(_ context.Context, _ events.SQSMessage) error {
			time.Sleep(2 * time.Minute)

			return nil
		})

		var all sync.WaitGroup

		all.Go(func() { h.within(5*time.Second, function, batch("m1 k")) })
		time.Sleep(100 * time.Millisecond)

		failed, took := h.within(time.Minute, function, batch("m2 k"))
		h.equal("failed", failed, []string{"m2"})

		if took < 4*time.Second || took > 6*time.Second {
			h.Errorf("it takes %v", took)
		}

		all.Wait()
	})
}
