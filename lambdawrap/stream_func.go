package lambdawrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
)

// StreamFunc is the wrapped function of a stream whose events have the type E. lambda.Start takes it, as it takes any function.
// It is a lambda.Handler, too, which sees members of an event that E does not have: an event of a tumbling window is refused.
type StreamFunc[E, R any] func(context.Context, E) (R, error)

var errWindow = errors.New("lambdawrap: the event belongs to a tumbling window, whose state the function does not hand on, and nothing ran; " +
	"set TumblingWindowInSeconds of the event source mapping to 0")

// Invoke reads an event, calls the function and writes its answer. It makes StreamFunc a lambda.Handler. An event of a tumbling
// window, or one that is not of the type E, is an error, and nothing ran. Any other error is that of the function.
func (f StreamFunc[E, R]) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	if isInWindow(payload) {
		return nil, errWindow
	}

	var event E
	if err := json.Unmarshal(payload, &event); err != nil {
		return nil, fmt.Errorf("lambdawrap: the event cannot be read: %w", err)
	}

	response, err := f(ctx, event)
	if err != nil {
		return nil, err
	}

	return json.Marshal(response) //nolint:wrapcheck // an answer of strings can always be written
}

// isInWindow reports whether an event says which tumbling window it belongs to. Most events do not have the name of that member
// anywhere, and are not read for it.
func isInWindow(payload []byte) bool {
	var event struct {
		Window any `json:"window"`
	}

	return bytes.Contains(payload, []byte(`"window"`)) && json.Unmarshal(payload, &event) == nil && event.Window != nil
}
