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
			h.opts.Workers, h.opts.Logger = 3, slog.New(slog.DiscardHandler)

			var (
				effects [keys]atomic.Int64
				all     sync.WaitGroup
			)

			work := func(_ context.Context, m events.SQSMessage) error {
				var key int

				_, err := fmt.Sscanf(m.Body, "k%d", &key)
				effects[key].Add(1)

				return err
			}
			functions := []wrapped{h.whole(work), lambdawrap.SQS(h.store, work, h.opts), lambdawrap.SQS(h.store, work, h.opts)}

			for n := range rounds(400) {
				all.Go(func() {
					event := batch(fmt.Sprintf("a%d k%d", n, n%keys), fmt.Sprintf("b%d k%d", n, (n*7+3)%keys), fmt.Sprintf("c%d k%d", n, (n*11)%keys))
					response, err := functions[n%3](context.Background(), event)
					h.equal("error", err, nil)

					for _, id := range ids(response) {
						isOwn := slices.ContainsFunc(event.Records, func(m events.SQSMessage) bool { return m.MessageId == id })
						h.equal(id+" is of the batch", isOwn, true)
					}
				})
			}

			all.Wait()

			for key := range effects {
				h.equal(fmt.Sprint("effects of ", key), effects[key].Load(), int64(1))
				h.equal(fmt.Sprint("record of ", key), h.state(fmt.Sprintf("k%d", key)), "COMPLETED")
			}
		})
	}
}

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

// A process may have several invocations at a time, as with Lambda Managed Instances. Without a claim, the handler of the second
// one would run, and its commit be refused.
func TestAMessageWhoseKeyAnotherInvocationOfTheProcessWorksOnWaitsForItsEnd(t *testing.T) {
	claimedAndOptimistic(everyMode)(t, func(h *harness) {
		ends := byKey(map[string]lambdawrap.Handler{"m4": failWith(errBank)}, staged)
		function := h.handle(func(ctx context.Context, m events.SQSMessage) error {
			time.Sleep(2 * time.Second)

			return ends(ctx, m)
		})

		third := batch("m3 k")
		if !h.opts.Optimistic { // which claims a redelivery
			third = deliveredFor(batch("m1 k"), 2)
		}

		failed, took := h.overlapping(function, batch("m1 k"), batch("m2 k"), third)
		h.equal("failed", failed, make([][]string, 3))
		h.ran("m1")
		h.equal("lines of messages in progress", strings.Count(h.log.String(), "in_progress"), 0)
		h.lasts(took, 2*time.Second, 2*time.Second+moment)

		failed, _ = h.overlapping(function, batch("m4 other"), batch("m5 other"))
		h.equal("failed", failed, [][]string{{"m4"}, nil})
		h.ran("m1", "m4", "m5")
	})
}

// The end of an invocation that has lost its key says nothing of the one that has taken it over.
func TestAMessageWaitsForTheInvocationThatHasTakenItsKeyOver(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
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
		function := h.handle(byKey(map[string]lambdawrap.Handler{"k": slowly(40 * time.Second), "bad": failWith(errBank)}, succeed))

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

		go h.within(5*time.Second, function, batch("m1 k"))
		time.Sleep(100 * time.Millisecond)

		took := h.answeredIn(time.Minute, function, batch("m2 k"), "m2")
		h.lasts(took, 4*time.Second, 6*time.Second)
	})
}

// heldElsewhere claims a key as another worker does, who completes it after some time; zero: never.
func (h *harness) heldElsewhere(key string, limit time.Duration) *idemddb.Claim {
	h.Helper()

	held := claim(h, h.open(h.db, nil), key)

	if limit > 0 {
		time.AfterFunc(limit, func() {
			h.equal("the other's completion", held.Complete(context.WithoutCancel(h.Context()), nil), nil)
		})
	}

	return held
}

