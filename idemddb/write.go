package idemddb

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// write is one conditional update of one record, to be sent alone or in a group.
type write struct {
	partition         string
	condition, update string // of expr.go
	values            item   // by placeholder
}

// input is the write as a request of its own. Its expressions know the TTL attribute by an alias only if they use it.
func (w write) input(s *Store) *dynamodb.UpdateItemInput {
	in := &dynamodb.UpdateItemInput{
		TableName:                           &s.table,
		Key:                                 s.key(w.partition),
		ConditionExpression:                 &w.condition,
		UpdateExpression:                    &w.update,
		ExpressionAttributeValues:           w.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}

	if _, ok := w.values[":exp"]; ok {
		in.ExpressionAttributeNames = s.expr.nameOfExp
	}

	return in
}

// fenced sends a conditional update, in a group if there is a turn in one. build makes it anew for each attempt. A refusal is
// ErrFenced, with the record that stood in the way, or nil if there is none.
func (s *Store) fenced(ctx context.Context, t *turn, key string, build func() write) (*storedRecord, error) {
	if t != nil {
		defer t.end(ctx)
	}

	_, err := send(ctx, s, key, func(actx context.Context) (none struct{}, err error) {
		if t == nil {
			return none, s.alone(actx, build())
		}

		return none, t.send(actx, build())
	})
	if err == nil {
		return nil, nil //nolint:nilnil // no error, and nothing in the way
	}

	found, ok := refusedItem(err)

	switch {
	case !ok:
		return nil, s.explain(err)
	case found == nil:
		return nil, ErrFenced
	}

	rec, err := s.decode(found)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFenced, err)
	}

	return rec, ErrFenced
}

// alone makes one attempt in a request of its own.
func (s *Store) alone(ctx context.Context, w write) error {
	_, err := s.api.UpdateItem(ctx, w.input(s), once...)

	return err //nolint:wrapcheck // errors.go looks at it
}
