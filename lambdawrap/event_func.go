package lambdawrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// EventFunc is the wrapped function of [Func]. lambda.Start takes it, as it takes any function. It is a lambda.Handler, too,
// which sees what the input does not show: the array of a pipe and the invocation of a durable function are refused. The options
// of lambda.StartWithOptions that change how JSON is read or written have no effect on it.
type EventFunc[In, Out any] func(context.Context, In) (Out, error)

var (
	errArray = errors.New("lambdawrap: the payload is an array of records, as EventBridge Pipes sends it, and nothing ran: Func would put one key " +
		"on the whole of it; use Pipe with SQS, Kinesis or DynamoDBStream")
	errDurable = errors.New("lambdawrap: this is an invocation of a durable function, and nothing ran: its handler runs again with each invocation, " +
		"so it would find its own record; use idemddb.Do in a step, with DurableKey, or the idempotency key as the name of the execution")
)

// Invoke reads the input, calls the function and writes its result. It makes EventFunc a lambda.Handler. An array of records of
// an event source, an invocation of a durable function, and what is not of the type In are errors, and nothing ran. Any other
// error is that of the function; or the result cannot be written as JSON, which shows only after the work was done and its key
// completed.
func (f EventFunc[In, Out]) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	switch {
	case isOfPipe(payload):
		return nil, errArray
	case isDurable(payload):
		return nil, errDurable
	}

	var in In
	if err := json.Unmarshal(payload, &in); err != nil {
		return nil, fmt.Errorf("lambdawrap: the input cannot be read: %w", err)
	}

	out, err := f(ctx, in)
	if err != nil {
		return nil, err
	}

	var answer bytes.Buffer

	encoder := json.NewEncoder(&answer)
	encoder.SetEscapeHTML(false) // as lambda.Start writes results

	if err := encoder.Encode(out); err != nil {
		return nil, fmt.Errorf("lambdawrap: the result cannot be written: %w", err)
	}

	return bytes.TrimSuffix(answer.Bytes(), []byte("\n")), nil
}

// isOfPipe reports whether a payload is an array whose records name an event source.
func isOfPipe(payload []byte) bool {
	var records []struct {
		EventSource string `json:"eventSource"`
	}

	return isArray(payload) && json.Unmarshal(payload, &records) == nil && len(records) > 0 && records[0].EventSource != ""
}

// isDurable reports whether a payload is what Lambda sends to a durable function: the state of an execution around the event.
func isDurable(payload []byte) bool {
	var state struct {
		DurableExecutionArn string `json:"DurableExecutionArn"`
		CheckpointToken     string `json:"CheckpointToken"`
	}

	return bytes.Contains(payload, []byte("DurableExecutionArn")) && json.Unmarshal(payload, &state) == nil &&
		state.DurableExecutionArn != "" && state.CheckpointToken != ""
}
