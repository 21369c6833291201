package idemddb_test

import (
	"context"
	"errors"
	"fmt"
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

func TestThrottledStatementsGoAgainInCompany(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.Throttle, idemddbtest.ThrottleAccount, idemddbtest.ServerError, idemddbtest.ServerErrorApplied, idemddbtest.TransactionConflict,
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(p *party) {
				oddKeysOnce := func() {
					met := map[string]bool{}
					p.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
						key := textOf(r.Key, "pk")
						if n, err := strconv.Atoi(strings.TrimPrefix(key, "test#")); err != nil || n%2 == 0 || met[key] {
							return idemddbtest.None
						}

						met[key] = true

						return fault
					})
				}

				oddKeysOnce()

				claims := claimsIn(p.T, p.ask(10, false))

				if fault == idemddbtest.ServerErrorApplied { // the INSERTs find their own records
					p.want("INSERT×10", "INSERT×5", "UPDATE×5")
				} else {
					p.want("INSERT×10", "INSERT×5")
				}

				oddKeysOnce()
				p.complete(claims...)
				p.want("UPDATE×10", "UPDATE×5")

				if n := p.events.count(idemddb.Retried); n != 1+5 { // of the claims' call, and of each completion
					p.Errorf("%d events %s, want 6", n, idemddb.Retried)
				}

				p.replayed(10)
				p.lastDoesNotWait()
			})
		})
	}
}

// What comes while failed writes pause joins them.
func TestWhatMustGoAgainJoinsTheNextRequest(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(10)
		p.slow(0)
		p.db.Inject(idemddbtest.Throttle)

		var all sync.WaitGroup

		all.Go(func() { p.complete(claims[:9]...) })
		synctest.Wait() // linger goes by only when time does
		p.complete(claims[9])
		all.Wait()

		if got := p.requests(); len(got) > 3 {
			p.Errorf("requests: got %q, want at most 3", got)
		}
	})
}

var callFaults = []idemddbtest.Fault{
	idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.LateReply, idemddbtest.TruncatedBody,
	idemddbtest.ServerError, idemddbtest.ServerErrorApplied, idemddbtest.Throttle, idemddbtest.ThrottleAccount,
	idemddbtest.TransactionConflict,
}

func TestACallThatMeetsAFaultIsMadeAgain(t *testing.T) {
	t.Parallel()

	for _, fault := range callFaults {
		for _, redelivered := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, redelivered %t", fault, redelivered), func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(p *party) {
					if redelivered {
						p.succeed(p.claims(10), func(c *idemddb.Claim) error { return c.ReleaseUnused(p.Context()) })
					}

					p.db.Inject(fault)

					claims := claimsIn(p.T, p.ask(10, redelivered))

					for _, c := range claims {
						if c.Attempt() != 1 || c.Takeover() {
							p.Errorf("key %s: attempt %d, takeover %t", c.Key(), c.Attempt(), c.Takeover())
						}
					}

					p.nothingIsLate()
					p.db.Inject(fault)
					p.complete(claims...)
					p.nothingIsLate()
					p.replayed(10)

					if !p.store.Grouped() || p.events.count(idemddb.Ungrouped) > 0 {
						p.Error("groups are off")
					}

					p.lastDoesNotWait()
				})
			})
		}
	}
}

// nothingIsLate lets late twins arrive, and demands that they change nothing.
func (p *party) nothingIsLate() {
	p.Helper()

	before := p.db.Items("records")
	p.db.Deliver()

	for i, it := range p.db.Items("records") {
		if show(it) != show(before[i]) || textOf(it, "own") != textOf(before[i], "own") {
			p.Errorf("a late twin made%s of%s", show(it), show(before[i]))
		}
	}
}

