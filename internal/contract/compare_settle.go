package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// ends are the writes of a claim.
var ends = []struct {
	name string
	end  func(context.Context, *idemddb.Claim) error
}{
	{"complete", func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, nil) }},
	{"complete with a result", func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte("mine")) }},
	{"complete with an empty result", func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte{}) }},
	{"release", func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) }},
	{"release with a cause", func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, errors.New("bank closed")) }},
	{"release unused", func(ctx context.Context, c *idemddb.Claim) error { return c.ReleaseUnused(ctx) }},
	{"fail", func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, nil) }},
	{"fail with a cause", func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, errors.New("no such account")) }},
	{"extend", func(ctx context.Context, c *idemddb.Claim) error { return c.Extend(ctx) }},
}

// fates are what can become of a claim before its write.
var fates = []struct {
	name string
	fate func(*harness, *idemddb.Claim)
}{
	{"held", func(*harness, *idemddb.Claim) {}},
	{fateOfTaker, func(*harness, *idemddb.Claim) {}},
	{"held since a failure", unreal("the holder knows its attempt", attributes{"err": str("first"), "att": num(2)})},
	{"lease over", change(attributes{"lease": num(1)})},
	{"extended already", func(h *harness, c *idemddb.Claim) { h.must(c.Extend(h.Context())) }},
	{"extended by a clock that is ahead", change(attributes{"lease": num(epoch.Add(time.Minute).UnixMilli())})},
	{"completed", func(h *harness, c *idemddb.Claim) { h.must(c.Complete(h.Context(), []byte("mine"))) }},
	{"failed", func(h *harness, c *idemddb.Claim) { h.must(c.Fail(h.Context(), errors.New("first"))) }},
	{"released", func(h *harness, c *idemddb.Claim) { h.must(c.Release(h.Context(), errors.New("first"))) }},
	{"taken over", func(h *harness, c *idemddb.Claim) { h.takeOver(c.Key()) }},
	{"taken over and completed", func(h *harness, c *idemddb.Claim) { completed(h, h.takeOver(c.Key())) }},
	{"taken over and failed", func(h *harness, c *idemddb.Claim) { h.must(h.takeOver(c.Key()).Fail(h.Context(), nil)) }},
	{"taken over and released", func(h *harness, c *idemddb.Claim) { released(h, h.takeOver(c.Key())) }},
	{"another owner token", change(attributes{"own": str("another")})},
	{"another fencing token", change(attributes{"fence": num(1)})},
	{"another version", unreal("who writes another version changes own, too, which the holder's writes compare", attributes{"v": num(2)})},
	{"no lease", change(attributes{"lease": nil})},
	{"gone", func(h *harness, c *idemddb.Claim) { h.drop(c.Key()) }},
}

// fateOfTaker names the fate of a claim that is a takeover.
const fateOfTaker = "a takeover"

func change(to attributes) func(*harness, *idemddb.Claim) {
	return func(h *harness, c *idemddb.Claim) { h.edit(c.Key(), to) }
}

// unreal is change for what is in no table, with the reason. What is done to it then is compared, and not judged.
func unreal(reason string, to attributes) func(*harness, *idemddb.Claim) {
	return func(h *harness, c *idemddb.Claim) {
		h.edit(c.Key(), to)
		h.changes.Exempt(h.namespace+"#"+c.Key(), reason)
	}
}

// settling is one write of one claim.
type settling struct {
	end, fate int
	key       string
	claim     *idemddb.Claim
	before    attributes
	outcome   outcome
}

// outcome is what came of a write.
type outcome struct {
	text string // what was answered and what is stored
	sent bool   // a settled claim sends no release
}

func (one *settling) name() string { return ends[one.end].name + " when " + fates[one.fate].name }

