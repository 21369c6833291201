package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// maxWrong is how many times in a row a request may be answered with another number of answers than statements: such a backend
// does not support shared requests.
const maxWrong = 3

// theClient is who panicked, in the text of a panic of the client.
const theClient = "idemddb: the client"

// ErrExited is the failure of a client that has ended the goroutine of a request.
var ErrExited error = &panicerror.Error{Who: theClient, Value: errors.New("idemddb: the client ended its goroutine (runtime.Goexit)")}

// shared is a flight of several writes.
type shared struct {
	engine *Engine
	flight *planner.Flight
	cancel context.CancelFunc
	done   chan struct{} // closed when its request has ended

	calls   []*Call          // of the writes of the flight; nil for one whose caller had left before it was sent
	sent    []*Call          // of these, in the order of the request
	answers []planner.Answer // to the writes of the flight
	errs    []error

	// One of the two is what was sent.
	statements  []types.BatchStatementRequest
	transaction *transaction
}

// start sends a shared flight in a goroutine of its own. It is called with e.mu held.
func (e *Engine) start(f *planner.Flight) {
	ctx, cancel := context.WithTimeout(context.Background(), f.Limit) // no caller's values travel with the writes of another

	s := &shared{engine: e, flight: f, cancel: cancel, done: make(chan struct{})}

	if before := sharedOf(f); before != nil {
		s.transaction = before.transaction
	}

	f.Handle = s
	s.seat()

	for _, c := range s.calls {
		c.shared = s
	}

	go s.run(ctx)
}

// seat lists the calls of the flight. It is called with the mutex of the Engine held.
func (s *shared) seat() {
	n := len(s.flight.Writes)
	s.calls, s.answers, s.errs = make([]*Call, n), slices.Repeat([]planner.Answer{planner.AloneNow}, n), make([]error, n)

	for i, w := range s.flight.Writes {
		s.calls[i] = callOf(w)
	}
}

// sharedOf returns the flight as it was started; nil for a flight of one write.
func sharedOf(f *planner.Flight) *shared {
	s, _ := f.Handle.(*shared)

	return s
}

// run sends the request, once. If the client panics or ends the goroutine, nobody knows what was written. Then, and if user code
// panics while it builds a statement, each write is sent alone, and a panic there reaches its caller.
func (s *shared) run(ctx context.Context) {
	isSent, isRead := false, false

	defer func() {
		if err := panicked(recover()); isSent && !isRead {
			s.readLost(err)
		}

		s.engine.land(s.flight, s.answers, s.errs)
		s.cancel()
		close(s.done)
	}()

	if s.flight.ReadsFirst {
		s.readFirst(ctx)
	}

	if s.board(); len(s.sent) == 0 {
		return // callers have left, or have their answers
	}

	isSent = true
	s.read(s.send(ctx))
	isRead = true
}

// send sends the request, and returns the function that reads the answer to a write.
func (s *shared) send(ctx context.Context) func(at int, c *Call) (planner.Answer, error) {
	if s.transaction != nil {
		return s.transaction.send(ctx, s.engine, s.flight).read
	}

	answer := wire.Statements(ctx, s.engine.Shared, s.statements, s.engine.Options...)
	answers := s.judge(&answer)

	return func(at int, c *Call) (planner.Answer, error) { return c.read(answers[at]) }
}

// panicked returns the error for a recovered panic, or for a goroutine that was ended.
func panicked(v any) error {
	if v == nil {
		return ErrExited
	}

	return panicerror.New(theClient, v)
}

// board builds the request of the writes whose callers still wait. A transaction that is sent once more is as it was: if one of
// its callers has left, it is not sent, and the others leave with the next flight.
func (s *shared) board() {
	s.take()
	defer s.engine.change(s.setFree)

	switch {
	case len(s.sent) == 0:
	case s.transaction != nil:
		if s.sent = s.transaction.calls; !s.isComplete() {
			s.sent, s.answers = nil, slices.Repeat([]planner.Answer{planner.AtOnce}, len(s.answers))
		}
	case s.sent[0].joiner != nil:
		s.transaction = newTransaction(s.sent)
		s.sent = s.transaction.calls // those that are left out travel alone
	default:
		for _, c := range s.sent {
			s.statements = append(s.statements, c.sharer.Statement())
		}
	}
}

// take notes whose callers still wait, and keeps these from leaving until setFree. The list is a new one each time, because that
// of looks must keep the order of its statements.
func (s *shared) take() {
	s.engine.change(func() {
		s.sent = nil

		for i, c := range s.calls {
			if s.calls[i] = nil; c != nil && !c.isOver {
				s.calls[i], s.sent, c.busy = c, append(s.sent, c), true
			}
		}
	})
}

