package contract

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// groupCases: a Group answers and writes what single requests do. They hold on an engine that has no BatchExecuteStatement, too: then
// everything goes the single way.
var groupCases = []contractCase{
	{"groups: claims answer and write what single claims do, whatever is found and however it was guessed", func(l *lab) {
		l.compareClaims(claimSituations)
	}},
	{"groups: the same with attempts that are limited", func(l *lab) {
		l.compareClaims(claimSituations, func(o *idemddb.Options) { o.MaxAttempts = 2 })
	}},
	{"groups: the same without takeover", func(l *lab) {
		l.compareClaims(claimSituations, func(o *idemddb.Options) { o.NoTakeover = true })
	}},
	{"groups: the same with both", func(l *lab) {
		l.compareClaims(claimSituations, func(o *idemddb.Options) { o.MaxAttempts, o.NoTakeover = 2, true })
	}},
	{"groups: the same with a cache", func(l *lab) {
		l.compareClaims(claimSituations, func(o *idemddb.Options) { o.Cache = 1000 })
	}},
	{"groups: settling answers and writes what it does alone, whatever became of the claim", func(l *lab) { l.compareSettling() }},
	{"groups: whatever is free to be claimed is claimed by the one call of the group", func(l *lab) {
		s := l.store()
		for _, key := range []string{"released", "a", "a too", "b"} {
			_, _, err := s.Claim(l.Context(), key, &idemddb.ClaimOptions{Fingerprint: key[:1]})
			l.must(err)
		}

		l.must(l.claim(s, "before fingerprints").Release(l.Context(), nil))
		l.Advance(lease + skew + time.Millisecond)

		w := l.hook(nil)
		answers := l.storeOn(w).Group().Claim(l.Context(), []idemddb.ClaimRequest{
			{Key: "released", Redelivered: true},
			{Key: "a", Redelivered: true, Fingerprint: "a"},
			{Key: "a too", Redelivered: true},
			{Key: "b", Redelivered: true, Fingerprint: "b"},
			{Key: "before fingerprints", Redelivered: true, Fingerprint: "a"},
		})

		for _, a := range answers {
			l.won(a)
		}

		if w, ok := w.(*groupWire); ok {
			l.equal("requests", w.requests.Load(), int64(1))
		}
	}},
	{"groups: a new key is claimed and the record says so before the work begins", func(l *lab) {
		answers := l.ask(l.store(), false, "k", "other")
		c := l.won(answers[0])
		now := epoch.UnixMilli()

		l.equal("st", l.text("st"), "INPROGRESS")
		l.equal("v", l.number("k", "v"), int64(1))
		l.equal("lease", l.number("k", "lease"), now+lease.Milliseconds())
		l.equal("prev", l.number("k", "prev"), int64(0))
		l.equal("att", l.number("k", "att"), int64(1))
		l.equal("born", l.number("k", "born"), now)
		l.equal("fence", l.number("k", "fence"), c.Fence())
		l.equal("exp", l.number("k", "exp"), epoch.Add(retention+time.Second).Unix())
		l.equal("fp", l.text("fp"), "")
		l.equal("Key", c.Key(), "k")
		l.equal("Attempt", c.Attempt(), 1)
		l.equal("Takeover", c.Takeover(), false)
		l.equal("Deadline", c.Deadline().UnixMilli(), now+lease.Milliseconds())

		if l.text("own") == "" {
			l.Error("the record has no token")
		}
	}},
	{"groups: a takeover that is given back unused is one for the next claim", func(l *lab) {
		l.abandoned("a")
		l.abandoned("b")

		for range 2 {
			for _, a := range l.ask(l.store(), true, "a", "b") {
				c := l.won(a)
				l.equal("Takeover", c.Takeover(), true)
				l.equal("Attempt", c.Attempt(), 2)
				l.must(c.ReleaseUnused(l.Context()))
			}
		}
	}},
	{"groups: a key that stands several times is claimed once, the others of its name meet that claim", func(l *lab) {
		answers := l.store().Group().Claim(l.Context(), []idemddb.ClaimRequest{
			{Key: "a"}, {Key: "b"}, {Key: "a", Redelivered: true}, {Key: "b", Redelivered: true}, {Key: "a"}, {Key: "c"},
		})
		claims := map[string]int{}
		keys := []string{"a", "b", "a", "b", "a", "c"}

		for i, a := range answers {
			if a.Claim != nil {
				l.equal("Key", a.Claim.Key(), keys[i])

				claims[keys[i]]++

				continue
			}

			l.is(a.Err, idemddb.ErrInProgress)
		}

		l.equal("claims", claims, map[string]int{"a": 1, "b": 1, "c": 1})
	}},
	{"groups: a key that is none costs its own answer only", func(l *lab) {
		answers := l.ask(l.store(), false, "a", "", "b", "\xff", "c")

		for i, a := range answers {
			if i%2 == 0 {
				l.won(a)

				continue
			}

			l.is(a.Err, idemddb.ErrBadKey)
		}

		l.equal("answers to nothing", len(l.ask(l.store(), false)), 0)
	}},
	{"groups: 60 keys are claimed, refused, completed and replayed", func(l *lab) {
		s, keys := l.store(), make([]string, 60)
		for i := range keys {
			keys[i] = strconv.Itoa(i)
		}

		answers := l.ask(s, false, keys...)

		for i, a := range answers {
			l.equal("Key", l.won(a).Key(), keys[i])
		}

		for _, redelivered := range []bool{false, true} {
			for _, a := range l.ask(s, redelivered, keys...) {
				l.is(a.Err, idemddb.ErrInProgress)
			}
		}

		for _, err := range together(answers, func(c *idemddb.Claim) error {
			return c.Complete(l.Context(), []byte("result of "+c.Key()))
		}) {
			l.must(err)
		}

		for _, redelivered := range []bool{false, true} {
			for i, a := range l.ask(s, redelivered, keys...) {
				l.must(a.Err)
				l.equal("Key", a.Record.Key, keys[i])
				l.equal("Result", string(a.Record.Result), "result of "+keys[i])
			}
		}
	}},
	{"groups: of 20 racing groups one gets each key", func(l *lab) { l.raceGroups(1) }},
	{"groups: of 20 racing groups of takers one gets each key", func(l *lab) {
		for _, a := range l.ask(l.store(), false, "a", "b", "c", "d", "e") {
			l.won(a)
		}

		l.Advance(lease + skew + time.Millisecond)
		l.raceGroups(2)
	}},
	{"groups: results of every size are kept, and one that is too large leaves its claim usable", func(l *lab) {
		s := l.store()
		sizes := []int{0, 1, 1000, 64 << 10, 64<<10 + 1, 400_000, 410_000, 1 << 20}
		answers := l.ask(s, false, "0", "1", "2", "3", "4", "5", "6", "7")
		size := func(c *idemddb.Claim) int {
			i, err := strconv.Atoi(c.Key())
			l.must(err)

			return sizes[i]
		}

		for i, err := range together(answers, func(c *idemddb.Claim) error { return c.Complete(l.Context(), make([]byte, size(c))) }) {
			if sizes[i] < 400_001 {
				l.must(err)
				l.equal("length", len(l.replay(s, strconv.Itoa(i)).Result), sizes[i])

				continue
			}

			l.is(err, idemddb.ErrTooLarge)
			l.must(answers[i].Claim.Complete(l.Context(), []byte("smaller")))
			l.equal("Result", string(l.replay(s, strconv.Itoa(i)).Result), "smaller")
		}
	}},
	{"groups: a claim whose call lost its reply, or its request, is won once", func(l *lab) {
		for name, end := range map[string]func(func() error) error{"reply": loseReply, "request": loseRequest} {
			for _, redelivered := range []bool{false, true} {
				for n := range int64(2) {
					prefix := fmt.Sprint(name, redelivered, n)
					answers := l.ask(l.storeOn(l.hook(on(n+1, end))), redelivered, prefix+"a", prefix+"b")

					for _, a := range answers {
						c := l.won(a)
						l.equal("Attempt", c.Attempt(), 1)
						l.equal("Takeover", c.Takeover(), false)
						l.equal("Fence", c.Fence(), l.number(c.Key(), "fence"))
					}

					for _, err := range together(answers, func(c *idemddb.Claim) error { return c.Complete(l.Context(), nil) }) {
						l.must(err)
					}
				}
			}
		}
	}},
	{"groups: takeovers whose call lost its reply still know that they are some, and claims after a release that they are none", func(l *lab) {
		for name, takeover := range map[string]bool{"held": true, "released": false} {
			for _, redelivered := range []bool{false, true} {
				for n := range int64(3) {
					keys := []string{fmt.Sprint(name, redelivered, n, "a"), fmt.Sprint(name, redelivered, n, "b")}

					for _, key := range keys {
						if c := l.claim(l.store(), key); !takeover {
							l.must(c.Release(l.Context(), nil))
						}
					}

					l.Advance(lease + skew + time.Millisecond)

					for _, a := range l.ask(l.storeOn(l.hook(on(n+1, loseReply))), redelivered, keys...) {
						c := l.won(a)
						l.equal("Attempt", c.Attempt(), 2)
						l.equal("Takeover", c.Takeover(), takeover)
						l.must(c.Complete(l.Context(), nil))
					}
				}
			}
		}
	}},
	{"groups: what settles claims is a success although its call lost its reply", func(l *lab) {
		for name, settle := range map[string]func(*idemddb.Claim) error{
			"complete": func(c *idemddb.Claim) error { return c.Complete(l.Context(), []byte("once")) },
			"release":  func(c *idemddb.Claim) error { return c.Release(l.Context(), errors.New("cause")) },
			"unused":   func(c *idemddb.Claim) error { return c.ReleaseUnused(l.Context()) },
			"fail":     func(c *idemddb.Claim) error { return c.Fail(l.Context(), errors.New("cause")) },
			"extend":   func(c *idemddb.Claim) error { return c.Extend(l.Context()) },
		} {
			answers := l.ask(l.storeOn(l.hook(on(2, loseReply))), false, name+"a", name+"b", name+"c")
			l.Advance(time.Second)

			for _, err := range together(answers, settle) {
				l.must(err)
			}

			l.Advance(-time.Second)
		}

		l.equal("att", l.number("unuseda", "att"), int64(0))
		l.equal("lease", l.number("extenda", "lease"), epoch.Add(lease+time.Second).UnixMilli())
	}},
	{"groups: a late twin of a claim locks no key again after its release, and changes nothing while it is held, or completed", func(l *lab) {
		for _, found := range []string{"", "released", "over"} {
			for _, redelivered := range []bool{false, true} {
				for n := range int64(2) {
					keys := []string{fmt.Sprint(found, redelivered, n, "a"), fmt.Sprint(found, redelivered, n, "b")}
					l.find(found, keys)

					late := &held{do: func() error { return nil }} // a third request is not always made
					answers := l.ask(l.storeOn(l.hook(on(n+1, late.hold))), redelivered, keys...)
					unchanged := func() {
						l.Helper()

						before := []map[string]types.AttributeValue{l.item(keys[0]), l.item(keys[1])}
						late.arrive()
						l.same(keys[0], before[0])
						l.same(keys[1], before[1])
					}

					l.won(answers[0])
					l.won(answers[1])
					l.Advance(time.Second)
					unchanged()
					l.must(answers[0].Claim.Release(l.Context(), nil))
					l.must(answers[1].Claim.Complete(l.Context(), nil))
					unchanged()
					l.claim(l.store(), keys[0])
				}
			}
		}
	}},
	{"groups: a late twin of a call that settles does nothing to what came after", func(l *lab) {
		for verb, settle := range map[string]func(*idemddb.Claim) error{
			"complete": func(c *idemddb.Claim) error { return c.Complete(l.Context(), nil) },
			"release":  func(c *idemddb.Claim) error { return c.ReleaseUnused(l.Context()) },
			"fail":     func(c *idemddb.Claim) error { return c.Fail(l.Context(), nil) },
			"extend":   func(c *idemddb.Claim) error { return c.Extend(l.Context()) },
		} {
			late := &held{}
			answers := l.ask(l.storeOn(l.hook(on(2, late.hold))), false, verb+"a", verb+"b", verb+"c")
			l.Advance(time.Second)

			for _, err := range together(answers, settle) {
				l.must(err)
			}

			if verb == "fail" {
				l.must(l.store().Reopen(l.Context(), verb+"a"))
				l.claim(l.store(), verb+"a")
			}

			if verb == "extend" {
				l.must(answers[0].Claim.Release(l.Context(), nil))
				l.must(answers[1].Claim.Complete(l.Context(), nil))
				l.must(answers[2].Claim.Fail(l.Context(), nil))
			}

			if verb == "release" {
				l.claim(l.store(), verb+"a")
				l.must(l.claim(l.store(), verb+"b").Complete(l.Context(), nil))
			}

			before := map[string]map[string]types.AttributeValue{}
			for _, a := range answers {
				before[a.Claim.Key()] = l.item(a.Claim.Key())
			}

			late.arrive()

			for key, it := range before {
				l.same(key, it)
			}
		}
	}},
}

