// Package durable recognises the invocations of a durable function of Lambda, which is replayed by design: its handler runs again
// from the beginning with each invocation, and its steps answer from their checkpoints.
package durable

import (
	"bytes"
	"context"
	"encoding/json"
)

// Execution returns the ARN of the durable execution whose handler has this context. The context of a step is none of these,
// because a step runs code that is not replayed; neither is one that was derived from the handler's.
func Execution(ctx context.Context) (arn string, isDurable bool) {
	d, isDurable := ctx.(interface { // as the contexts of AWS' SDK for durable executions
		ExecutionArn() string
		IsReplaying() bool
	})
	if !isDurable {
		return "", false
	}

	return d.ExecutionArn(), true
}

// IsInvocation reports whether a payload is what Lambda sends to a durable function: the state of an execution around the event.
func IsInvocation(payload []byte) bool {
	var state struct {
		DurableExecutionArn string `json:"DurableExecutionArn"`
		CheckpointToken     string `json:"CheckpointToken"`
	}

	return bytes.Contains(payload, []byte("DurableExecutionArn")) && json.Unmarshal(payload, &state) == nil &&
		state.DurableExecutionArn != "" && state.CheckpointToken != ""
}
