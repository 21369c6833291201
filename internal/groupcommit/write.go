package groupcommit

import (
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/protocol"
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
	Read(answer protocol.Answer) (protocol.Step, error)
}

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
func (w *write) read(a protocol.Answer) (protocol.Step, error) {
	w.call.queue.mu.Lock()
	defer w.call.queue.mu.Unlock()

	if w.state == finished {
		return protocol.Done, nil
	}

	if a.Outcome == protocol.NotShared {
		return protocol.Single, nil
	}

	step, err := w.Read(a)
	if w.last = err; step == protocol.Done {
		w.state = kept
	}

	return step, err
}
