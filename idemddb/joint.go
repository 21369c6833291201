package idemddb

import (
	"context"
	"crypto/rand"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// newTx returns the id of a completing call: 26 characters.
func newTx() string { return rand.Text() }

// jointSource makes the tries of a write of a record together with effects.
type jointSource interface {
	part() protocol.Part               // the next try
	look() types.BatchStatementRequest // begins a try, of which only the record is read
	hasEnded(found item) bool          // whether the record, as the last try found it, answers the write for good
	applied()                          // called when the write is known to be applied, before its caller goes on
}

// jointWrite is a write of a record together with effects.
type jointWrite struct {
	source  jointSource
	token   string          // of the first try: the id of the completing call
	answer  protocol.Answer // that has ended it
	unknown bool            // a try had no answer, so it may have been applied
}

// Part implements [engine.Joiner].
func (j *jointWrite) Part() protocol.Part {
	part := j.source.part()
	part.Token, j.token = j.token, ""

	return part
}

// Look implements [engine.Joiner].
func (j *jointWrite) Look() types.BatchStatementRequest { return j.source.look() }

// HasEnded implements [engine.Joiner].
func (j *jointWrite) HasEnded(found item) bool { return j.source.hasEnded(found) }

// Read implements [engine.Operation].
func (j *jointWrite) Read(answer protocol.Answer) (protocol.Step, error) {
	switch answer.Outcome { //nolint:exhaustive // the others are sent again
	case protocol.Applied:
		j.answer = answer
		j.source.applied()

		return protocol.Done, nil
	case protocol.Refused, protocol.EffectRefused:
		j.answer = answer

		return protocol.Done, nil
	}

	j.unknown = j.unknown || answer.Outcome == protocol.Unknown

	return protocol.Again, answer.Err
}

// wait waits for the end of the write. If DynamoDB refuses the request as a whole, that is the answer. An error means that it has
// none.
func (j *jointWrite) wait(ctx context.Context, begun *engine.Call) error {
	err := begun.Wait(ctx)
	if err == nil || wire.IsTransient(err) {
		return err
	}

	j.answer = protocol.Answer{
		Outcome: protocol.EffectRefused, Refusal: &protocol.Refusal{Index: -1, Code: wire.Code(err), Message: err.Error(), Cause: err},
	}

	return nil
}
