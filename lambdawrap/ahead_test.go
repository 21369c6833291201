package lambdawrap_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// held is how many records are claimed and not settled.
func (l *lab) held() int {
	n := 0

	for _, it := range l.db.Items("records") {
		if l.stateOf(it) == "INPROGRESS" {
			n++
		}
	}

	return n
}

func TestClaimsRunAtMostOneGroupAhead(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name    string
		opts    idemddb.Options
		workers int
		ahead   int // claimed and not begun, at most
	}{
		{"groups", idemddb.Options{}, 1, 25},
		{"groups, 10 workers", idemddb.Options{}, 10, 25},
		{"claims count", idemddb.Options{MaxAttempts: 3}, 1, 0},
		{"no takeover", idemddb.Options{NoTakeover: true}, 1, 0},
		{"claims count, 10 workers", idemddb.Options{MaxAttempts: 3}, 10, 0},
		{"single", idemddb.Options{Single: true}, 1, 0},
		{"single, 10 workers", idemddb.Options{Single: true}, 10, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &c.opts, func(l *lab) {
				l.opts.Workers = c.workers

				var begun, most atomic.Int64

				h := l.handle(func(context.Context, events.SQSMessage) error {
					if begun.Add(1) == 1 && l.held() > max(c.ahead, c.workers) {
						t.Errorf("%d claimed when the first handler runs", l.held())
					}

					pass(time.Second) // now nothing else is under way
					raise(&most, int64(len(l.db.Items("records")))-begun.Load())
					pass(time.Second)

					return nil
				})

				l.check(h, numbered(100), nil, l.runsOf(100))

				if most.Load() > int64(c.ahead) {
					t.Errorf("%d claimed ahead, want at most %d", most.Load(), c.ahead)
				}
			})
		})
	}
}

func TestTheNextGroupIsClaimedWhileTheLastOfTheOneBeforeRuns(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(l *lab) {
		claimed := map[string]int{}
		h := l.handle(func(_ context.Context, m events.SQSMessage) error {
			pass(time.Second)

			claimed[m.MessageId] = len(l.db.Items("records"))

			return nil
		})
		l.expect(h, numbered(60), nil, l.runsOf(60))

		for id, want := range map[string]int{"m0": 25, "m23": 25, "m24": 50, "m48": 50, "m49": 60} {
			l.equal("records at the end of "+id, claimed[id], want)
		}
	})
}

func TestOfAFIFOGroupOnlyTheNextMessageIsClaimed(t *testing.T) {
	t.Parallel()

	for _, workers := range []int{1, 5} {
		t.Run(strconv.Itoa(workers), func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(l *lab) {
				l.opts.Workers = workers

				var texts []string
				for i := range 40 {
					texts = append(texts, fmt.Sprintf("m%d %c%d %c", i, 'a'+i%4, i/4, 'a'+i%4))
				}

				h := l.handle(func(_ context.Context, m events.SQSMessage) error {
					pass(time.Second)

					group, n := m.Body[:1], 0
					_, err := fmt.Sscan(m.Body[1:], &n)

					for later := n + 1; later < 10; later++ {
						l.equal(fmt.Sprint(group, later, " while ", m.Body, " runs"), l.state(fmt.Sprint(group, later)), "none")
					}

					if m.Body == "b4" {
						return errBank
					}

					return err
				})
				response, err := h(l.Context(), batch(texts...))
				l.equal("error", err, nil)
				l.equal("failed", ids(response), []string{"m17", "m21", "m25", "m29", "m33", "m37"})

				for later := 5; later < 10; later++ {
					l.equal("behind the failure", l.state(fmt.Sprint("b", later)), "none")
				}
			})
		})
	}
}

// competitor claims these keys again and again, and answers what it got.
func (l *lab) competitor(ctx context.Context, keys int) *atomic.Int64 {
	var got atomic.Int64

	rival := l.open(l.db, &idemddb.Options{Single: true, Observe: func(context.Context, idemddb.Event) {}})

	go func() {
		for ctx.Err() == nil {
			for i := range keys {
				claim, _, _ := rival.Claim(ctx, fmt.Sprintf("k%d", i), nil)
				if claim != nil {
					got.Add(1)
				}
			}

			pass(7 * time.Second)
		}
	}()

	return &got
}

func TestClaimsThatWaitKeepTheirLeases(t *testing.T) {
	t.Parallel()

	for name, wrap := range map[string]func(*lab, lambdawrap.Handler) wrapped{"SQS": (*lab).handle, "Batch": (*lab).whole} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(l *lab) {
				ctx, cancel := context.WithCancel(l.Context())

				var got *atomic.Int64

				h := wrap(l, func(_ context.Context, m events.SQSMessage) error {
					if m.MessageId == "m0" {
						got = l.competitor(ctx, 20)
					}

					pass(40 * time.Second)

					return nil
				})

				l.expect(h, numbered(20), nil, l.runsOf(20))
				cancel()
				l.equal("taken over", got.Load(), int64(0))
				l.equal("fenced", l.count(idemddb.Fenced), 0)

				renewals, inGroups := 0, 0

				for _, r := range l.db.Requests() {
					for _, part := range append(r.Items, r) {
						if strings.HasPrefix(part.Update, `SET "lease" = ?`) || strings.HasPrefix(part.Update, "SET lease = :lease") {
							renewals++
						}
					}

					if len(r.Items) > 0 {
						inGroups++
					}
				}

				// 20 claims for 40 s to 800 s, renewed every 15 s: one request for all that wait.
				if renewals < 400 || inGroups > 120 {
					t.Errorf("%d renewals in %d groups", renewals, inGroups)
				}

				pass(2 * time.Second)
			})
		})
	}
}

