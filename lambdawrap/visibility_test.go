package lambdawrap_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
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
func (h *harness) hiding(meet func(ctx context.Context, id string) error) *hidingPlace {
	p := &hidingPlace{meet: meet, seconds: map[string][]int32{}}
	h.opts.Visibility = p

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
func (h *harness) hidden(p *hidingPlace, id string, from, to int32) {
	h.Helper()

	if got := p.of(id); len(got) != 1 || got[0] < from || got[0] > to {
		h.Errorf("%s is hidden for %v, want once, for %d to %d s", id, got, from, to)
	}
}

func TestAMessageInProgressElsewhereComesBackWhenTheLeaseIsOver(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		place := h.hiding(nil)
		_, _, err := h.store.Claim(h.Context(), "k1", nil) // for 30 s
		h.equal("error", err, nil)
		time.Sleep(10 * time.Second)

		h.check(wrap(succeed), deliveredFor(numbered(3), 4), []string{"m1"}, []string{"m0", "m2"})
		h.hidden(place, "m1", 23, 23) // 20 s, and the skew of both clocks, and over
		h.equal("others", len(place.seconds), 1)

		time.Sleep(23 * time.Second)
		h.check(wrap(succeed), deliveredFor(batch("m1 k1"), 5), nil, []string{"m1"})
	})
}

func TestAMessageThatFailedComesBackAfterAPauseByItsReceiveCount(t *testing.T) {
	t.Parallel()

	for count, pause := range map[int][2]int32{1: {1, 2}, 2: {2, 4}, 5: {16, 32}, 50: {450, 900}} {
		t.Run(strconv.Itoa(count), func(t *testing.T) {
			t.Parallel()
			everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
				place := h.hiding(nil)
				h.opts.Key = func(m events.SQSMessage) (string, error) {
					if m.Body == "k2" {
						return "", lambdawrap.ErrNoKey
					}

					return m.Body, nil
				}
				h.check(wrap(failing(always(), "k0")), deliveredFor(numbered(3), count), []string{"m0", "m2"}, []string{"m0", "m1"})
				h.hidden(place, "m0", pause[0], pause[1])
				h.hidden(place, "m2", pause[0], pause[1])
				h.equal("others", len(place.seconds), 2)
			})
		})
	}
}

func TestWhatIsBlockedInAFIFOGroupComesBackWithItsHead(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		place := h.hiding(nil)
		_, _, err := h.store.Claim(h.Context(), "b1", nil)
		h.equal("error", err, nil)

		event := deliveredFor(batch("m1 a1 a", "m2 b1 b", "m3 a2 a", "m4 b2 b", "m5 a3 a", "m6 c1 c"), 10)
		event.Records[2].Attributes["ApproximateReceiveCount"] = "1"
		h.check(h.handle(failing(always(), "a1")), event, []string{"m1", "m2", "m3", "m4", "m5"}, []string{"m1", "m6"})

		h.hidden(place, "m1", 450, 900)
		head := place.of("m1")[0]
		h.hidden(place, "m3", head, head)
		h.hidden(place, "m5", head, head)
		h.hidden(place, "m2", 33, 33)
		h.hidden(place, "m4", 33, 33)
		h.equal("others", len(place.seconds), 5)

		// The same for a whole event, whose head is in progress.
		place = h.hiding(nil)
		h.check(h.whole(succeed), deliveredFor(batch("m2 b1 b", "m4 b2 b", "m6 c1 c"), 1), []string{"m2", "m4"}, nil)
		h.hidden(place, "m2", 33, 33)
		h.hidden(place, "m4", 33, 33)
	})
}

func TestALateHandlersMessageComesBackWhenItsOwnLeaseIsOver(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		place := h.hiding(nil)

		ctx, cancel := context.WithTimeout(h.Context(), 20*time.Second)
		defer cancel()

		response, err := wrap(func(context.Context, events.SQSMessage) error {
			time.Sleep(time.Minute)

			return nil
		})(ctx, deliveredFor(batch("m0 k0"), 1))
		h.equal("error", err, nil)
		h.equal("in time", ctx.Err(), nil)
		h.equal("failed", ids(response), []string{"m0"})
		h.hidden(place, "m0", 1, 4) // the lease ends with the work's time, and the answer leaves a moment later

		time.Sleep(time.Duration(place.of("m0")[0]) * time.Second)
		time.Sleep(time.Minute) // the handler ends, and its result is dropped
		h.check(wrap(succeed), deliveredFor(batch("m0 k0"), 2), nil, []string{"m0", "m0"}[1:])
	})
}

func TestWhatTheHookTakesIsNotHidden(t *testing.T) {
	t.Parallel()
	everyMode(t, func(h *harness) {
		place := h.hiding(nil)
		h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, _ error) error {
			if m.Body == "k1" {
				return errors.New("queue gone")
			}

			return nil
		}
		function := h.handle(func(_ context.Context, m events.SQSMessage) error {
			if m.Body == "k2" {
				return nil
			}

			return lambdawrap.Permanent(errBank)
		})

		for range 2 {
			h.answered(function, deliveredFor(numbered(3), 1), "m1")
		}

		h.equal("hidden", len(place.of("m1")), 2)
		h.equal("others", len(place.seconds), 1)
	})
}

func TestSwitchedOffFailuresAreStillHidden(t *testing.T) {
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Setenv("IDEMDDB_DISABLED", "1")

			h := newHarness(t, &idemddb.Options{})
			place := h.hiding(nil)
			h.check(way.wrap(h, failing(always(), "k0")), deliveredFor(numbered(2), 1), []string{"m0"}, []string{"m0", "m1"})
			h.hidden(place, "m0", 1, 2)
			h.equal("others", len(place.seconds), 1)
		})
	}
}