// find makes records: released, or with a lease that is over, or none.
func (l *lab) find(what string, keys []string) {
	l.Helper()

	if what == "" {
		return
	}

	for _, key := range keys {
		if c := l.claim(l.store(), key); what == "released" {
			l.must(c.Release(l.Context(), nil))
		}
	}

	l.Advance(lease + skew + time.Millisecond)
}

// ask claims keys in a Group of their own.
func (l *lab) ask(s *idemddb.Store, redelivered bool, keys ...string) []idemddb.ClaimAnswer {
	l.Helper()

	requests := make([]idemddb.ClaimRequest, len(keys))
	for i, key := range keys {
		requests[i] = idemddb.ClaimRequest{Key: key, Redelivered: redelivered}
	}

	answers := s.Group().Claim(l.Context(), requests)
	if len(answers) != len(keys) {
		l.Fatalf("%d answers to %d keys", len(answers), len(keys))
	}

	return answers
}

// won demands a claim.
func (l *lab) won(a idemddb.ClaimAnswer) *idemddb.Claim {
	l.Helper()

	if a.Claim == nil || a.Record != nil || a.Err != nil {
		l.Fatalf("got %s, want a claim", describe(a))
	}

	return a.Claim
}

// together settles claims at once and returns an error for each.
func together(answers []idemddb.ClaimAnswer, settle func(*idemddb.Claim) error) []error {
	var all sync.WaitGroup

	errs := make([]error, len(answers))

	for i, a := range answers {
		all.Go(func() { errs[i] = settle(a.Claim) })
	}

	all.Wait()

	return errs
}

