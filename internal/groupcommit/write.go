package groupcommit

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/retry"
)

// Write is one conditional write on one item, with all of its tries.
type Write struct {
	Request

	Key     string // of the item
	Policy  retry.Policy
	OnRetry func() // called before each further try
}

// Request makes the tries of a write that can share requests. Only one goroutine at a time calls its methods.
type Request interface {
	SingleRequest

	// Statement returns the next try as a statement of a shared request.
	Statement() types.BatchStatementRequest
}

// SingleRequest makes the tries of a write by requests of its own.
type SingleRequest interface {
	// Input returns the next try as a request of its own.
	Input() *dynamodb.UpdateItemInput

	// Read takes the answer to the last try and keeps what follows from it. The error, if any, is the reason of the step. Read is not
	// called any more when Send has returned. It must not use the Queue, which is locked meanwhile.
	Read(answer Answer) (Step, error)
}

// Answer is the answer to one try of a write.
type Answer struct {
	Item   map[string]types.AttributeValue // as it is now, for an UpdateItem; as it was before, for a statement that returns it
	Err    error                           // what an UpdateItem would have answered
	Shared bool                            // it was a statement of a shared request
}

// Single makes one try of a write by a request of its own.
func Single(ctx context.Context, api SingleAPI, r SingleRequest, opts ...func(*dynamodb.Options)) Answer {
	out, err := api.UpdateItem(ctx, r.Input(), opts...)
	if err != nil || out == nil {
		return Answer{Err: err}
	}

	return Answer{Item: out.Attributes}
}

// Step is what an answer asks for.
type Step int

// The steps.
const (
	Answered   Step = iota // nothing: the write has its answer
	SendOther              // the other statement, at once
	SendAgain              // the same once more, after a pause, unless the error is final
	SendSingle             // a request of its own
)

// errAlone is the answer to a write that must be sent by a request of its own.
var errAlone = errors.New("must be sent by a request of its own")

// write is one write in a Queue. The mutex of the Queue guards what changes.
type write struct {
	Write

	answer chan error // buffered, and gets one value: nobody waits for a writer
	call   *call      // nil while the write waits in the queue
	state  state
	last   error // the answer to the last try
}

type state int

const (
	pending  state = iota // the write has no answer
	kept                  // Read has kept its answer, which the writer gets soon
	finished              // its writer has the answer, or has left: a late one must not change what the writer looks at
)

// read takes an answer, unless the write has one.
func (w *write) read(a Answer) (Step, error) {
	w.call.queue.mu.Lock()
	defer w.call.queue.mu.Unlock()

	if w.state == finished {
		return Answered, nil
	}

	if errors.Is(a.Err, errAlone) {
		return SendSingle, nil
	}

	step, err := w.Read(a)
	if w.last = err; step == Answered {
		w.state = kept
	}

	return step, err
}
