package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// hidingPlace is SQS, and notes for how long it was told to hide each message.
type hidingPlace struct {
	meet func(ctx context.Context, id string) error

	mu      sync.Mutex
	seconds map[string][]int32 // by message id
}

// hiding gives the lab's wrapper such a client; meet is what its calls meet, nil for success.
func (l *lab) hiding(meet func(ctx context.Context, id string) error) *hidingPlace {
	p := &hidingPlace{meet: meet, seconds: map[string][]int32{}}
	l.opts.Visibility = p

	return p
}

func (p *hidingPlace) ChangeMessageVisibility(
	ctx context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	id := strings.TrimPrefix(*in.ReceiptHandle, "receipt of ")

	p.mu.Lock()
	p.seconds[id] = append(p.seconds[id], in.VisibilityTimeout)
	p.mu.Unlock()

	if p.meet != nil {
		if err := p.meet(ctx, id); err != nil {
			return nil, err
		}
	}

	return &sqs.ChangeMessageVisibilityOutput{}, nil
}

func (p *hidingPlace) of(id string) []int32 {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.seconds[id]
}

// hidden demands that a message was hidden once, for so many seconds.
func (l *lab) hidden(p *hidingPlace, id string, from, to int32) {
	l.Helper()

	if got := p.of(id); len(got) != 1 || got[0] < from || got[0] > to {
		l.Errorf("%s is hidden for %v, want once, for %d to %d s", id, got, from, to)
	}
}

func TestAMessageInProgressElsewhereComesBackWhenTheLeaseIsOver(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		place := l.hiding(nil)
		_, _, err := l.store.Claim(l.Context(), "k1", nil) // for 30 s
		l.equal("error", err, nil)
		pass(10 * time.Second)

		l.check(wrap(succeed), deliveredFor(numbered(3), 4), []string{"m1"}, []string{"m0", "m2"})
		l.hidden(place, "m1", 23, 23) // 20 s, and the skew of both clocks, and over
		l.equal("others", len(place.seconds), 1)

		pass(23 * time.Second)
		l.check(wrap(succeed), deliveredFor(batch("m1 k1"), 5), nil, []string{"m1"})
	})
}

func TestAMessageThatFailedComesBackAfterAPauseByItsReceiveCount(t *testing.T) {
	t.Parallel()

	for count, pause := range map[int][2]int32{1: {1, 2}, 2: {2, 4}, 5: {16, 32}, 50: {450, 900}} {
		t.Run(strconv.Itoa(count), func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
				place := l.hiding(nil)
				l.opts.Key = func(m events.SQSMessage) (string, error) {
					if m.Body == "k2" {
						return "", lambdawrap.ErrNoKey
					}

					return m.Body, nil
				}
				l.check(wrap(failing(always(), "k0")), deliveredFor(numbered(3), count), []string{"m0", "m2"}, []string{"m0", "m1"})
				l.hidden(place, "m0", pause[0], pause[1])
				l.hidden(place, "m2", pause[0], pause[1])
				l.equal("others", len(place.seconds), 2)
			})
		})
	}
}

func TestWhatIsBlockedInAFIFOGroupComesBackWithItsHead(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		place := l.hiding(nil)
		_, _, err := l.store.Claim(l.Context(), "b1", nil)
		l.equal("error", err, nil)

		event := deliveredFor(batch("m1 a1 a", "m2 b1 b", "m3 a2 a", "m4 b2 b", "m5 a3 a", "m6 c1 c"), 10)
		event.Records[2].Attributes["ApproximateReceiveCount"] = "1"
		l.check(l.handle(failing(always(), "a1")), event, []string{"m1", "m2", "m3", "m4", "m5"}, []string{"m1", "m6"})

		l.hidden(place, "m1", 450, 900)
		head := place.of("m1")[0]
		l.hidden(place, "m3", head, head)
		l.hidden(place, "m5", head, head)
		l.hidden(place, "m2", 33, 33)
		l.hidden(place, "m4", 33, 33)
		l.equal("others", len(place.seconds), 5)

		// The same for a whole event, whose head is in progress.
		place = l.hiding(nil)
		l.check(l.whole(succeed), deliveredFor(batch("m2 b1 b", "m4 b2 b", "m6 c1 c"), 1), []string{"m2", "m4"}, nil)
		l.hidden(place, "m2", 33, 33)
		l.hidden(place, "m4", 33, 33)
	})
}

