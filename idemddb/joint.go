package idemddb

import (
	"context"
	"crypto/rand"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/dbitem"
	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// newTx returns the id of a completing call: 26 characters.
func newTx() string { return rand.Text() }

// jointWrite is a write of a record together with effects.
type jointWrite struct {
	token   string               // of the first try: the id of the completing call
	build   func() protocol.Part // anew for each try
	adds    []protocol.Addition
	applied func() // called when it is known to be written, before its caller goes on; nil for none

	look     func() types.BatchStatementRequest // begins a try, of which only the record is read
	hasEnded func(found item) bool              // whether the record, as the last try found it, answers the write for good

	answer  protocol.Answer // that has ended it
	unknown bool            // a try had no answer, so it may have been applied
}

// Part implements [engine.Joiner].
func (j *jointWrite) Part() protocol.Part {
	part := j.build()
	part.Adds, part.Token, j.token = j.adds, j.token, ""

	return part
}

// Look implements [engine.Looker].
func (j *jointWrite) Look() types.BatchStatementRequest { return j.look() }

// HasEnded implements [engine.Looker].
func (j *jointWrite) HasEnded(found item) bool { return j.hasEnded(found) }

// Read implements [engine.Operation].
func (j *jointWrite) Read(answer protocol.Answer) (protocol.Step, error) {
	switch answer.Outcome { //nolint:exhaustive // the others are sent again
	case protocol.Applied:
		if j.answer = answer; j.applied != nil {
			j.applied()
		}

		return protocol.Done, nil
	case protocol.Refused, protocol.EffectRefused:
		j.answer = answer

		return protocol.Done, nil
	}

	j.unknown = j.unknown || answer.Outcome == protocol.Unknown

	return protocol.Again, answer.Err
}

// wait waits for the end of the write. If DynamoDB refuses the request as a whole, that is the answer. An error means that it has none.
func (j *jointWrite) wait(ctx context.Context, begun *engine.Pending) error {
	err := begun.Wait(ctx)
	if err == nil || wire.IsTransient(err) {
		return err //nolint:wrapcheck // its caller says what was sent
	}

	j.answer = protocol.Answer{
		Outcome: protocol.EffectRefused, Refusal: &protocol.Refusal{Index: -1, Code: wire.Code(err), Message: err.Error(), Cause: err},
	}

	return nil
}

// jointOf returns what the write of a record with effects needs of its transaction. It also sets the additions of the write.
func (s *Store) jointOf(j *jointWrite, partition string, e effects, result types.AttributeValue) *planner.Joint {
	value, writes := dbitem.ValueSize(result), e.writes()
	ids := s.identities(partition, writes)[1:]

	joint := &planner.Joint{
		Items: make([]planner.Item, len(ids)), Value: value,
		Size: dbitem.WriteSize(writes...) + delivery.Size(e.outbox) + plainRecord + value,
	}

	for i, id := range ids {
		joint.Items[i].Key = id
	}

	j.adds = e.additions(ids[len(e.Items):])
	for i := range j.adds {
		joint.Items[len(e.Items)+i].As = j.adds[i].As
	}

	return joint
}

// refusal returns the error for one of these effects, or the write of all of them, that DynamoDB refused.
func (e Effects) refusal(j *jointWrite) *EffectError {
	r := j.answer.Refusal

	return &EffectError{
		Index: r.Index, Code: r.Code, Item: r.Item, Unknown: j.unknown, refused: e.Refused, message: r.Message, cause: r.Cause,
	}
}

// commitWait is how long the first commit of a group waits for others: a crash meanwhile repeats handlers, not effects.
const commitWait = 100 * time.Millisecond