func TestAMessageWaitsForAKeyThatAnotherWorkerHoldsButNotLongerThanItShould(t *testing.T) {
	t.Parallel()

	const ms = time.Millisecond

	for name, c := range map[string]struct {
		wait                time.Duration
		completes, releases time.Duration // when the other does; 0 for never
		limit               time.Duration
		isDone, runs        bool
		from, to            time.Duration
	}{
		"the other completes it":        {5000 * ms, 2000 * ms, 0, 30 * time.Second, true, false, 2000 * ms, 3000 * ms},
		"the other releases it":         {5000 * ms, 0, 2000 * ms, 30 * time.Second, true, true, 2000 * ms, 3000 * ms},
		"it is not to wait":             {0, 10 * time.Second, 0, 30 * time.Second, false, false, 0, moment},
		"it waits for a millisecond":    {ms, 10 * time.Second, 0, 30 * time.Second, false, false, ms, ms + moment},
		"it waits for a while":          {1500 * ms, 10 * time.Second, 0, 30 * time.Second, false, false, 1500 * ms, 1500*ms + moment},
		"it waits for half of the time": {5000 * ms, 10 * time.Second, 0, 30 * time.Second, false, false, 5000 * ms, 5000*ms + moment},
		"the invocation ends before":    {time.Minute, 0, 0, 10 * time.Second, false, false, 0, 10 * time.Second},
	} {
		each(t, name, everyWay, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			h.opts.Wait = c.wait
			other := h.heldElsewhere("k1", c.completes)

			if c.releases > 0 {
				time.AfterFunc(c.releases, func() { other.Release(context.WithoutCancel(h.Context()), nil) })
			}

			failed, took := h.within(c.limit, wrap(succeed), numbered(3))
			h.equal("the message is done", !slices.Contains(failed, "m1"), c.isDone)
			h.equal("it runs", slices.Contains(h.runs.all(), "m1"), c.runs)
			h.equal("lines", strings.Count(h.log.String(), "outcome=in_progress"), len(failed))
			h.equal("records", []string{h.state("k0"), h.state("k2")}, []string{"COMPLETED", "COMPLETED"})
			h.lasts(took, c.from, c.to)
			h.idle()
		})
	}
}

func TestAMessageThatWaitsDoesNotStartAfterTheFirstFailure(t *testing.T) {
	everyMode(t, func(h *harness) {
		ends := h.outcomes()
		h.opts.Wait, h.opts.StopAtFailure = 20*time.Second, true
		h.heldElsewhere("k0", 0)

		h.answeredIn(30*time.Second, h.handle(failWith(errBank)), numbered(2), messageIDs(2)...)
		h.sorted("ends", ends, "m0 blocked", "m1 released")
	})
}

// The handler runs without a claim; its commit waits.
func TestAnOptimisticMessageWaitsForAKeyThatAnotherWorkerHolds(t *testing.T) {
	everyMode(t, func(h *harness) {
		h.opts.Wait, h.opts.Optimistic = 5*time.Second, true
		h.heldElsewhere("k1", 2*time.Second)

		took := h.answeredIn(30*time.Second, h.handle(staged), numbered(3))
		h.ran("m0", "m1", "m2")
		h.lasts(took, 2*time.Second, 4*time.Second)
	})
}

// A key that another worker holds has a record. So only the first statement for it is an INSERT, and each further claim costs one
// statement.
func TestAClaimThatIsMadeAgainExpectsARecord(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		const keys = 20

		for i := range keys {
			claim(h, h.store, fmt.Sprint("k", i))
		}

		h.slowRequests(5 * time.Millisecond) // claims that come meanwhile share the next request
		h.db.ResetRequests()
		h.opts.Workers, h.opts.Wait = keys, 2*time.Second
		failed, _ := h.within(10*time.Second, h.handle(func(context.Context, events.SQSMessage) error { return nil }), numbered(keys))
		h.equal("failed", len(failed), keys)

		statements := map[string]int{}

		for _, r := range h.db.Requests() {
			for _, s := range r.Items {
				statements[s.Operation]++
			}
		}

		if statements["INSERT"] != keys || statements["UPDATE"] <= keys {
			h.Errorf("statements: %v, want one INSERT for each of %d keys", statements, keys)
		}
	})
}
