package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestWhatClaimsOfAGroupCost(t *testing.T) {
	t.Parallel()

	finish := func(p *party) { p.complete(p.claims(10)...) }
	release := func(p *party) {
		p.succeed(p.claims(10), func(c *idemddb.Claim) error { return c.Release(p.Context(), nil) })
	}

	for _, c := range []struct {
		name        string
		before      func(*party)
		n           int
		redelivered bool
		units       int
		want        []string
	}{
		{"10 new keys", nil, 10, false, 10, []string{"INSERT×10"}},
		{"10 duplicates, as a first delivery", finish, 10, false, 20, []string{"INSERT×10", "UPDATE×10"}},
		{"10 duplicates, redelivered", finish, 10, true, 10, []string{"UPDATE×10"}},
		{"10 released keys, redelivered", release, 10, true, 10, []string{"UPDATE×10"}},
		{"10 new keys, said to be redelivered", nil, 10, true, 20, []string{"UPDATE×10", "INSERT×10"}},
		{"10 new keys and 10 duplicates", finish, 20, false, 30, []string{"INSERT×20", "UPDATE×10"}},
		{"a lone new key", nil, 1, false, 1, []string{"UpdateItem"}},
		{"a lone duplicate", finish, 1, false, 1, []string{"UpdateItem"}},
		{"two", nil, 2, false, 2, []string{"INSERT×2"}},
		{"25", nil, 25, false, 25, []string{"INSERT×25"}},
		{"60", nil, 60, false, 60, []string{"INSERT×25", "INSERT×25", "INSERT×10"}},
		{"none", nil, 0, false, 0, []string{}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(p *party) {
				if c.before != nil {
					c.before(p)
				}

				p.requests()
				p.takes(0, func() { p.ask(c.n, c.redelivered) })

				units := 0
				for _, r := range p.db.Requests() {
					units += r.WriteUnits
				}

				if units != c.units {
					p.Errorf("%d write units, want %d", units, c.units)
				}

				p.want(c.want...)
			})
		})
	}
}

func TestDuplicatesInTheCacheCostNothing(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Cache: 100}, func(p *party) {
		p.complete(p.claims(10)...)
		p.requests()

		for _, a := range p.ask(10, true) {
			if a.Record == nil || string(a.Record.Result) != "done" {
				p.Errorf("got %+v, want the record", a)
			}
		}

		p.want()
	})
}

func TestAForeignRecordIsClaimedTheSingleWay(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		p.succeed(p.claims(3), func(c *idemddb.Claim) error { return c.Release(p.Context(), nil) })

		foreign := p.db.Items("records")[1]
		delete(foreign, "att")

		if _, err := p.db.PutItem(p.Context(), &dynamodb.PutItemInput{TableName: new("records"), Item: foreign}); err != nil {
			p.Fatal(err)
		}

		p.requests()

		var claims []*idemddb.Claim

		p.takes(0, func() { claims = claimsIn(p.T, p.ask(3, true)) })
		p.want("UPDATE×3", "UpdateItem")

		if claims[0].Attempt() != 2 || claims[1].Attempt() != 1 {
			p.Errorf("attempts %d and %d", claims[0].Attempt(), claims[1].Attempt())
		}

		p.complete(claims...)
		p.replayed(3)
	})
}

func TestAMissingTableIsNamed(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		s, err := idemddb.New(p.db, "nowhere", "test", nil)
		if err != nil {
			p.Fatal(err)
		}

		p.takes(0, func() {
			for _, a := range s.Group().Claim(p.Context(), numbered(3, false)) {
				if a.Err == nil || !strings.Contains(a.Err.Error(), `table "nowhere" is missing`) {
					p.Errorf("got %v, want the table's name", a.Err)
				}
			}
		})
	})
}

