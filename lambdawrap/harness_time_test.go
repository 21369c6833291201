package lambdawrap_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// moment is how late an answer may come in a bubble, where only timers take time.
const moment = 2 * time.Millisecond

// within makes one invocation with a time limit. The answer must come when a quarter of the reserve is left, and without an
// error.
func (h *harness) within(limit time.Duration, function wrapped, event events.SQSEvent) (failed []string, took time.Duration) {
	h.Helper()

	reserve := h.opts.Reserve
	if reserve == 0 {
		reserve = time.Second
	}

	ctx, cancel := context.WithTimeout(h.Context(), limit)
	defer cancel()

	begun := time.Now()
	response, err := function(ctx, event)
	took = time.Since(begun)

	h.equal("error", err, nil)

	if took > limit-reserve/4+moment {
		h.Errorf("the answer comes after %v of %v, with a reserve of %v", took, limit, reserve)
	}

	return ids(response), took
}

// answeredIn is answered with a time limit. It returns how long the answer took.
func (h *harness) answeredIn(limit time.Duration, function wrapped, event events.SQSEvent, failed ...string) (took time.Duration) {
	h.Helper()

	got, took := h.within(limit, function, event)
	h.equal("failed", got, failed)

	return took
}

// lasts demands that something took so long.
func (h *harness) lasts(took, from, to time.Duration) {
	h.Helper()

	if took < from || took > to {
		h.Errorf("it takes %v, want %v to %v", took, from, to)
	}
}

// bothModes runs a test with shared and with single requests, without a limit of attempts.
func bothModes(t *testing.T, test func(*harness)) {
	t.Helper()
	t.Parallel()

	for _, single := range []bool{false, true} {
		each(t, fmt.Sprint("single: ", single), inBubble(&idemddb.Options{Single: single}), test)
	}
}

// claimedAndOptimistic runs a test with a claim, and Optimistic, each in both modes or in every one.
func claimedAndOptimistic(modes func(*testing.T, func(*harness))) func(*testing.T, func(*harness)) {
	return func(t *testing.T, test func(*harness)) {
		t.Helper()
		t.Parallel()

		for name, optimistic := range map[string]bool{"claimed": false, "optimistic": true} {
			each(t, name, modes, func(h *harness) {
				h.opts.Optimistic = optimistic
				test(h)
			})
		}
	}
}

// faultFor is an interceptor that gives some requests a fault.
func faultFor(is func(idemddbtest.Request) bool, fault idemddbtest.Fault) func(context.Context, idemddbtest.Request) idemddbtest.Fault {
	return func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if is(r) {
			return fault
		}

		return idemddbtest.None
	}
}

// idle demands that no goroutine of the library is left in the bubble. User code that was abandoned may go on: it runs in a
// goroutine whose only function of the library is that of background.
func (h *harness) idle() {
	h.Helper()

	time.Sleep(moment) // goroutines that the end of the invocation has woken may end

	// To look takes milliseconds, because it writes the stacks of all tests that wait for their turn, too. So one call in four
	// looks: there are hundreds of calls, in another order each time, and a goroutine that is left is seen by some of them.
	if looks.Add(1)%4 != 0 {
		return
	}

	all := strings.Split(allStacks(), "\n\n")
	own := bubbleOf(all[0]) // the first stack is that of the caller

	for _, stack := range all[1:] {
		if bubbleOf(stack) != own || strings.Contains(stack, "lambdawrap.background") {
			continue
		}

		for _, name := range []string{"go-idemddb/lambdawrap.", "go-idemddb/idemddb.", "go-idemddb/internal/engine."} {
			if strings.Contains(stack, name) {
				h.Errorf("a goroutine is left after the call:\n%s", stack)

				return
			}
		}
	}
}

// looks counts the calls of idle.
var looks atomic.Int64

// stackBytes is the size that the stacks of all goroutines had last. To write them costs much, so it should happen once.
var stackBytes atomic.Int64

// allStacks returns the stacks of all goroutines, that of the caller first.
func allStacks() string {
	for size := max(1<<20, 2*stackBytes.Load()); ; size *= 2 {
		stacks := make([]byte, size)
		if n := runtime.Stack(stacks, true); n < len(stacks) {
			stackBytes.Store(int64(n))

			return strings.TrimSpace(string(stacks[:n]))
		}
	}
}

// bubbleOf returns the part of a goroutine's stack that names its bubble.
func bubbleOf(stack string) string {
	head, _, _ := strings.Cut(stack, "\n")
	_, name, _ := strings.Cut(head, "synctest bubble ")

	return strings.TrimRight(name, "]:")
}
