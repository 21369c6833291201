package delivery_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/record"
)

// answering returns targets whose sender takes this long for a message, by its body; 0 for none, and hang for ever.
func answering(took map[string]time.Duration) *delivery.Targets {
	return &delivery.Targets{Now: time.Now, Sender: func(ctx context.Context, _ string, ms []delivery.Message) []error {
		select {
		case <-time.After(took[ms[0].Body]):
			return make([]error, len(ms))
		case <-ctx.Done():
			return slices.Repeat([]error{ctx.Err()}, len(ms))
		}
	}}
}

const hang = time.Hour

func send(ctx context.Context, targets *delivery.Targets, body string) error {
	return targets.Send(ctx, "tx", []record.Message{{Content: record.Content{To: "bank", Body: body}}})[0]
}

// isAsked demands whether a message is sent at once or refused because the target hangs.
func isAsked(t *testing.T, targets *delivery.Targets, want bool) {
	t.Helper()

	begun := time.Now()
	if err := send(t.Context(), targets, "quick"); (err == nil) != want || time.Since(begun) > time.Second {
		t.Errorf("after %v: got %v, want the target to be asked: %v", time.Since(begun), err, want)
	}
}

// One sending that is slow is not a target that hangs, while others are answered: messages would be left for 10 s because of it.
func TestATargetIsAskedOnWhenOneSendingOfManyIsSlow(t *testing.T) {
	t.Parallel()

	for name, other := range map[string]struct {
		body  string
		after time.Duration
	}{
		"another is answered after it began": {"quick", time.Second},
		"another is answered when it ends":   {"quick", 2*time.Second - 11*time.Millisecond},
		"another is answered behind its end": {"late", time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				targets := answering(map[string]time.Duration{"slow": hang, "late": 1500 * time.Millisecond, "quick": time.Millisecond})

				var all sync.WaitGroup

				all.Go(func() {
					<-time.After(other.after - time.Microsecond)

					if err := send(t.Context(), targets, other.body); err != nil {
						t.Error(err)
					}
				})

				if err := send(t.Context(), targets, "slow"); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v", err)
				}

				all.Wait()
				isAsked(t, targets, true)
			})
		})
	}
}

// A target that is down keeps nobody waiting for 2 s each time.
func TestATargetThatHangsIsNotAskedForAWhile(t *testing.T) {
	t.Parallel()

	for name, before := range map[string]func(ctx context.Context, targets *delivery.Targets){
		"nobody has sent": func(context.Context, *delivery.Targets) {},
		"it answered before": func(ctx context.Context, targets *delivery.Targets) {
			_ = send(ctx, targets, "quick")
		},
		"another sending ended with its invocation": func(ctx context.Context, targets *delivery.Targets) {
			go func() {
				short, cancel := context.WithTimeout(ctx, time.Second)
				defer cancel()

				_ = send(short, targets, "hangs")
			}()
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				targets := answering(map[string]time.Duration{"hangs": hang})
				before(t.Context(), targets)

				_ = send(t.Context(), targets, "hangs")

				isAsked(t, targets, false)
				<-time.After(10*time.Second - time.Millisecond)
				isAsked(t, targets, false)
				<-time.After(time.Millisecond)
				isAsked(t, targets, true)
			})
		})
	}
}

// A Sender that does not return when its context ends would hold the answer of its invocation, and of each later one that finds
// the message.
func TestASenderThatDoesNotReturnHoldsNobody(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		end := make(chan struct{})
		defer close(end)

		targets := &delivery.Targets{Now: time.Now, Sender: func(context.Context, string, []delivery.Message) []error {
			<-end

			return []error{nil}
		}}

		begun := time.Now()
		if err := send(t.Context(), targets, "b"); err == nil || time.Since(begun) != 2*time.Second+100*time.Millisecond {
			t.Errorf("got %v after %v, want an error after 2.1 s", err, time.Since(begun))
		}

		isAsked(t, targets, false)
	})
}

func TestOtherTargetsAreAskedWhileOneHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		targets := answering(map[string]time.Duration{"hangs": hang})
		_ = send(t.Context(), targets, "hangs")

		answers := targets.Send(t.Context(), "tx", []record.Message{
			{Content: record.Content{To: "bank", Body: "b"}}, {Content: record.Content{To: "receipts", Body: "b"}},
		})
		if answers[0] == nil || !strings.Contains(answers[0].Error(), "did not answer in time") || answers[1] != nil {
			t.Errorf("got %v", answers)
		}
	})
}
