package idemddb

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/internal/record"
)

// expiry returns the TTL attribute's value in epoch seconds, rounded up: Retention from now, and never at the lease's end or
// within ClockSkew of it, or the record would die under a holder whose clock is behind.
func (s *Store) expiry(now, lease time.Time) int64 {
	end := now.Add(s.opts.Retention)
	if held := lease.Add(2 * s.opts.ClockSkew); held.After(end) {
		end = held
	}

	return end.Add(time.Second - 1).Unix()
}

// key returns the primary key of the item behind a partition key.
func (s *Store) key(partition string) item {
	key := item{s.opts.PartitionKey: stringValue(partition)}
	if s.opts.SortKey != "" {
		key[s.opts.SortKey] = sortValue
	}

	return key
}

// Values that all requests share: never written.
var (
	versionValue            = numberValue(record.FormatVersion)
	zeroValue               = numberValue(0)
	noTraceValue            = stringValue("")
	oneValue                = numberValue(1)
	returnedValue           = numberValue(-1)
	inProgressValue         = stringValue(record.InProgress)
	completedValue          = stringValue(record.Completed)
	failedValue             = stringValue(record.Failed)
	sortValue               = stringValue(sortKeyValue)
	omittedValue            = &types.AttributeValueMemberNULL{Value: true} // in place of a result that is not kept
	fingerprintVersionValue = stringValue(record.FingerprintVersion)
)

func stringValue(s string) *types.AttributeValueMemberS {
	return &types.AttributeValueMemberS{Value: s}
}

func numberValue(n int64) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func marshal(v any) types.AttributeValue {
	value, err := attributevalue.Marshal(v)
	if err != nil {
		panic(err) // never: texts and numbers
	}

	return value
}

// ownValues returns the values of the placeholders in condOwn.
func (c *Claim) ownValues() item {
	return item{":mine": stringValue(c.token), ":fence": numberValue(c.fence), ":inprogress": inProgressValue}
}

// heldValues returns the values of the placeholders in condHeld.
func (c *Claim) heldValues() item {
	values := c.ownValues()
	values[":zero"] = zeroValue

	return values
}

// completion is what a completing call writes into the record. tx is "" for a write outside of a transaction.
func (s *Store) completion(tx string, e Effects, result types.AttributeValue) record.Stored {
	now := s.opts.Now()
	done := record.Stored{State: record.Completed, Tx: tx, Result: result, Done: now.UnixMilli(), Expires: s.expiry(now, now)}

	if done.Outbox = outboxOf(e.Messages); len(done.Outbox) > 0 {
		done.Ends, done.Expires = done.Expires, noEnd
	}

	return done
}

// updateWith returns an update expression with what the completion has.
func updateWith(r *record.Stored, update string) string {
	if r.Tx != "" {
		update += updateSetTx
	}

	if r.Result != nil {
		update += updateSetResult
	}

	if len(r.Outbox) > 0 {
		update += updateSetOutbox
	}

	return update
}

// addValues adds the values of a completion to those of its condition.
func (s *Store) addValues(r *record.Stored, partition string, values item) item {
	values[":completed"] = completedValue
	values[":nowms"] = numberValue(r.Done)
	values[":exp"] = numberValue(r.Expires)

	if r.Tx != "" {
		values[":tx"] = stringValue(r.Tx)
	}

	if r.Result != nil {
		values[":res"] = r.Result
	}

	if len(r.Outbox) > 0 {
		values[":outbox"] = marshal(r.Outbox)
		values[":ends"] = numberValue(r.Ends)
		values[":due"] = numberValue(r.Done)
		values[":duens"] = stringValue(record.ShardOf(s.namespace, partition))
	}

	return values
}

// addCompletion writes a completion into a new record.
func (s *Store) addCompletion(r *record.Stored, partition string, stored item) {
	values := s.addValues(r, partition, item{})

	for name, placeholder := range map[string]string{
		record.State: ":completed", record.Done: ":nowms", s.opts.TTLAttribute: ":exp", record.Tx: ":tx",
		record.Result: ":res", record.Outbox: ":outbox", record.Ends: ":ends", record.Due: ":due", record.DueNS: ":duens",
	} {
		if value, ok := values[placeholder]; ok {
			stored[name] = value
		}
	}
}

// recordUpdate returns the update of a record as an item of a transaction.
func (s *Store) recordUpdate(partition, condition, update string, values item, names map[string]string) *types.TransactWriteItem {
	return &types.TransactWriteItem{Update: &types.Update{
		TableName:                           &s.table,
		Key:                                 s.key(partition),
		ConditionExpression:                 &condition,
		UpdateExpression:                    &update,
		ExpressionAttributeNames:            names,
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}
