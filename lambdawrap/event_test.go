package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// wholeHandler is an existing handler of whole events.
type wholeHandler = func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// event wraps a handler of whole events, whose messages are noted: one entry a call.
func (l *lab) event(calls *journal, h wholeHandler) wrapped {
	return lambdawrap.Batch(l.store, func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		var given []string
		for _, m := range event.Records {
			given = append(given, m.MessageId)
		}

		calls.add(strings.Join(given, " "))

		return h(ctx, event)
	}, l.opts)
}

// reporting answers with these ids.
func reporting(failed ...string) wholeHandler {
	return func(context.Context, events.SQSEvent) (response events.SQSEventResponse, _ error) {
		for _, id := range failed {
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: id})
		}

		return response, nil
	}
}

// answered sends a batch and compares the failed ids.
func (l *lab) answered(h wrapped, event events.SQSEvent, failed ...string) {
	l.Helper()

	response, err := h(l.Context(), event)
	l.equal("error", err, nil)
	l.equal("failed", ids(response), failed)
}

func TestBatchIsGivenWhatMustBeWorkedOnInOrder(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		l.opts.Key = func(m events.SQSMessage) (string, error) {
			if m.Body == "none" {
				return "", lambdawrap.ErrNoKey
			}

			return m.Body, nil
		}

		for key, end := range map[string]func(*idemddb.Claim) error{
			"done": func(c *idemddb.Claim) error { return c.Complete(l.Context(), nil) },
			"dead": func(c *idemddb.Claim) error { return c.Fail(l.Context(), nil) },
			"held": func(*idemddb.Claim) error { return nil },
			"back": func(c *idemddb.Claim) error { return c.Release(l.Context(), nil) },
		} {
			claim, _, err := l.store.Claim(l.Context(), key, nil)
			l.equal("error", errors.Join(err, end(claim)), nil)
		}

		var calls journal

		h := l.event(&calls, reporting("m9"))
		l.answered(h, batch("m1 z", "m2 done", "m3 dead", "m4 y", "m5 held", "m6 none", "m7 y", "m8 back", "m9 x", "m10 done"),
			"m3", "m5", "m6", "m9")
		l.equal("calls", calls.all(), []string{"m1 m4 m8 m9"})

		// Each outcome is written: what comes again is the one that failed.
		l.answered(h, batch("m1 z", "m4 y", "m7 y", "m8 back", "m9 x"), "m9")
		l.equal("calls", calls.all(), []string{"m1 m4 m8 m9", "m9"})
		l.equal("x", l.state("x"), "INPROGRESS released")
		l.equal("z", l.state("z"), "COMPLETED")
	})
}

func TestBatchGetsTheMessagesAsTheyCame(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)
	event := deliveredFor(batch("m1 k1 g", "m2 k2 g"), 3)

	var got events.SQSEvent

	h := lambdawrap.Batch(l.store, func(_ context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
		got = e

		return events.SQSEventResponse{}, nil // nil BatchItemFailures: none
	}, l.opts)
	l.answered(h, event)
	l.equal("event", got, event)
}

func TestBatchIsNotCalledWhenThereIsNothingToDo(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		var calls journal

		h := l.event(&calls, reporting())
		l.answered(h, events.SQSEvent{})
		l.answered(h, numbered(3))
		l.equal("calls", calls.all(), []string{"m0 m1 m2"})
		l.db.ResetRequests()
		l.answered(h, deliveredFor(numbered(3), 2))
		l.equal("calls", len(calls.all()), 1)

		l.opts.Key = func(events.SQSMessage) (string, error) { return "", lambdawrap.ErrNoKey }
		l.answered(l.event(&calls, reporting()), numbered(2), "m0", "m1")
		l.equal("calls", len(calls.all()), 1)
	})
}

