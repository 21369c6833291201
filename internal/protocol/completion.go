package protocol

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// noEnd is the TTL attribute of a record with unsent messages: the last second of the year 9999.
const noEnd = 253402300799

// Completion returns what a completing call writes into the record. tx is "" for a write outside of a transaction.
func (t *Table) Completion(tx string, outbox []record.Message, result types.AttributeValue, now time.Time) record.Stored {
	done := record.Stored{
		State: record.Completed, Tx: tx, Result: result, Outbox: outbox, Done: now.UnixMilli(), Expires: t.end(Stamp{Now: now, Lease: now}),
	}

	if len(outbox) > 0 {
		done.Ends, done.Expires = done.Expires, noEnd
	}

	return done
}

// stampOf returns the time of a completion, which has no lease.
func stampOf(done *record.Stored) Stamp {
	now := time.UnixMilli(done.Done)

	return Stamp{Now: now, Lease: now}
}

// updateWith returns an update expression with what the completion has.
func updateWith(done *record.Stored, update string) string {
	if done.Tx != "" {
		update += updateSetTx
	}

	if done.Result != nil {
		update += updateSetResult
	}

	if len(done.Outbox) > 0 {
		update += updateSetOutbox
	}

	return update
}

// addCompletion adds the values of a completion to those of its condition.
func (t *Table) addCompletion(values Item, partition string, done *record.Stored) {
	values[":completed"] = completedValue
	values[":nowms"] = record.Number(done.Done)
	values[":exp"] = record.Number(done.Expires)

	if done.Tx != "" {
		values[":tx"] = record.Text(done.Tx)
	}

	if done.Result != nil {
		values[":res"] = done.Result
	}

	if len(done.Outbox) > 0 {
		values[":outbox"] = marshal(done.Outbox)
		values[":ends"] = record.Number(done.Ends)
		values[":due"] = record.Number(done.Done)
		values[":duens"] = record.Text(record.ShardOf(t.Namespace, partition))
	}
}

// addAttributes writes a completion into a new record.
func (t *Table) addAttributes(stored Item, partition string, done *record.Stored) {
	values := Item{}
	t.addCompletion(values, partition, done)

	for name, placeholder := range map[string]string{
		record.State: ":completed", record.Done: ":nowms", t.TTLAttribute: ":exp", record.Tx: ":tx",
		record.Result: ":res", record.Outbox: ":outbox", record.Ends: ":ends", record.Due: ":due", record.DueNS: ":duens",
	} {
		if value, ok := values[placeholder]; ok {
			stored[name] = value
		}
	}
}

func marshal(v any) types.AttributeValue {
	value, err := attributevalue.Marshal(v)
	if err != nil {
		panic(err) // never: texts and numbers
	}

	return value
}