func TestACanceledContextEndsTheClaimsOfAGroup(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		p.slow(time.Hour)

		ctx, cancel := context.WithTimeout(p.Context(), time.Second)
		defer cancel()

		p.takes(time.Second, func() {
			for i, a := range p.group.Claim(ctx, numbered(60, false)) {
				if a.Claim != nil || a.Record != nil || !errors.Is(a.Err, context.DeadlineExceeded) {
					p.Errorf("key %d: got %+v, want the deadline", i, a)
				}
			}
		})
	})
}

func TestClaimsOfAGroupWithoutAnAnswerEndAfterTenSeconds(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{idemddbtest.LostRequest, idemddbtest.Throttle, idemddbtest.TruncatedBody} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(p *party) {
				p.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return fault })

				begun := time.Now()

				for _, a := range p.ask(3, false) {
					if a.Err == nil {
						p.Errorf("got %+v, want an error", a)
					}
				}

				if took := time.Since(begun); took < 8*time.Second || took > 11*time.Second {
					p.Errorf("gave up after %v, want about 10s", took)
				}

				if n := p.events.count(idemddb.Unanswered); n != 3 {
					p.Errorf("%d events %s, want 3", n, idemddb.Unanswered)
				}
			})
		})
	}
}

func TestAKeyWhoseStatementsStayThrottledIsClaimedAlone(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		p.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if textOf(r.Key, "pk") == "test#1" {
				return idemddbtest.Throttle
			}

			return idemddbtest.None
		})
		claimsIn(p.T, p.ask(3, false))
		p.want("INSERT×3", "INSERT×1", "INSERT×1", "UpdateItem")
	})
}

// ClaimEach tells what was won, also of later calls, while a key is throttled until the deadline.
func TestAKeyThatStaysThrottledHoldsNoOtherUp(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		throttle := func(r idemddbtest.Request) idemddbtest.Fault {
			if textOf(r.Key, "pk") == "test#1" {
				return idemddbtest.Throttle
			}

			return idemddbtest.None
		}

		p.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault { return throttle(r) })
		p.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault { return throttle(r) })

		ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
		defer cancel()

		begun, told := time.Now(), 0

		p.group.ClaimEach(ctx, numbered(60, false), func(answers []idemddb.ClaimAnswer) {
			took := time.Since(begun)
			told += len(answers)

			for _, a := range answers {
				switch {
				case a.Index == 1 && a.Err == nil:
					p.Errorf("key 1: got %+v, want an error", a)
				case a.Index != 1 && a.Claim == nil:
					p.Errorf("key %d: got %+v, want a claim", a.Index, a)
				case a.Index != 1 && took > time.Second:
					p.Errorf("key %d is known after %v", a.Index, took)
				}
			}
		})

		if told != 60 {
			p.Errorf("%d answers, want 60", told)
		}
	})
}

func TestEachAnswerIsToldOnceAndNeverTwoAtATime(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]*idemddb.Options{"in groups": {Cache: 10}, "Options.Single": {Single: true, Cache: 10}} {
		for _, n := range []int{0, 1, 2, 60} {
			t.Run(fmt.Sprint(name, ", ", n), func(t *testing.T) {
				t.Parallel()
				bubble(t, opts, func(p *party) {
					requests := numbered(n, false)
					requests = append(requests, requests...) // each key twice
					told := make([]int, len(requests))
					claims := 0

					var telling atomic.Int64

					p.slow(time.Millisecond)
					p.group.ClaimEach(p.Context(), requests, func(answers []idemddb.ClaimAnswer) {
						if telling.Add(1) != 1 {
							p.Error("two answers at a time")
						}

						runtime.Gosched()

						for _, a := range answers {
							if told[a.Index]++; a.Claim != nil {
								claims++
							}
						}

						telling.Add(-1)
					})

					if want := slices.Repeat([]int{1}, len(requests)); !slices.Equal(told, want) {
						p.Errorf("told: %v", told)
					}

					if claims != n {
						p.Errorf("%d claims, want %d", claims, n)
					}
				})
			})
		}
	}
}