func TestWhatTheAnswerOfABatchHandlerBecomes(t *testing.T) {
	t.Parallel()

	cause := errors.New("no such account")

	for _, c := range []struct {
		name   string
		answer wholeHandler
		failed []string
		states string // of k0, k1, k2
		log    string
	}{
		{"no failures", reporting(), nil, "COMPLETED, COMPLETED, COMPLETED", ""},
		{
			"one failure", reporting("m1"), []string{"m1"},
			"COMPLETED, INPROGRESS released, COMPLETED", "the handler reported it failed",
		},
		{"the same failure twice", reporting("m1", "m1"), []string{"m1"}, "COMPLETED, INPROGRESS released, COMPLETED", ""},
		{"all", reporting("m2", "m1", "m0"), []string{"m0", "m1", "m2"}, "INPROGRESS released, INPROGRESS released, INPROGRESS released", ""},
		{
			"an id that it was not given", reporting("m1", "m7"), []string{"m0", "m1", "m2"},
			"INPROGRESS released, INPROGRESS released, INPROGRESS released", "one that it was not given",
		},
		{
			"an empty id", reporting(""), []string{"m0", "m1", "m2"},
			"INPROGRESS released, INPROGRESS released, INPROGRESS released", "empty id",
		},
		{
			"the id of a twin that it was not given", reporting("twin"), []string{"m0", "m1", "m2"},
			"INPROGRESS released, INPROGRESS released, INPROGRESS released", "one that it was not given",
		},
		{"an error", func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return events.SQSEventResponse{}, errBank
		}, []string{"m0", "m1", "m2"}, "INPROGRESS released, INPROGRESS released, INPROGRESS released", "bank closed"},
		{"an error beside an answer", func(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
			response, _ := reporting("m1")(ctx, e)

			return response, errBank
		}, []string{"m0", "m1", "m2"}, "INPROGRESS released, INPROGRESS released, INPROGRESS released", "bank closed"},
		{"a permanent error", func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return events.SQSEventResponse{}, lambdawrap.Permanent(cause)
		}, []string{"m0", "m1", "m2"}, "FAILED, FAILED, FAILED", "no such account"},
		{"a panic", func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) { panic("nil map") },
			[]string{"m0", "m1", "m2"}, "INPROGRESS released, INPROGRESS released, INPROGRESS released", "handler panicked: nil map"},
		{"the end of its goroutine", func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			goexit()

			return events.SQSEventResponse{}, nil
		}, []string{"m0", "m1", "m2"}, "INPROGRESS released, INPROGRESS released, INPROGRESS released", "ended its goroutine"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			everyMode(t, func(l *lab) {
				var calls journal

				h := l.event(&calls, c.answer)
				event := numbered(3)
				event.Records = append(event.Records, batch("twin k1").Records...)
				want := c.failed

				if slices.Contains(want, "m1") {
					want = append(slices.Clone(want), "twin") // answered as the one that was given
				}

				l.answered(h, event, want...)
				l.equal("calls", calls.all(), []string{"m0 m1 m2"})
				l.equal("records", strings.Join([]string{l.state("k0"), l.state("k1"), l.state("k2")}, ", "), c.states)

				if !strings.Contains(l.log.String(), c.log) || (c.log == "" && c.failed == nil && l.log.Len() > 0) {
					l.Errorf("the log lacks %q: %s", c.log, l.log)
				}

				l.equal("lines", strings.Count(l.log.String(), "msg="), len(want))
				l.noRenewals()
			})
		})
	}
}

func TestBatchTellsTheHookOfEachMessage(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		var dead, calls journal

		l.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, err error) error {
			dead.add(m.MessageId)

			if m.MessageId == "m2" {
				return errors.New("queue gone")
			}

			if !errors.Is(err, errBank) && !errors.Is(err, idemddb.ErrFailed) {
				l.Errorf("got %v", err)
			}

			return nil
		}
		h := l.event(&calls, func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
			return events.SQSEventResponse{}, lambdawrap.Permanent(errBank)
		})
		l.answered(h, batch("m1 k1", "m2 k2", "m3 k1"), "m2")
		l.equal("dead letters", slices.Sorted(slices.Values(dead.all())), []string{"m1", "m2", "m3"})

		dead.clear()
		l.answered(h, batch("m1 k1", "m4 k2", "m3 k1"))
		l.equal("dead letters", slices.Sorted(slices.Values(dead.all())), []string{"m1", "m3", "m4"})
		l.equal("calls", calls.all(), []string{"m1 m2"})
	})
}