// raceGroups lets 20 claimants of the same five keys loose, each with a group; the winners have this attempt.
func (l *lab) raceGroups(attempt int) {
	l.Helper()

	var (
		claims atomic.Int64
		all    sync.WaitGroup
		start  = make(chan struct{})
	)

	for i := range 20 {
		s := l.store()

		all.Go(func() {
			<-start

			for _, a := range l.ask(s, i%2 == 0, "a", "b", "c", "d", "e") {
				switch {
				case a.Claim != nil:
					claims.Add(1)
					l.equal("Attempt", a.Claim.Attempt(), attempt)
				case !errors.Is(a.Err, idemddb.ErrInProgress):
					l.Errorf("a loser got %s", describe(a))
				}
			}
		})
	}

	close(start)
	all.Wait()
	l.equal("claims", claims.Load(), int64(5))
}

// statements is what an engine of groups has.
type statements interface {
	BatchExecuteStatement(
		ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchExecuteStatementOutput, error)
}

// hook returns the engine behind a hook: with groups, if it has them.
func (l *lab) hook(meet func(n int64, do func() error) error) idemddb.DynamoDB {
	w := &wire{Engine: l.engine, meet: meet}
	if _, ok := l.engine.(statements); ok {
		return &groupWire{wire: w}
	}

	return w
}

// groupWire is a wire for groups, too.
type groupWire struct {
	*wire

	keys sync.Map // every text that was a parameter of a statement, keys among them
}

// BatchExecuteStatement passes the hook.
func (w *groupWire) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	for _, s := range in.Statements {
		for _, p := range s.Parameters {
			if text, ok := p.(*types.AttributeValueMemberS); ok {
				w.keys.Store(text.Value, nil)
			}
		}
	}

	return pass(ctx, w.wire, func(ctx context.Context) (*dynamodb.BatchExecuteStatementOutput, error) {
		return w.Engine.(statements).BatchExecuteStatement(ctx, in, opts...)
	})
}

// has tells whether a statement had this key.
func (w *groupWire) has(key string) bool {
	_, ok := w.keys.Load(key)

	return ok
}
