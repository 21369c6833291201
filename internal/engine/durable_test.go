package engine_test

import (
	"context"
	"testing"

	"github.com/idemddb/go-idemddb/internal/engine"
)

type handlerContext struct{ context.Context }

func (handlerContext) ExecutionArn() string { return "arn:execution" }
func (handlerContext) IsReplaying() bool    { return true }

type stepContext struct{ context.Context }

func (stepContext) Attempt() int { return 1 }

func TestOnlyTheContextOfADurableHandlerIsOfAnExecution(t *testing.T) {
	t.Parallel()

	if arn, ok := engine.DurableExecution(handlerContext{t.Context()}); arn != "arn:execution" || !ok {
		t.Errorf("got %q, %t", arn, ok)
	}

	for name, ctx := range map[string]context.Context{"a step": stepContext{t.Context()}, "a plain one": t.Context()} {
		if arn, ok := engine.DurableExecution(ctx); arn != "" || ok {
			t.Errorf("%s: got %q, %t", name, arn, ok)
		}
	}
}