func TestBatchOfAFIFOQueueIsNotGivenWhatComesBehindAFailure(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		held, _, err := l.store.Claim(l.Context(), "a2", nil)
		l.equal("error", err, nil)

		var calls journal

		h := l.event(&calls, reporting("m4"))
		l.answered(h, batch("m1 a1 a", "m2 b1 b", "m3 a2 a", "m4 b2 b", "m5 a3 a", "m6 a4 a", "m7 b3 b", "m8 a1 a"),
			"m3", "m4", "m5", "m6", "m8")
		l.equal("calls", calls.all(), []string{"m1 m2 m4 m7"}) // what becomes of m7, behind a failure of its own, the handler says

		for _, key := range []string{"a3", "a4"} {
			l.equal(key, l.state(key), "INPROGRESS released")
			l.equal("attempts of "+key, l.attempts(key), "0")
		}

		l.equal("log", strings.Count(l.log.String(), "an earlier message of its group failed"), 3)

		for _, id := range []string{"m3", "m4", "m5", "m6", "m8"} {
			l.equal("lines for "+id, strings.Count(l.log.String(), "messageId="+id+" "), 1)
		}

		l.equal("error", held.Release(l.Context(), nil), nil)

		calls.clear()
		l.answered(l.event(&calls, reporting()), batch("m3 a2 a", "m4 b2 b", "m5 a3 a", "m6 a4 a", "m8 a1 a"))
		l.equal("calls", calls.all(), []string{"m3 m4 m5 m6"})
	})
}

// Two groups share a key: each message has one answer and one line.
func TestBatchAnswersATwinInAnotherGroupOnce(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		_, _, err := l.store.Claim(l.Context(), "y", nil)
		l.equal("error", err, nil)

		var calls journal

		hidden := l.hiding(nil)
		h := l.event(&calls, reporting("m1"))
		l.answered(h, deliveredFor(batch("m1 x a", "m2 y b", "m3 x b"), 1), "m1", "m2", "m3")
		l.equal("calls", calls.all(), []string{"m1"})

		for _, id := range []string{"m1", "m2", "m3"} {
			l.equal("lines for "+id, strings.Count(l.log.String(), "messageId="+id+" "), 1)
			l.equal("hidden "+id, len(hidden.of(id)), 1)
		}
	})
}

// What one group waits for in another is not known before the handler has ended.
func TestBatchIsNotGivenWhatComesBehindATwinInAnotherGroup(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		var calls journal

		h := l.event(&calls, reporting("m1"))
		l.answered(h, batch("m1 x a", "m2 x b", "m3 y b", "m4 z c"), "m1", "m2", "m3")
		l.equal("calls", calls.all(), []string{"m1 m4"})
		calls.clear()
		l.answered(l.event(&calls, reporting()), batch("m1 x a"))
		l.answered(l.event(&calls, reporting()), batch("m2 x b", "m3 y b"))
		l.equal("calls", calls.all(), []string{"m1", "m3"})
	})
}

func TestBatchAnswersForTheTwinsOfWhatItGaveBack(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		_, _, err := l.store.Claim(l.Context(), "held", nil)
		l.equal("error", err, nil)

		var calls journal

		h := l.event(&calls, reporting())
		l.answered(h, batch("m1 held b", "m2 x b", "m3 x a", "m4 z c"), "m1", "m2", "m3")
		l.equal("calls", calls.all(), []string{"m4"})

		for _, id := range []string{"m1", "m2", "m3"} {
			l.equal("lines for "+id, strings.Count(l.log.String(), "messageId="+id+" "), 1)
		}
	})
}