// What was known first can be settled before the rest is known.
func TestAClaimCanBeSettledWhileOthersHaveNoAnswer(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		p.complete(p.claims(2)...)
		p.slow(10 * time.Millisecond)
		p.requests()

		var settled sync.WaitGroup

		p.group.ClaimEach(p.Context(), numbered(4, false), func(answers []idemddb.ClaimAnswer) {
			for _, a := range answers {
				if a.Index >= 2 {
					settled.Go(func() { p.complete(a.Claim) })
				}
			}
		})
		settled.Wait()
		p.want("INSERT×4", "UPDATE×2", "UPDATE×2")
		p.replayed(4)
	})
}

func TestStatementsRefusedWithoutTheirItemAreTriedABoundedNumberOfTimesAndThenAlone(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		p.complete(p.claims(3)...)
		p.requests()
		p.db.InterceptStatements(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.ConditionWithoutItem })

		for _, redelivered := range []bool{false, true} {
			for _, a := range p.ask(3, redelivered) {
				if a.Record == nil {
					p.Errorf("got %+v, want the record", a)
				}
			}

			got := p.requests()
			if n := len(got); n > 5+3 || !slices.Equal(got[n-3:], []string{"UpdateItem", "UpdateItem", "UpdateItem"}) {
				p.Errorf("requests: %q, want at most 5 calls and then the single way", got)
			}
		}
	})
}

func TestLeasesOfAGroupAreCutToTheDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		ctx, cancel := context.WithTimeout(p.Context(), 5*time.Second)
		defer cancel()

		for _, c := range claimsIn(p.T, p.group.Claim(ctx, numbered(3, false))) {
			if left := time.Until(c.Deadline()); left > 5*time.Second || left < 5*time.Second-time.Millisecond {
				p.Errorf("a lease of %v, want the 5s of the context", left)
			}
		}
	})
}

// One group for all, and one for each, under the race detector: each key is worked on once.
func TestAThousandGoroutinesWithGroupsRunEachKeyOnce(t *testing.T) {
	t.Parallel()

	const keys, goroutines = 60, 1000

	for name, shared := range map[string]bool{"one group": true, "a group each": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, db := newStore(t, &idemddb.Options{Cache: keys / 2})
			common := s.Group()

			var (
				runs [keys]atomic.Int64
				all  sync.WaitGroup
			)

			for i := range goroutines {
				all.Go(func() {
					g := common
					if !shared {
						g = s.Group()
					}

					requests := make([]idemddb.ClaimRequest, 5)
					for k := range requests {
						requests[k] = idemddb.ClaimRequest{Key: strconv.Itoa((i + 7*k) % keys), Redelivered: i%2 == 0}
					}

					for k, a := range g.Claim(t.Context(), requests) {
						switch {
						case a.Claim != nil:
							runs[(i+7*k)%keys].Add(1)
							all.Go(func() {
								if err := errors.Join(a.Claim.Extend(t.Context()), a.Claim.Complete(t.Context(), nil)); err != nil {
									t.Error(err)
								}
							})
						case a.Record == nil && !errors.Is(a.Err, idemddb.ErrInProgress):
							t.Error(a.Err)
						}
					}
				})
			}

			all.Wait()

			for key := range runs {
				if n := runs[key].Load(); n != 1 {
					t.Errorf("key %d ran %d times", key, n)
				}
			}

			for _, it := range db.Items("records") {
				if textOf(it, "st") != "COMPLETED" {
					t.Errorf("a record is left as%s", show(it))
				}
			}
		})
	}
}

func TestGroupsOfADisabledStoreSendNothing(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")
	bubble(t, nil, func(p *party) {
		claims := p.claims(10)
		p.takes(0, func() { p.complete(claims...) })
		p.want()

		if p.store.Grouped() || p.events.count(idemddb.Ungrouped) != 0 || p.events.count(idemddb.Disabled) != 1 {
			p.Errorf("grouped: %t, events %v", p.store.Grouped(), p.events.kinds)
		}
	})
}