func TestALateHandlersMessageComesBackWhenItsOwnLeaseIsOver(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		place := l.hiding(nil)

		ctx, cancel := context.WithTimeout(l.Context(), 20*time.Second)
		defer cancel()

		response, err := wrap(func(context.Context, events.SQSMessage) error {
			pass(time.Minute)

			return nil
		})(ctx, deliveredFor(batch("m0 k0"), 1))
		l.equal("error", err, nil)
		l.equal("in time", ctx.Err(), nil)
		l.equal("failed", ids(response), []string{"m0"})
		l.hidden(place, "m0", 1, 4) // the lease ends with the work's time, and the answer leaves a moment later

		pass(time.Duration(place.of("m0")[0]) * time.Second)
		pass(time.Minute) // the handler ends, and its result is dropped
		l.check(wrap(succeed), deliveredFor(batch("m0 k0"), 2), nil, []string{"m0", "m0"}[1:])
	})
}

func TestWhatTheHookTakesIsNotHidden(t *testing.T) {
	t.Parallel()
	everyMode(t, func(l *lab) {
		place := l.hiding(nil)
		l.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
			if m.Body == "k1" {
				return errors.New("queue gone")
			}

			return nil
		}
		h := l.handle(func(_ context.Context, m events.SQSMessage) error {
			if m.Body == "k2" {
				return nil
			}

			return lambdawrap.Permanent(errBank)
		})

		for range 2 {
			l.answered(h, deliveredFor(numbered(3), 1), "m1")
		}

		l.equal("hidden", len(place.of("m1")), 2)
		l.equal("others", len(place.seconds), 1)
	})
}

func TestAVisibilityThatCanNotBeChangedIsOnlyLogged(t *testing.T) {
	t.Parallel()

	for name, meet := range map[string]func(context.Context, string) error{
		"error": func(context.Context, string) error { return errors.New("access denied") },
		"panic": func(context.Context, string) error { panic("access denied") },
		"exit":  func(context.Context, string) error { goexit(); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
				l.hiding(meet)
				_, _, err := l.store.Claim(l.Context(), "k1", nil)
				l.equal("error", err, nil)
				l.check(wrap(failing(always(), "k0")), deliveredFor(numbered(3), 1), []string{"m0", "m1"}, []string{"m0", "m2"})
				l.equal("lines", strings.Count(l.log.String(), "visibility time-out"), 2)
				l.equal("k2", l.state("k2"), "COMPLETED")
			})
		})
	}
}

// A request to SQS that hangs is for a message that has failed anyway: the others are worked on.
func TestAVisibilityThatHangsCostsTheOthersNothing(t *testing.T) {
	t.Parallel()

	for name, first := range map[string]string{
		"after a failure": "fails", "of a key in progress": "held", "of a key in progress, FIFO": "held a",
	} {
		for _, deaf := range []bool{false, true} {
			t.Run(fmt.Sprint(name, ", deaf: ", deaf), func(t *testing.T) {
				t.Parallel()
				everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
					l.hiding(func(ctx context.Context, _ string) error {
						if deaf {
							pass(2 * time.Minute)
						}

						<-ctx.Done()

						return ctx.Err()
					})

					_, _, err := l.store.Claim(l.Context(), "held", nil)
					l.equal("error", err, nil)

					ctx, cancel := context.WithTimeout(l.Context(), time.Minute)
					defer cancel()

					h := wrap(failing(always(), "fails"))
					texts := []string{"m0 " + first, "m1 k1", "m2 k2"}

					if strings.HasSuffix(first, " a") {
						texts[1] += " b"
						texts[2] += " c"
					}

					event := deliveredFor(batch(texts...), 1)
					response, err := h(ctx, event)
					l.equal("error", err, nil)
					l.equal("in time", ctx.Err(), nil)
					l.equal("failed", ids(response), []string{"m0"})
				})
			})
		}
	}
}

func TestCallsToSQSAreBoundedWhenAllComesBackAtOnce(t *testing.T) {
	t.Parallel()
	everyWay(t, func(l *lab, wrap func(lambdawrap.Handler) wrapped) {
		var running, most atomic.Int64

		place := l.hiding(func(context.Context, string) error {
			raise(&most, running.Add(1))
			defer running.Add(-1)

			pass(10 * time.Millisecond)

			return nil
		})

		ctx, cancel := context.WithTimeout(l.Context(), time.Second) // the reserve
		defer cancel()

		response, err := wrap(succeed)(ctx, deliveredFor(numbered(300), 1))
		l.equal("error", err, nil)
		l.equal("failed", len(response.BatchItemFailures), 300)
		l.equal("hidden", len(place.seconds), 300)

		if most.Load() > 110 {
			l.Errorf("%d calls at once", most.Load())
		}
	})
}

func TestSwitchedOffFailuresAreStillHidden(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Setenv("IDEMDDB_DISABLED", "1")

			l := newLab(t, &idemddb.Options{})
			place := l.hiding(nil)
			l.check(way.wrap(l, failing(always(), "k0")), deliveredFor(numbered(2), 1), []string{"m0"}, []string{"m0", "m1"})
			l.hidden(place, "m0", 1, 2)
			l.equal("others", len(place.seconds), 1)
		})
	}
}
