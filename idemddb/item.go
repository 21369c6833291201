package idemddb

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
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
	versionValue            = numberValue(formatVersion)
	zeroValue               = numberValue(0)
	noTraceValue            = stringValue("")
	oneValue                = numberValue(1)
	returnedValue           = numberValue(-1)
	inProgressValue         = stringValue(stateInProgress)
	completedValue          = stringValue(stateCompleted)
	failedValue             = stringValue(stateFailed)
	sortValue               = stringValue(sortKeyValue)
	omittedValue            = &types.AttributeValueMemberNULL{Value: true} // in place of a result that is not kept
	fingerprintVersionValue = stringValue(fingerprintVersion)
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

// maxTrace is the longest text of Options.Trace that is kept, in bytes. A traceparent of W3C Trace Context has 55.
const maxTrace = 128

// keptTrace returns the text if a record may hold it, else "".
func keptTrace(text string) string {
	if len(text) > maxTrace {
		return ""
	}

	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return ""
		}
	}

	return text
}

// completion is what a completing call writes into the record. tx is "" for a write outside of a transaction.
func (s *Store) completion(tx string, e Effects, result types.AttributeValue) storedRecord {
	now := s.opts.Now()
	done := storedRecord{State: stateCompleted, Tx: tx, Result: result, Done: now.UnixMilli(), Expires: s.expiry(now, now)}

	for i, m := range e.Messages {
		done.Outbox = append(done.Outbox, storedMessage{
			Index: i, To: m.To, Body: m.Body, Group: m.Group, Attributes: m.Attributes, Sequence: m.Sequence,
		})
	}

	if len(done.Outbox) > 0 {
		done.Ends, done.Expires = done.Expires, noEnd
	}

	return done
}

// update returns an update expression with what the completion has.
func (r *storedRecord) update(update string) string {
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

// values adds the values of a completion to those of its condition.
func (r *storedRecord) values(s *Store, partition string, values item) item {
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
		values[":duens"] = stringValue(s.dueNamespace(partition))
	}

	return values
}

// into writes a completion into a new record.
func (r *storedRecord) into(record item, s *Store, partition string) {
	values := r.values(s, partition, item{})

	for name, placeholder := range map[string]string{
		attrState: ":completed", attrDone: ":nowms", s.opts.TTLAttribute: ":exp", attrTx: ":tx",
		attrResult: ":res", attrOutbox: ":outbox", attrEnds: ":ends", attrDue: ":due", attrDueNS: ":duens",
	} {
		if value, ok := values[placeholder]; ok {
			record[name] = value
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
