package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// linger is how long a write waits for company, at most.
const linger = 200 * time.Microsecond

// party is a Store and a Group of it, in a bubble, on a wire that takes its time.
type party struct {
	*testing.T

	store  *idemddb.Store
	group  *idemddb.Group
	db     *idemddbtest.DB
	events *eventLog
}

// eventLog counts events.
type eventLog struct {
	mu    sync.Mutex
	kinds map[idemddb.Kind]int
}

func (l *eventLog) observe(_ context.Context, e idemddb.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.kinds[e.Kind]++
}

func (l *eventLog) count(kind idemddb.Kind) int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return l.kinds[kind]
}

// bubble runs check in a bubble of its own.
func bubble(t *testing.T, opts *idemddb.Options, check func(*party)) {
	t.Helper()
	bubbleOn(t, opts, nil, check)
}

// bubbleOn has a wrapper around the engine.
func bubbleOn(t *testing.T, opts *idemddb.Options, wrap func(*idemddbtest.DB) idemddb.DynamoDB, check func(*party)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		_, db := newStore(t, nil)
		p := &party{T: t, db: db, events: &eventLog{kinds: map[idemddb.Kind]int{}}}

		o := idemddb.Options{}
		if opts != nil {
			o = *opts
		}

		o.Observe = p.events.observe

		var api idemddb.DynamoDB = db
		if wrap != nil {
			api = wrap(db)
		}

		var err error
		if p.store, err = idemddb.New(api, "records", "test", &o); err != nil {
			t.Fatal(err)
		}

		p.group = p.store.Group()

		check(p)
		p.noKeyTwice()
	})
}

// slow lets each request take this long.
func (p *party) slow(d time.Duration) {
	p.db.Intercept(func(ctx context.Context, _ idemddbtest.Request) idemddbtest.Fault {
		select {
		case <-time.After(d):
		case <-ctx.Done():
		}

		return idemddbtest.None
	})
}

// requests tells what was sent since it was last asked, such as "INSERT×10" for a call and "UpdateItem" for a request of its own.
func (p *party) requests() []string {
	p.Helper()
	p.noKeyTwice()

	defer p.db.ResetRequests()

	return shapes(p.db.Requests())
}

func shapes(requests []idemddbtest.Request) []string {
	all := []string{}

	for _, r := range requests {
		shape := r.Operation

		if r.Operation == "BatchExecuteStatement" {
			verbs := map[string]int{}
			for _, s := range r.Items {
				verbs[s.Operation]++
			}

			var parts []string
			for _, verb := range slices.Sorted(maps.Keys(verbs)) {
				parts = append(parts, fmt.Sprintf("%s×%d", verb, verbs[verb]))
			}

			shape = strings.Join(parts, " ")
		}

		all = append(all, shape)
	}

	return all
}

// noKeyTwice is true of every call.
func (p *party) noKeyTwice() {
	p.Helper()

	for _, r := range p.db.Requests() {
		seen := map[string]bool{}

		for _, s := range r.Items {
			key := textOf(s.Key, "pk")
			if seen[key] && key != "" { // unknown on a table that is missing
				p.Errorf("%s stands twice in a call", key)
			}

			seen[key] = true
		}
	}
}

// want demands these requests since it was last asked.
func (p *party) want(shapes ...string) {
	p.Helper()

	if got := p.requests(); !slices.Equal(got, shapes) {
		p.Errorf("requests: got %q, want %q", got, shapes)
	}
}

// ask claims the keys 0 to n-1.
func (p *party) ask(n int, redelivered bool) []idemddb.ClaimAnswer {
	p.Helper()

	return p.group.Claim(p.Context(), numbered(n, redelivered))
}

func numbered(n int, redelivered bool) []idemddb.ClaimRequest {
	requests := make([]idemddb.ClaimRequest, n)
	for i := range requests {
		requests[i] = idemddb.ClaimRequest{Key: strconv.Itoa(i), Redelivered: redelivered}
	}

	return requests
}

// claims demands claims of n new keys, and forgets what they cost.
func (p *party) claims(n int) []*idemddb.Claim {
	p.Helper()

	claims := claimsIn(p.T, p.ask(n, false))
	p.requests()

	return claims
}

func claimsIn(t *testing.T, answers []idemddb.ClaimAnswer) []*idemddb.Claim {
	t.Helper()

	claims := make([]*idemddb.Claim, len(answers))

	for i, a := range answers {
		if claims[i] = a.Claim; a.Claim == nil || a.Record != nil || a.Err != nil {
			t.Fatalf("key %d: got %+v, want a claim", i, a)
		}
	}

	return claims
}

// complete completes claims at once, and demands success.
func (p *party) complete(claims ...*idemddb.Claim) {
	p.Helper()
	p.succeed(claims, func(c *idemddb.Claim) error { return c.Complete(p.Context(), []byte("done")) })
}