// isComplete reports whether the callers of all that is sent still wait.
func (s *shared) isComplete() bool {
	return !slices.ContainsFunc(s.sent, func(c *Call) bool { return !slices.Contains(s.calls, c) })
}

// setFree ends what take began: a caller may leave again, because its operation is no longer used. It is called with the mutex of
// the Engine held.
func (s *shared) setFree() {
	for _, c := range s.calls {
		if c != nil {
			c.busy = false
		}
	}

	s.engine.unbusy.Broadcast()
}

// judge returns the answer to each statement, in their order. It notes what the request as a whole says of shared requests.
func (s *shared) judge(shared *wire.Shared) []protocol.Answer {
	outcome, denied := wire.OutcomeOf(shared.Err), shared.Denied

	if s.engine.isWrong(s.flight, shared.Err) {
		denied = shared.Err // what is sent again travels alone
	}

	if denied != nil {
		s.engine.change(func() { s.deny(denied) })
	}

	if shared.Err == nil {
		return shared.Answers
	}

	if !wire.IsTransient(shared.Err) {
		outcome = protocol.NotShared
	}

	return slices.Repeat([]protocol.Answer{{Outcome: outcome, Err: shared.Err}}, len(s.sent))
}

// isWrong notes whether a shared request was processed. It returns true if the number of answers was wrong too often in a row.
func (e *Engine) isWrong(f *planner.Flight, err error) bool {
	hasWrongCount := errors.Is(err, wire.ErrCount) // without the mutex: an error of the client may be code of the user

	e.mu.Lock()
	defer e.mu.Unlock()

	switch {
	case err == nil:
		e.wrong = 0
		f.IsAnswered = true
		e.planner.Processed(f)
	case hasWrongCount:
		e.wrong++
	}

	return e.wrong == maxWrong
}

// deny turns shared requests off for a while. The goroutine of one caller passes the reason to Config.Unshared. deny is called
// with the mutex of the Engine held.
func (s *shared) deny(err error) {
	s.engine.wrong = 0

	if s.engine.planner.Deny(time.Now()) {
		s.reportOne(report{to: s.engine.Unshared, err: err})
	}
}

// reportOne gives one of the callers a report. It is called with the mutex of the Engine held.
func (s *shared) reportOne(r report) {
	for _, c := range s.calls {
		if c != nil && !c.isOver {
			c.reports = append(c.reports, r)

			return
		}
	}
}

// read gives the answers to the operations whose callers still wait.
func (s *shared) read(read func(at int, c *Call) (planner.Answer, error)) {
	s.engine.change(func() {
		for _, c := range s.calls {
			if c != nil {
				c.busy = !c.isOver
			}
		}
	})

	for at, c := range s.sent {
		if i := slices.Index(s.calls, c); c.busy {
			s.answers[i], s.errs[i] = read(at, c)
		}
	}
}

// readLost gives each operation the outcome Unknown, and each caller the cause.
func (s *shared) readLost(err error) {
	s.read(func(_ int, c *Call) (planner.Answer, error) {
		return c.read(protocol.Answer{Outcome: protocol.Unknown, Err: err})
	})

	s.engine.change(func() {
		for i, c := range s.calls {
			if s.answers[i] = planner.AloneNow; c != nil && c.busy {
				c.reports = append(c.reports, report{to: s.engine.Retried, err: err, isRetry: true})
			}
		}
	})
}

// read gives an answer to the operation. If the code of the user panics there, the write goes on alone.
func (c *Call) read(a protocol.Answer) (planner.Answer, error) {
	if a.Outcome == protocol.NotShared {
		return planner.AloneNow, a.Err
	}

	step, err := c.readSafely(a)

	switch step {
	case protocol.Done:
		return planner.Done, err
	case protocol.Other:
		return planner.AtOnce, err
	case protocol.Single:
		return planner.AloneNow, err
	case protocol.Again:
	}

	return after(a.Outcome), err
}

func (c *Call) readSafely(a protocol.Answer) (step protocol.Step, err error) {
	defer func() {
		if v := recover(); v != nil {
			step, err = protocol.Single, panicerror.New(theClient, v)
		}
	}()

	return c.op.Read(a)
}

func (e *Engine) change(f func()) {
	e.mu.Lock()
	defer e.mu.Unlock()

	f()
}

// after returns what follows from the outcome of a try that is not the answer to its write.
func after(o protocol.Outcome) planner.Answer {
	switch o {
	case protocol.Refused, protocol.Invalid, protocol.NotShared:
		return planner.Done
	case protocol.Rejected:
		return planner.Rejected
	default:
		return planner.NotNow
	}
}