// compareSettling does every write to every fate of a claim, first alone, which says what is right, and then in a batch. Which
// writes of a batch share a request depends on their goroutines; those that went alone are done again in another batch.
func (h *harness) compareSettling() {
	h.Helper()

	var all []*settling

	for end := range ends {
		for fate := range fates {
			all = append(all, &settling{end: end, fate: fate})
		}
	}

	want := h.settleAlone(all)

	rounds := 50
	if _, isInBubble := h.TB.(*recorder); isInBubble { // all writes come at the same time, so that one round is enough if the engine answers
		rounds = 3
	}

	for round := range rounds {
		left := map[string]bool{}
		for _, one := range all {
			left[one.name()] = true
		}

		for end := range ends { // the last ones have others to share a request with
			if one := (&settling{end: end}); len(left) < len(ends) && !left[one.name()] {
				all = append(all, one)
			}
		}

		all = slices.DeleteFunc(h.settleInBatch(all, strconv.Itoa(round), want), func(one *settling) bool { return !left[one.name()] })
		if len(all) == 0 {
			return
		}
	}

	h.Errorf("%d writes never shared a request", len(all))
}

// settleAlone does each write alone, and returns the outcomes by name.
func (h *harness) settleAlone(all []*settling) map[string]outcome {
	h.Helper()

	e := h.intercepted(nil)
	s := h.storeOn(e)
	h.prepareSettling(all, "alone", func(keys []string) []*idemddb.Claim {
		claims := make([]*idemddb.Claim, len(keys))
		for i, key := range keys {
			claims[i] = h.claim(s, key)
		}

		return claims
	})

	outcomes := map[string]outcome{}

	for _, one := range all {
		e.requests.Store(0)
		one.settle(h)
		one.outcome.sent = e.requests.Load() > 0
		outcomes[one.name()] = one.outcome
	}

	return outcomes
}

// settleInBatch does the writes in one batch, compares their outcomes, and returns those that did not share a request: all of
// them, without a comparison, if a request was sent again.
func (h *harness) settleInBatch(all []*settling, round string, want map[string]outcome) (alone []*settling) {
	h.Helper()

	var resent atomic.Bool

	e := h.interceptedBatch(nil)
	s := h.storeOn(e, func(o *idemddb.Options) {
		o.Observe = func(_ context.Context, event idemddb.Event) {
			if event.Kind == idemddb.KindRetried {
				resent.Store(true)
			}
		}
	})

	h.prepareSettling(all, round, func(keys []string) []*idemddb.Claim {
		return h.winKeys(s, false, append(keys, "stays open, "+round)...)[:len(keys)] // while a claim is open every write waits for others
	})

	batches, _ := e.(*batchInterceptor)
	if batches != nil {
		batches.parameters.Clear()
	}

	var running sync.WaitGroup

	for _, one := range all {
		running.Go(func() { one.settle(h) })
	}

	running.Wait()

	if resent.Load() { // on a slow engine, a write whose first answer was lost may find its own record and not recognise it
		return all
	}

	for _, one := range all {
		h.equal(one.key, one.outcome.text, want[one.name()].text)

		if batches != nil && want[one.name()].sent && !batches.had(h.namespace+"#"+one.key) {
			alone = append(alone, one)
		}
	}

	return alone
}

// prepareSettling claims a key for each write, and then does to it what its fate says.
func (h *harness) prepareSettling(all []*settling, kind string, claim func(keys []string) []*idemddb.Claim) {
	h.Helper()

	h.Advance(epoch.Sub(h.Now()))

	keys := make([]string, len(all))
	for i, one := range all {
		one.key = one.name() + ", " + kind
		keys[i] = one.key

		if fates[one.fate].name == fateOfTaker {
			h.abandoned(one.key)
		}
	}

	claims := claim(keys)

	h.Advance(time.Second)

	for i, one := range all {
		one.claim = claims[i]
		fates[one.fate].fate(h, one.claim)
		one.before = h.item(one.key)
	}
}

// settle does the write. It can be called on any goroutine.
func (one *settling) settle(h *harness) {
	err := ends[one.end].end(h.Context(), one.claim)
	one.outcome.text = fmt.Sprintf("%s; until %d: %s", describeError(err), one.claim.Deadline().UnixMilli(), h.effect(one.key, one.before))
}