func TestBatchIsNotGivenAClaimThatWasLostBefore(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		dead, _, err := l.store.Claim(l.Context(), "dead", nil)
		l.equal("error", errors.Join(err, dead.Fail(l.Context(), nil)), nil)

		ahead := l.open(l.db, &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
		l.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error {
			_, _, err := ahead.Claim(ctx, "k2", nil)
			pass(20 * time.Second) // longer than half a lease

			return err
		}

		var calls journal

		h := l.event(&calls, reporting())
		l.answered(h, batch("m1 dead a", "m2 k2 b", "m3 k3 c"), "m2")
		l.equal("calls", calls.all(), []string{"m3"})
		l.equal("k2", l.state("k2"), "INPROGRESS")
	})
}

func TestBatchKeepsItsLeasesAndEndsWithTheLastClaim(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name string
		head string // in the way of k4 on a FIFO queue
		lost []string
		ends bool
	}{
		{"none is lost", "", nil, false},
		{"some are lost", "", []string{"k0", "k2"}, false},
		{"all are lost", "", []string{"k0", "k1", "k2"}, true},
		{"all that it was given are lost", "held", []string{"k0", "k1", "k2"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(l *lab) {
				event := batch("m0 k0 a", "m1 k1 b", "m2 k2 c")

				if c.head != "" {
					_, _, err := l.store.Claim(l.Context(), c.head, nil)
					l.equal("error", err, nil)

					event.Records = append(event.Records, batch("head held d", "behind k4 d").Records...)
				}

				ahead := l.open(l.db, &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})

				var calls journal

				h := l.event(&calls, func(ctx context.Context, _ events.SQSEvent) (events.SQSEventResponse, error) {
					for _, key := range c.lost {
						_, _, err := ahead.Claim(ctx, key, nil)
						l.equal("error", err, nil)
					}

					for range 10 {
						pass(10 * time.Second)

						for _, key := range []string{"k0", "k1", "k2"} {
							if _, _, err := l.store.Claim(context.WithoutCancel(ctx), key, nil); !errors.Is(err, idemddb.ErrInProgress) {
								t.Errorf("%s: got %v, want in progress", key, err)
							}
						}
					}

					l.equal("cancelled", ctx.Err() != nil, c.ends)
					l.equal("because it is fenced", errors.Is(context.Cause(ctx), idemddb.ErrFenced), c.ends)

					_, claimed := idemddb.FromContext(ctx)
					l.equal("a claim", claimed, false)

					return events.SQSEventResponse{}, nil
				})

				response, err := h(l.Context(), event)
				l.equal("error", err, nil)
				l.equal("calls", calls.all(), []string{"m0 m1 m2"})

				for i, key := range []string{"k0", "k1", "k2"} {
					if lost := slices.Contains(c.lost, key); lost != slices.Contains(ids(response), fmt.Sprint("m", i)) {
						t.Errorf("lost: %v, failed: %v", c.lost, ids(response))
					}
				}
			})
		})
	}
}

func TestADeafBatchHandlerIsAnsweredForInTime(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		var calls journal

		done, _, err := l.store.Claim(l.Context(), "k1", nil)
		l.equal("error", errors.Join(err, done.Complete(l.Context(), nil)), nil)

		h := l.event(&calls, func(ctx context.Context, _ events.SQSEvent) (events.SQSEventResponse, error) {
			<-ctx.Done()
			pass(time.Minute)

			return events.SQSEventResponse{}, nil // too late
		})

		ctx, cancel := context.WithTimeout(l.Context(), 20*time.Second)
		defer cancel()

		response, err := h(ctx, numbered(4))
		l.equal("error", err, nil)
		l.equal("in time", ctx.Err(), nil)
		l.equal("failed", ids(response), []string{"m0", "m2", "m3"})

		pass(5 * time.Minute)

		for _, key := range []string{"k0", "k2", "k3"} {
			l.equal("left to its lease", l.state(key), "INPROGRESS")
		}

		calls.clear()
		l.answered(l.event(&calls, reporting()), numbered(4))
		l.equal("calls", calls.all(), []string{"m0 m2 m3"})
	})
}

