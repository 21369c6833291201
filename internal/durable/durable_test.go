package durable_test

import (
	"context"
	"testing"

	"github.com/idemddb/go-idemddb/internal/durable"
)

type handlerContext struct{ context.Context }

func (handlerContext) ExecutionArn() string { return "arn:execution" }
func (handlerContext) IsReplaying() bool    { return true }

type stepContext struct{ context.Context }

func (stepContext) Attempt() int { return 1 }

func TestOnlyTheContextOfADurableHandlerIsOfAnExecution(t *testing.T) {
	t.Parallel()

	if arn, ok := durable.Execution(handlerContext{t.Context()}); arn != "arn:execution" || !ok {
		t.Errorf("got %q, %t", arn, ok)
	}

	for name, ctx := range map[string]context.Context{"a step": stepContext{t.Context()}, "a plain one": t.Context()} {
		if arn, ok := durable.Execution(ctx); arn != "" || ok {
			t.Errorf("%s: got %q, %t", name, arn, ok)
		}
	}
}

func TestOnlyTheStateOfAnExecutionIsADurableInvocation(t *testing.T) {
	t.Parallel()

	for payload, want := range map[string]bool{
		`{"DurableExecutionArn":"arn","CheckpointToken":"t","InitialExecutionState":{"Operations":[]}}`: true,
		`{"DurableExecutionArn":"arn"}`: false, `{"CheckpointToken":"t"}`: false, `{"DurableExecutionArn":1,"CheckpointToken":"t"}`: false,
		`{}`: false, `[]`: false, `null`: false, ``: false, `{"DurableExecutionArn":"arn","CheckpointToken":"t"`: false,
	} {
		if got := durable.IsInvocation([]byte(payload)); got != want {
			t.Errorf("%s: got %t", payload, got)
		}
	}
}
