package lambdawrap

import (
	"context"
	"errors"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/schedule"
)

// The end of the search and the answer of a function that ends with its context race. The word is no_time, whichever is first.
func TestAFunctionThatEndsWithTheTimeForKeysHasNoKeyInTime(t *testing.T) {
	t.Parallel()

	for name, find := range map[string]func(*search, *message, context.CancelFunc){
		"a key function": func(_ *search, m *message, stop context.CancelFunc) {
			m.find = func(ctx context.Context) (schedule.Work, error) {
				stop()

				return schedule.Work{}, ctx.Err()
			}
		},
		"an envelope": func(s *search, _ *message, stop context.CancelFunc) {
			s.opts.Envelope = func(ctx context.Context, _ events.SQSMessage) ([]Enveloped, error) {
				stop()

				return nil, ctx.Err()
			}
		},
		"a context, so that the key function is not called": func(_ *search, m *message, stop context.CancelFunc) {
			stop()

			m.find = func(context.Context) (schedule.Work, error) { return schedule.Work{}, errors.New("called") }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			m := &message{}
			s := (&invocation{wrapper: &wrapper{}}).newSearch([]*message{m}, 0)
			starting, stop := context.WithCancel(t.Context())

			find(s, m, stop)
			s.find(starting, m)

			if m.noKey != errNoKeyInTime {
				t.Errorf("got %v, want %v", m.noKey, errNoKeyInTime)
			}
		})
	}
}

func TestOnlyTheStateOfAnExecutionIsADurableInvocation(t *testing.T) {
	t.Parallel()

	for payload, want := range map[string]bool{
		`{"DurableExecutionArn":"arn","CheckpointToken":"t","InitialExecutionState":{"Operations":[]}}`: true,
		`{"DurableExecutionArn":"arn"}`: false, `{"CheckpointToken":"t"}`: false, `{"DurableExecutionArn":1,"CheckpointToken":"t"}`: false,
		`{}`: false, `[]`: false, `null`: false, ``: false, `{"DurableExecutionArn":"arn","CheckpointToken":"t"`: false,
	} {
		if got := isDurable([]byte(payload)); got != want {
			t.Errorf("%s: got %t", payload, got)
		}
	}
}
