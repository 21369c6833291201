package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// transaction is the request of a flight of writes that travel in a transaction. A flight that is sent once more sends the same
// bytes: a client request token belongs to one request.
//
// The records decide whether an earlier try was applied: their conditions refuse every later request, and the refusal returns the
// record, which shows it. So each other flight has a new token. The same one is used again only for the same flight, because
// DynamoDB answers a transaction that it has committed with success, which saves a try. Without a record nothing but the token
// keeps the effects from being written twice: such a write is sent as it was to its end.
type transaction struct {
	calls  []*Call // whose parts are in it
	joined protocol.Joined
	input  dynamodb.TransactWriteItemsInput
}

// newTransaction makes the transaction of these calls, without those whose numbers do not fit into a sum with those of the
// others.
func newTransaction(calls []*Call) *transaction {
	t := &transaction{}

	for _, c := range calls {
		if t.joined.Take(c.joiner.Part()) {
			t.calls = append(t.calls, c)
		}
	}

	token := t.joined.Token()
	if token == "" {
		token = rand.Text()
	}

	t.input = dynamodb.TransactWriteItemsInput{
		TransactItems: t.joined.Items(), ClientRequestToken: &token, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}

	return t
}

// transactionOf returns the request of a flight of one write.
func transactionOf(f *planner.Flight, c *Call) *transaction {
	t, isRepeated := f.Handle.(*transaction)
	if !isRepeated {
		t = newTransaction([]*Call{c})
		f.Handle = t
	}

	return t
}

// transacted is the answer to a transaction, which reads it for its parts.
type transacted struct {
	engine *Engine
	flight *planner.Flight
	whole  protocol.Answer      // for all parts, if there are no reasons
	parts  []protocol.Cancelled // nil for a transaction that was not cancelled
}

// send sends the transaction, once.
//
// An answer without the consumed capacity, which each request asks for, proves nothing, however often it comes: something between
// the client and DynamoDB may have answered, or dropped the content. It also ends the token, so that a record answers in place of
// whatever dropped the content.
func (t *transaction) send(ctx context.Context, e *Engine, f *planner.Flight) *transacted {
	answer := wire.Transact(ctx, e.Transactor, &t.input, e.Options...)
	whole := protocol.Answer{Outcome: answer.Outcome, Err: answer.Err}

	f.IsAnswered = answer.Outcome != protocol.Unknown
	f.IsInProgress = answer.IsInProgress
	f.MayRepeat = !answer.IsTokenSpent && (answer.Outcome == protocol.Unknown || answer.Outcome == protocol.Unprocessed)

	read := &transacted{engine: e, flight: f, whole: whole}

	switch {
	case answer.Outcome == protocol.Refused && answer.Err == nil:
		parts, err := t.joined.ReadCancelled(answer.Reasons)
		if read.parts = parts; err != nil {
			read.whole = protocol.Answer{Outcome: protocol.Unknown, Err: err}
		}
	case answer.Outcome == protocol.Refused: // as a single write is: it is no answer of a transaction
		read.whole.Outcome = protocol.Invalid
	}

	// It is no answer to one of them: it does not say whose part is refused.
	if len(t.calls) > 1 && (read.whole.Outcome == protocol.Invalid || read.whole.Outcome == protocol.Rejected) {
		err := errors.New("a transaction of several keys was refused: " + answer.Err.Error())
		read.whole = protocol.Answer{Outcome: protocol.NotShared, Err: err}
	}

	return read
}

// read gives the answer to an operation. If the code of the user panics there, the write goes on alone.
func (t *transacted) read(at int, c *Call) (next planner.Answer, err error) {
	if t.parts == nil {
		return c.read(t.whole)
	}

	part := t.parts[at]

	if part.IsConflict {
		t.engine.change(func() { c.reports = append(c.reports, report{to: t.engine.Conflict, err: part.Err}) })
	}

	if part.Outcome == protocol.Refused && c.hasEnded(part.Item) {
		t.flight.HasMetEnded = true
	}

	next, err = c.read(part.Answer)
	if next != planner.NotNow {
		return next, err
	}

	isKnown := len(part.Conflicts) > 0

	for _, i := range part.Conflicts {
		item := c.Joint.Items[i].Key
		if isKnown = isKnown && item != ""; item != "" {
			t.flight.Conflicts = append(t.flight.Conflicts, item)
		}
	}

	switch {
	case part.IsInnocent && t.hasCause():
		return planner.AtOnce, err
	case isKnown && !part.IsHeld:
		return planner.Gated, err
	default:
		return planner.NotNow, err
	}
}

// hasCause reports whether a part of the cancelled transaction stood in the way.
func (t *transacted) hasCause() bool {
	for i := range t.parts {
		if !t.parts[i].IsInnocent {
			return true
		}
	}

	return false
}

// readPart is the part of a flight's time that the read before it has.
const readPart = 2

// readFirst reads the records of a flight, and ends the writes whose keys have ended before. It saves a transaction that would be
// cancelled, and nothing else depends on it: without an answer, and for all records that it does not find ended, the conditions
// of the transaction decide.
func (s *shared) readFirst(ctx context.Context) {
	calls, statements := s.looks()
	if len(calls) == 0 {
		return
	}

	ctx, cancel := context.WithTimeout(ctx, s.flight.Limit/readPart)
	defer cancel()

	found := wire.Statements(ctx, s.engine.Shared, statements, s.engine.Options...)
	isAnswered := make([]bool, len(s.calls))
	s.take()

	for at, a := range found.Answers {
		if i := slices.Index(s.calls, calls[at]); i >= 0 && a.Outcome == protocol.Applied && calls[at].hasEnded(a.Item) {
			next, _ := calls[at].read(protocol.Answer{Outcome: protocol.Refused, Item: a.Item})
			isAnswered[i] = next == planner.Done
		}
	}

	s.engine.change(func() { s.readOn(isAnswered, &found) })
}

// looks returns the statements that read the records of those whose callers still wait, and the calls in the same order.
func (s *shared) looks() (calls []*Call, statements []types.BatchStatementRequest) {
	s.take()
	defer s.engine.change(s.setFree)

	for _, c := range s.sent {
		statements = append(statements, c.joiner.Look())
	}

	return s.sent, statements
}

// readOn lets a flight go on without the calls that the read has answered. It is called with the mutex of the Engine held.
func (s *shared) readOn(isAnswered []bool, found *wire.Shared) {
	now := time.Now()

	switch {
	case found.Denied != nil && s.engine.planner.DenyReads(now):
		s.reportOne(report{to: s.engine.Unread, err: found.Denied})
	case found.Err == nil && found.Denied == nil:
		s.engine.planner.Processed(s.flight)
	}

	s.setFree()

	for i, c := range s.calls {
		if isAnswered[i] && !c.isOver {
			c.shared, c.err, c.isOver = nil, nil, true
			c.wake()
		}
	}

	s.engine.planner.Read(now, s.flight, isAnswered)
	s.seat()
	s.engine.depart(now)
}