func (p *party) succeed(claims []*idemddb.Claim, settle func(*idemddb.Claim) error) {
	p.Helper()

	for i, err := range atOnce(claims, settle) {
		if err != nil {
			p.Errorf("key %s: %v", claims[i].Key(), err)
		}
	}
}

func atOnce(claims []*idemddb.Claim, settle func(*idemddb.Claim) error) []error {
	var all sync.WaitGroup

	errs := make([]error, len(claims))
	for i, c := range claims {
		all.Go(func() { errs[i] = settle(c) })
	}

	all.Wait()

	return errs
}

// replayed demands that the keys 0 to n-1 are completed.
func (p *party) replayed(n int) {
	p.Helper()

	for i := range n {
		replay(p.T, p.store, strconv.Itoa(i))
	}
}

// takes demands that code takes exactly this long, of the bubble's time.
func (p *party) takes(want time.Duration, code func()) {
	p.Helper()

	begun := time.Now()
	code()

	if took := time.Since(begun); took != want {
		p.Errorf("took %v, want %v", took, want)
	}
}

// lastDoesNotWait demands that the Group has no more open writes than it should.
func (p *party) lastDoesNotWait() {
	p.Helper()
	p.db.Intercept(nil)
	p.db.InterceptStatements(nil)

	last := claimsIn(p.T, p.group.Claim(p.Context(), []idemddb.ClaimRequest{{Key: "last"}}))
	p.takes(0, func() { p.complete(last...) })
}

func TestWritesAtOnceAreOneRequest(t *testing.T) {
	t.Parallel()

	for name, settle := range map[string]func(context.Context, *idemddb.Claim) error{
		"complete": func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte("done")) },
		"release":  func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) },
		"unused":   func(ctx context.Context, c *idemddb.Claim) error { return c.ReleaseUnused(ctx) },
		"fail":     func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, nil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(p *party) {
				claims := p.claims(10)
				p.takes(0, func() { p.succeed(claims, func(c *idemddb.Claim) error { return settle(p.Context(), c) }) })
				p.want("UPDATE×10")
			})
		})
	}
}

func TestALoneClaimIsSettledInARequestOfItsOwn(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		p.takes(0, func() { p.complete(p.claims(1)...) })
		p.want("UpdateItem")
	})
}

func TestWhileARequestIsUnderWayWhatComesWaitsForTheNext(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(10)
		p.slow(3 * time.Millisecond)

		var all sync.WaitGroup

		for i, c := range claims {
			all.Go(func() {
				<-time.After(time.Duration(i) * 250 * time.Microsecond) // one by one, all within the first request
				p.complete(c)
			})
		}

		p.takes(linger+6*time.Millisecond, all.Wait)
		p.want("UpdateItem", "UPDATE×9")
	})
}

func TestAGroupCommitsBehindItsHandlers(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(10)
		p.slow(3 * time.Millisecond)

		var all sync.WaitGroup

		for i, c := range claims { // a handler of 5 ms after another
			all.Go(func() {
				<-time.After(time.Duration(i) * 5 * time.Millisecond)

				limit := 3*time.Millisecond + linger
				if i == len(claims)-1 {
					limit = 3 * time.Millisecond
				}

				p.takes(limit, func() { p.complete(c) })
			})
		}

		p.takes((9*5+3)*time.Millisecond, all.Wait)
	})
}

func TestTheLastWriteNeverWaits(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(3)
		p.takes(linger, func() { p.complete(claims[0]) })
		p.takes(linger, func() { p.complete(claims[1]) })
		p.takes(0, func() { p.complete(claims[2]) })
		p.want("UpdateItem", "UpdateItem", "UpdateItem")
	})
}

func TestTheLastWriteSendsTheRest(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(3)
		p.takes(linger/2, func() {
			var all sync.WaitGroup

			for i, c := range claims {
				all.Go(func() {
					<-time.After(time.Duration(i) * linger / 4)
					p.complete(c)
				})
			}

			all.Wait()
		})
		p.want("UPDATE×3")
	})
}

func TestAClaimThatIsNeverSettledDelaysTheOthersByTheWaitForCompanyOnly(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(4)

		for _, c := range claims[1:] {
			p.takes(linger, func() { p.complete(c) })
		}
	})
}

func TestARenewalIsNoEndOfItsClaim(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(2)
		<-time.After(time.Second)

		extend := func(c *idemddb.Claim) error { return c.Extend(p.Context()) }
		p.takes(linger, func() { p.succeed(claims[:1], extend) })
		p.takes(linger, func() { p.complete(claims[0]) })
		<-time.After(time.Second)
		p.takes(linger, func() { p.succeed(claims[1:], extend) }) // claims[1] is open
		p.takes(0, func() { p.complete(claims[1]) })
	})
}

func TestAClaimThatIsSettledTwiceCountsOnce(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(2)

		for range 3 {
			p.takes(linger, func() { p.complete(claims[0]) })
		}

		p.takes(0, func() { p.complete(claims[1]) })
		p.takes(0, func() { p.complete(claims[0]) })
	})
}

