package protocol

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// partOutlives is how much longer than its record a part of a result stays. When the messages of a record are sent, the record
// gets an end that may be later than its retention: a message is tried for 7 days, and the record then stays for 24 hours more.
const partOutlives = 8 * 24 * time.Hour

// PutPart returns the request that puts a part of a result.
//
// It has no condition, because whatever its key names is the same: the key holds the owner token and the digest of the whole
// result. So a try that is made again, one that arrives late, and a completion that is made again write what is there already,
// perhaps with a later end. A worker whose key was taken over, and one that was paused, writes under its own token, which no
// record names. Nothing names a part before the completion, which is written after it; a worker that dies between the two leaves
// parts to Time to Live. The end counts from the clock of the worker, as that of the record does. A worker that is paused for
// more than 8 days between its Put and its completion, if nobody has claimed the key meanwhile, completes it with a result that
// is gone, which a replay then says.
func (t *Table) PutPart(partition string, part []byte, now time.Time) *dynamodb.PutItemInput {
	stored := t.Key(partition)
	stored[t.TTLAttribute] = number(t.end(Stamp{Now: now}) + int64(partOutlives/time.Second))
	stored[record.Part] = &types.AttributeValueMemberB{Value: part}

	return &dynamodb.PutItemInput{TableName: &t.Table, Item: stored, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal}
}

// GetPart returns the request that reads a part. What an eventually consistent read finds is right, because a part never changes.
// Only what it does not find must be read consistently: the part may be younger than the copy that was read.
//
// Both requests ask for the capacity that they consumed. A successful answer without it is none of DynamoDB's, and proves
// nothing.
func (t *Table) GetPart(partition string, isConsistent bool) *dynamodb.GetItemInput {
	return &dynamodb.GetItemInput{
		TableName: &t.Table, Key: t.Key(partition), ConsistentRead: &isConsistent, ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	}
}
