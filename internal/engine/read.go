package engine

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// readPart is the part of a flight's time that the read before it has.
const readPart = 2

// readFirst reads the records of a flight, and ends the writes whose keys have ended before. It saves a transaction that would be cancelled,
// and nothing else depends on it: without an answer, and for all records that it does not find ended, the conditions of the transaction
// decide.
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
func (s *shared) looks() (calls []*call, statements []types.BatchStatementRequest) {
	s.take()
	defer s.engine.change(s.setFree)

	for _, c := range s.sent {
		if l, isLooker := c.joiner.(Looker); isLooker {
			calls, statements = append(calls, c), append(statements, l.Look())
		}
	}

	return calls, statements
}

// hasEnded reports whether a record that was found answers a write for good.
func (c *call) hasEnded(found protocol.Item) bool {
	l, isLooker := c.joiner.(Looker)

	return isLooker && len(found) > 0 && l.HasEnded(found)
}

// readOn lets a flight go on without the calls that the read has answered. It is called with the mutex of the Engine held.
func (s *shared) readOn(isAnswered []bool, found *wire.Shared) {
	now := time.Now()

	switch {
	case found.Denied != nil && s.engine.planner.DenyReads(now):
		s.tellOne(news{s.engine.Unread, found.Denied})
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