func TestBatchClaimsThatComeTooLateAreGivenBackUncounted(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		slow := true
		l.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
			if slow {
				slow = false
				pass(1100 * time.Millisecond)
			}

			return idemddbtest.None
		})

		var calls journal

		h := l.event(&calls, reporting())

		ctx, cancel := context.WithTimeout(l.Context(), 2*time.Second)
		defer cancel()

		response, err := h(ctx, batch("m0 k0"))
		l.equal("error", err, nil)
		l.equal("in time", ctx.Err(), nil)
		l.equal("failed", ids(response), []string{"m0"})
		l.equal("calls", len(calls.all()), 0)

		slow = false

		pass(time.Minute)
		l.answered(h, numbered(3))
		l.equal("calls", calls.all(), []string{"m0 m1 m2"})
	})
}

func TestABatchHandlerIsNotCalledInTheReserve(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		claim, _, err := l.store.Claim(l.Context(), "dead", nil)
		l.equal("error", errors.Join(err, claim.Fail(l.Context(), nil)), nil)

		l.opts.DeadLetter = func(ctx context.Context, _ events.SQSMessage, _ error) error {
			<-ctx.Done() // it takes all the time for the work

			return ctx.Err()
		}

		var calls journal

		ctx, cancel := context.WithTimeout(l.Context(), 10*time.Second)
		defer cancel()

		response, err := l.event(&calls, reporting())(ctx, batch("m1 dead a", "m2 k2 b", "m3 k3 a"))
		l.equal("error", err, nil)
		l.equal("in time", ctx.Err(), nil)
		l.equal("failed", ids(response), []string{"m1", "m2", "m3"})
		l.equal("calls", calls.all(), []string(nil))

		for _, key := range []string{"k2", "k3"} {
			l.equal(key, l.state(key), "INPROGRESS released")
			l.equal("attempts", l.attempts(key), "0")
		}
	})
}

func TestBatchWithNoTimeLeftClaimsNothing(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		var calls journal

		ctx, cancel := context.WithTimeout(l.Context(), 900*time.Millisecond)
		defer cancel()

		response, err := l.event(&calls, reporting())(ctx, numbered(3))
		l.equal("error", err, nil)
		l.equal("failed", ids(response), []string{"m0", "m1", "m2"})
		l.equal("calls", len(calls.all()), 0)
		l.equal("requests", len(l.db.Requests()), 0)
	})
}

func TestBatchOfMoreThanOneGroupIsOneCall(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		var calls journal

		h := l.event(&calls, reporting("m3", "m77"))
		l.answered(h, numbered(80), "m3", "m77")
		l.equal("calls", calls.all(), []string{strings.Join(l.runsOf(80), " ")})
		l.answered(h, numbered(80), "m3", "m77")
		l.equal("calls", calls.all()[1:], []string{"m3 m77"})
	})
}

func TestBatchRefusesNilAndNegativeOptions(t *testing.T) {
	t.Parallel()

	l := newLab(t, nil)

	for name, wrap := range map[string]func(){
		"store":   func() { lambdawrap.Batch(nil, reporting(), nil) },
		"handler": func() { lambdawrap.Batch(l.store, nil, nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			wrap()
		}()
	}

	for field, opts := range map[string]*lambdawrap.Options{
		"Options.Reserve": {Reserve: -1}, "Options.Workers": {Workers: -1},
	} {
		l.opts = opts

		var calls journal

		_, err := l.event(&calls, reporting())(t.Context(), batch("m1 k1"))
		if err == nil || !strings.Contains(err.Error(), field) || len(calls.all()) != 0 {
			t.Errorf("got %v, want an error that names %s", err, field)
		}
	}
}
