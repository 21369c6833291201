package operate

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/unsent"
)

// Result returns the result of a record: View.Result, or what its parts in the table have. It returns nil for a result that
// idemddb.Options.Results keeps. What is sealed is returned as it is stored. It costs a request and up to 98 read units for each
// part of 390 KB.
//
// Errors: idemddb.ErrResultOmitted, if a part is gone; idemddb.ErrCorrupt, if the parts are not what was put; the error of
// DynamoDB.
func (r *Records) Result(ctx context.Context, seen View) ([]byte, error) {
	parts := r.parts(seen)
	if len(parts) == 0 {
		return seen.Result, nil
	}

	var result []byte

	for _, key := range parts {
		out, err := r.get(ctx, key)
		if err != nil {
			return nil, changeError("read of the result", seen.Key, err)
		}

		if len(out.Item) == 0 {
			return nil, changeError("read of the result", seen.Key, idemddb.ErrResultOmitted)
		}

		if part, ok := out.Item[record.Part].(*types.AttributeValueMemberB); ok {
			result = append(result, part.Value...)
		}
	}

	value, _ := record.ResultIn(seen.stored[record.Result])
	kept, _ := record.KeptResultOf(value)

	if !kept.IsOf(result) {
		return nil, changeError("read of the result", seen.Key, fmt.Errorf("%w: its parts are not what was put", idemddb.ErrCorrupt))
	}

	return result, nil
}

// parts returns the reads of the parts of a result that is kept in the table; none for any other result.
func (r *Records) parts(seen View) []*dynamodb.GetItemInput {
	var reads []*dynamodb.GetItemInput

	for _, partition := range record.Parts(seen.ResultName) {
		key := item{r.opts.PartitionKey: record.Text(partition)}
		if r.opts.SortKey != "" {
			key[r.opts.SortKey] = seen.stored[r.opts.SortKey]
		}

		reads = append(reads, unsent.Read(r.store, key))
	}

	return reads
}

// forgetResult deletes the parts of the result of a record that is deleted. They have keys of their own, with the owner token of
// that record, so no other record names them, and nothing waits for their end. Those of a worker that died or lost its key to a
// takeover are left to Time to Live.
func (r *Records) forgetResult(ctx context.Context, seen View) error {
	for _, key := range r.parts(seen) {
		if _, err := r.api.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: key.TableName, Key: key.Key}); err != nil {
			return changeError("forget", seen.Key, fmt.Errorf("the record is deleted, and its result stays until Time to Live deletes it: %w", err))
		}
	}

	return nil
}