// A twin arrives after whatever may have become of the key.
func TestLateTwinsOfCallsChangeNothing(t *testing.T) {
	t.Parallel()

	ways := map[string]func(*party, []*idemddb.Claim){
		"held": func(*party, []*idemddb.Claim) {},
		"released": func(p *party, claims []*idemddb.Claim) {
			p.succeed(claims, func(c *idemddb.Claim) error { return c.Release(p.Context(), nil) })
		},
		"unused": func(p *party, claims []*idemddb.Claim) {
			p.succeed(claims, func(c *idemddb.Claim) error { return c.ReleaseUnused(p.Context()) })
		},
		"completed": func(p *party, claims []*idemddb.Claim) { p.complete(claims...) },
		"failed": func(p *party, claims []*idemddb.Claim) {
			p.succeed(claims, func(c *idemddb.Claim) error { return c.Fail(p.Context(), nil) })
		},
		"extended": func(p *party, claims []*idemddb.Claim) {
			<-time.After(time.Second)
			p.succeed(claims, func(c *idemddb.Claim) error { return c.Extend(p.Context()) })
		},
		"reopened": func(p *party, claims []*idemddb.Claim) {
			p.succeed(claims, func(c *idemddb.Claim) error {
				return errors.Join(c.Fail(p.Context(), nil), p.store.Reopen(p.Context(), c.Key()))
			})
		},
		"claimed by another": func(p *party, claims []*idemddb.Claim) {
			p.succeed(claims, func(c *idemddb.Claim) error { return c.ReleaseUnused(p.Context()) })
			claimsIn(p.T, p.store.Group().Claim(p.Context(), numbered(len(claims), true)))
		},
	}

	for name, becomes := range ways {
		for _, redelivered := range []bool{false, true} {
			t.Run(fmt.Sprintf("a claim, then %s, redelivered %t", name, redelivered), func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(p *party) {
					if redelivered {
						p.succeed(p.claims(3), func(c *idemddb.Claim) error { return c.ReleaseUnused(p.Context()) })
					}

					p.db.Inject(idemddbtest.LateRequest)
					becomes(p, claimsIn(p.T, p.ask(3, redelivered)))
					p.nothingIsLate()
				})
			})
		}
	}

	for _, verb := range []string{"complete", "fail", "extend"} {
		t.Run(verb+", made again", func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(p *party) {
				claims := p.claims(3)
				<-time.After(time.Second)
				p.db.Inject(idemddbtest.LateRequest)
				p.succeed(claims, func(c *idemddb.Claim) error { return writeWith(p.Context(), verb, c) })
				p.nothingIsLate()
			})
		})

		for name, becomes := range ways {
			if name == "held" || name == "extended" && verb != "extend" {
				continue // it is applied, and that is what was asked for
			}

			t.Run(fmt.Sprintf("%s, given up, then %s", verb, name), func(t *testing.T) {
				t.Parallel()
				bubble(t, nil, func(p *party) {
					claims := p.claims(3)
					<-time.After(time.Second)
					p.db.Inject(idemddbtest.LateRequest)

					ctx, cancel := context.WithCancel(p.Context())
					p.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
						cancel() // a second attempt is not made

						return idemddbtest.LostRequest
					})

					for _, err := range atOnce(claims, func(c *idemddb.Claim) error { return writeWith(ctx, verb, c) }) {
						if err == nil {
							p.Fatal("no error")
						}
					}

					p.db.Intercept(nil)
					becomes(p, claims)
					p.nothingIsLate()
				})
			})
		}
	}
}

func writeWith(ctx context.Context, verb string, c *idemddb.Claim) error {
	switch verb {
	case "complete":
		return c.Complete(ctx, []byte("late"))
	case "fail":
		return c.Fail(ctx, errors.New("late"))
	default:
		return c.Extend(ctx)
	}
}

func TestACallerThatGivesUpInTheQueueTakesItsWriteBack(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(3)
		p.slow(10 * time.Millisecond)

		ctx, cancel := context.WithCancel(p.Context())

		var all sync.WaitGroup

		all.Go(func() { p.complete(claims[0]) })
		synctest.Wait()
		<-time.After(time.Millisecond) // the first request is under way
		all.Go(func() {
			if err := claims[1].Complete(ctx, nil); !errors.Is(err, context.Canceled) || !errors.Is(err, idemddb.ErrUnrecorded) {
				p.Errorf("got %v, want canceled and unrecorded", err)
			}
		})
		all.Go(func() { p.complete(claims[2]) })
		synctest.Wait()
		cancel()
		all.Wait()
		p.want("UpdateItem", "UpdateItem")

		for key, state := range map[int]string{0: "COMPLETED", 1: "INPROGRESS", 2: "COMPLETED"} {
			if got := textOf(p.db.Items("records")[key], "st"); got != state {
				p.Errorf("key %d is %s, want %s", key, got, state)
			}
		}

		p.db.Intercept(nil)
		p.takes(0, func() { p.complete(claims[1]) })
		p.lastDoesNotWait()
	})
}