func TestAClaimThatIsLostWhileItWaitsIsNotRun(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(l *lab) {
		ahead := l.open(l.db, &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
		h := l.handle(func(ctx context.Context, m events.SQSMessage) error {
			if m.MessageId == "m0" {
				for _, key := range []string{"k1", "k2"} {
					other, _, err := ahead.Claim(ctx, key, nil)
					l.equal("error", err, nil)

					if key == "k2" {
						l.equal("error", other.Complete(ctx, nil), nil)
					}
				}

				_, err := l.db.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: new("records"), Key: recordKey("k3")})
				l.equal("error", err, nil)
				pass(20 * time.Second) // longer than half a lease
			}

			return nil
		})
		l.expect(h, numbered(5), []string{"m1", "m2", "m3"}, []string{"m0", "m4"})
		l.equal("k1", l.state("k1"), "INPROGRESS")
		l.equal("k2", l.state("k2"), "COMPLETED")
		l.equal("k3", l.state("k3"), "none")
	})
}

// What one key waits for must not cost the others their leases: they are answered in one request and retried in another.
func TestClaimsOfAGroupThatWaitForAThrottledOneAreNotRunBesideATaker(t *testing.T) {
	t.Parallel()

	for name, wrap := range map[string]func(*lab, lambdawrap.Handler) wrapped{"SQS": (*lab).handle, "Batch": (*lab).whole} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(l *lab) {
				begun := time.Now()
				l.throttled("k1", func() bool { return time.Since(begun) < time.Minute })

				rival := l.open(l.db, &idemddb.Options{Single: true})

				var taken atomic.Int64

				time.AfterFunc(40*time.Second, func() { // longer than a lease
					if claim, _, _ := rival.Claim(context.Background(), "k0", nil); claim != nil {
						taken.Add(1) // and works on it for longer than we wait
					}
				})

				ctx, cancel := context.WithTimeout(l.Context(), 5*time.Minute)
				defer cancel()

				response, err := wrap(l, succeed)(ctx, numbered(2))
				l.equal("error", err, nil)

				for _, id := range l.runs.all() {
					if id == "m0" && taken.Load() > 0 {
						t.Errorf("run beside a taker; answered %v", ids(response))
					}
				}
			})
		})
	}
}

func TestAKeyThatIsThrottledForGoodCostsItsOwnMessage(t *testing.T) {
	t.Parallel()

	for _, size := range []int{10, 60} {
		t.Run(strconv.Itoa(size), func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(l *lab) {
				l.opts.Workers = 10
				l.throttled("k7", func() bool { return true })

				ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
				defer cancel()

				response, err := l.handle(slowly(5*time.Second))(ctx, numbered(size))
				l.equal("error", err, nil)
				l.equal("in time", ctx.Err(), nil)
				l.equal("failed", ids(response), []string{"m7"})
			})
		})
	}
}

func TestAKeyThatIsThrottledForGoodCostsABatchItsOwnMessage(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		l.throttled("k7", func() bool { return true })

		ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
		defer cancel()

		response, err := l.whole(slowly(4*time.Second))(ctx, numbered(12))
		l.equal("error", err, nil)
		l.equal("in time", ctx.Err(), nil)
		l.equal("failed", ids(response), []string{"m7"})
	})
}

// Handlers that are quicker than DynamoDB do not pile up writes without end.
func TestWritesThatWaitHoldTheHandlersUp(t *testing.T) {
	t.Parallel()

	for _, mode := range modes[:2] {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &mode.opts, func(l *lab) {
				var handled, recorded, most atomic.Int64

				l.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
					if isCallOf(isCompletion)(r) {
						pass(time.Second)

						raise(&most, handled.Load()-recorded.Load())
						recorded.Add(int64(max(1, len(r.Items))))
					}

					return idemddbtest.None
				})
				l.check(l.handle(func(context.Context, events.SQSMessage) error {
					handled.Add(1)

					return nil
				}), numbered(300), nil, l.runsOf(300))

				if most.Load() > 150 {
					t.Errorf("%d are handled and not recorded", most.Load())
				}
			})
		})
	}
}

// With one worker, what has become free comes before what stands behind it in the batch.
func TestMessagesAreClaimedInTheOrderOfTheBatch(t *testing.T) {
	t.Parallel()

	for _, mode := range modes[1:] {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &mode.opts, func(l *lab) {
				response, err := l.handle(slowly(time.Second))(l.Context(),
					batch("m1 a1 a", "m2 a2 a", "m3 b1 b", "m4 c1 c", "m5 a3 a", "m6 d1 d", "m7 e1 e"))
				l.equal("error", err, nil)
				l.equal("failed", ids(response), []string(nil))
				l.equal("order", l.runs.all(), []string{"m1", "m3", "m2", "m4", "m5", "m6", "m7"}) // m3 while m1 is settled
			})
		})
	}
}

// throttled lets the requests and statements for one key meet a throttle, as long as on says so.
func (l *lab) throttled(key string, on func() bool) {
	decide := func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if keyOf(r) == key && on() {
			return idemddbtest.Throttle
		}

		return idemddbtest.None
	}
	l.db.Intercept(decide)
	l.db.InterceptStatements(decide)
}