func TestAResultThatIsTooLargeLeavesItsClaimAwaited(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(2)
		if err := claims[0].Complete(p.Context(), make([]byte, 500_000)); !errors.Is(err, idemddb.ErrTooLarge) {
			p.Errorf("got %v, want too large", err)
		}

		p.takes(linger, func() { p.complete(claims[1]) })
		p.takes(0, func() { p.complete(claims[0]) })
	})
}

func TestALargeResultGoesAlone(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		size := func(c *idemddb.Claim) int { return 64<<10 + len(c.Key()) - 1 } // one byte more for a key of two figures

		p.succeed(p.claims(12), func(c *idemddb.Claim) error { return c.Complete(p.Context(), make([]byte, size(c))) })

		got := p.requests()
		slices.Sort(got)

		if want := []string{"UPDATE×10", "UpdateItem", "UpdateItem"}; !slices.Equal(got, want) {
			p.Errorf("requests: got %q, want %q", got, want)
		}

		p.replayed(12)
	})
}

func TestAtMostFourRequestsOfAGroupAreUnderWay(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(260)

		var running, most atomic.Int64

		p.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			if n := running.Add(1); n > most.Load() {
				most.Store(n)
			}

			<-time.After(3 * time.Millisecond)
			running.Add(-1)

			return idemddbtest.None
		})

		// 10 full ones, 4 at a time, and one with the rest, which waits for all of them
		p.takes(12*time.Millisecond, func() { p.complete(claims...) })

		got := p.requests()
		slices.Sort(got)

		if want := append([]string{"UPDATE×10"}, slices.Repeat([]string{"UPDATE×25"}, 10)...); !slices.Equal(got, want) {
			p.Errorf("requests: got %q, want %q", got, want)
		}

		if n := most.Load(); n != 4 {
			p.Errorf("%d requests at a time, want 4", n)
		}

		p.replayed(260)
	})
}

func TestAKeyNeverStandsTwiceInACall(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(5)
		p.slow(time.Millisecond)
		<-time.After(time.Second)

		var all sync.WaitGroup

		for _, c := range claims {
			for range 3 {
				all.Go(func() {
					if err := c.Extend(p.Context()); err != nil && !errors.Is(err, idemddb.ErrFenced) {
						p.Error(err)
					}
				})
			}

			all.Go(func() { p.complete(c) })
		}

		all.Wait()

		statements := 0
		for _, r := range p.db.Requests() {
			statements += max(1, len(r.Items))
		}

		if statements != 20 {
			p.Errorf("%d writes, want 20", statements)
		}

		p.noKeyTwice()
		p.replayed(5)
	})
}

// A renewal tells that the claim is lost; giving it back then costs no request, and is its end for the Group, too.
func TestALostClaimThatIsGivenBackIsNotAwaited(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(2)

		ahead, err := idemddb.New(p.db, "records", "test", &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
		if err != nil {
			p.Fatal(err)
		}

		claim(p.T, ahead, "0")
		<-time.After(time.Second)

		for _, err := range []error{claims[0].Extend(p.Context()), claims[0].Release(p.Context(), nil)} {
			if !errors.Is(err, idemddb.ErrFenced) {
				p.Errorf("got %v, want fenced", err)
			}
		}

		p.takes(0, func() { p.complete(claims[1]) })
	})
}

func TestRenewalsOfManyClaimsTravelTogether(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: 10 * time.Second}, func(p *party) {
		claims := p.claims(10)
		stops := make([]func(), len(claims))

		for i, c := range claims {
			_, stops[i] = c.Keep(p.Context())
		}

		<-time.After(time.Minute + time.Second) // renewed every 5 s

		for _, stop := range stops {
			stop()
		}

		if got, want := p.requests(), slices.Repeat([]string{"UPDATE×10"}, 12); !slices.Equal(got, want) {
			p.Errorf("requests: got %q, want 12 of all 10", got)
		}

		for _, c := range claims {
			if left := time.Until(c.Deadline()); left < 5*time.Second {
				p.Errorf("key %s has %v left", c.Key(), left)
			}
		}

		p.takes(0, func() { p.complete(claims...) })
		p.want("UPDATE×10")
	})
}

func TestALostClaimOfAGroupCancelsItsOwnWorkOnly(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Lease: 10 * time.Second}, func(p *party) {
		claims := p.claims(3)

		var works []context.Context

		for _, c := range claims {
			work, stop := c.Keep(p.Context())
			defer stop()

			works = append(works, work)
		}

		ahead, err := idemddb.New(p.db, "records", "test", &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
		if err != nil {
			p.Fatal(err)
		}

		claim(p.T, ahead, "1")
		<-time.After(6 * time.Second)

		for i, work := range works {
			if lost := errors.Is(context.Cause(work), idemddb.ErrFenced); lost != (i == 1) {
				p.Errorf("work of key %d: %v", i, context.Cause(work))
			}
		}
	})
}