func TestACallerThatGivesUpDoesNotEndTheRequestOfTheOthers(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(3)
		p.slow(10 * time.Millisecond)

		ctx, cancel := context.WithCancel(p.Context())

		var all sync.WaitGroup

		all.Go(func() {
			p.takes(5*time.Millisecond, func() {
				if err := claims[0].Complete(ctx, []byte("done")); !errors.Is(err, idemddb.ErrUnrecorded) {
					p.Errorf("got %v, want unrecorded", err)
				}
			})
		})
		all.Go(func() { p.takes(10*time.Millisecond, func() { p.complete(claims[1:]...) }) })
		<-time.After(5 * time.Millisecond)
		cancel()
		all.Wait()
		p.want("UPDATE×3")
		p.replayed(3)
		p.lastDoesNotWait()
	})
}

func TestARequestEndsWhenItsLastCallerGivesUp(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(3)

		var ended atomic.Bool

		p.db.Intercept(func(ctx context.Context, _ idemddbtest.Request) idemddbtest.Fault {
			<-ctx.Done()
			ended.Store(true)

			return idemddbtest.None
		})

		ctx, cancel := context.WithTimeout(p.Context(), 90*time.Millisecond)
		defer cancel()

		atOnce(claims, func(c *idemddb.Claim) error { return c.Complete(ctx, nil) })
		synctest.Wait()

		if !ended.Load() {
			p.Error("the request goes on")
		}

		p.db.Intercept(nil)
		p.complete(claims...)
		p.lastDoesNotWait()
	})
}

// A caller that leaves at the very moment of its answer, which asks to be sent again, leaves nothing behind that the others
// would wait for. Who is first is the scheduler's choice, so it is done often.
func TestACallerThatLeavesAtTheMomentOfItsAnswerIsNotAwaited(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		for range 200 {
			p.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
				<-time.After(50 * time.Millisecond)

				return idemddbtest.Throttle
			})

			claims := claimsIn(p.T, p.quietly(2))
			ctx, cancel := context.WithTimeout(p.Context(), 50*time.Millisecond)

			atOnce(claims, func(c *idemddb.Claim) error { return c.Complete(ctx, nil) })
			cancel()
			synctest.Wait()
		}

		p.lastDoesNotWait()
	})
}

var fresh atomic.Int64

// quietly claims n keys that nobody has used, past any interceptor.
func (p *party) quietly(n int) []idemddb.ClaimAnswer {
	requests := make([]idemddb.ClaimRequest, n)
	for i := range requests {
		requests[i].Key = fmt.Sprint("fresh", fresh.Add(1))
	}

	p.db.Inject(idemddbtest.None) // one call

	return p.group.Claim(p.Context(), requests)
}

func TestACompletionRefusedWithoutItsItemIsFenced(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(3)
		p.succeed(claims, func(c *idemddb.Claim) error { return c.Release(p.Context(), nil) })
		p.db.InterceptStatements(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.ConditionWithoutItem })

		for _, err := range atOnce(claims, func(c *idemddb.Claim) error { return c.Complete(p.Context(), nil) }) {
			if !errors.Is(err, idemddb.ErrFenced) {
				p.Errorf("got %v, want fenced", err)
			}
		}
	})
}

func TestACompletionInAGroupGivesUpAtItsDeadline(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(3)
		p.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostRequest })

		begun := time.Now()

		ctx, cancel := context.WithTimeout(p.Context(), 3*time.Second)
		defer cancel()

		for _, err := range atOnce(claims, func(c *idemddb.Claim) error { return c.Complete(ctx, nil) }) {
			if !errors.Is(err, idemddb.ErrUnrecorded) {
				p.Errorf("got %v, want unrecorded", err)
			}
		}

		if took := time.Since(begun); took > 3*time.Second {
			p.Errorf("gave up after %v", took)
		}

		p.db.Intercept(nil)
		p.complete(claims...)
		p.replayed(3)
		p.lastDoesNotWait()
	})
}

func TestAReplyThatNeverComesLeavesTimeForAnotherCall(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(3)
		p.db.Inject(idemddbtest.LateReply)

		ctx, cancel := context.WithTimeout(p.Context(), 3*time.Second)
		defer cancel()

		p.succeed(claims, func(c *idemddb.Claim) error { return c.Complete(ctx, []byte("done")) })
		p.replayed(3)
	})
}
