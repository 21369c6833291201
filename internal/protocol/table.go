// Package protocol knows what is written into the record of a key, and what a record that stands in the way means for the writer.
// It makes requests and reads records. It sends nothing and has no clock, no goroutine and no client: the time of a try is an
// argument. So tables of cases test it, and each argument for a stored expression stands beside the expression.
package protocol

import (
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// Item is an item of DynamoDB, or a part of one.
type Item = map[string]types.AttributeValue

// Config is what a Store says of its table and of its claims. idemddb.Options says what the fields mean.
type Config struct {
	Table        string
	Namespace    string
	PartitionKey string
	SortKey      string // "" for none
	TTLAttribute string
	Retention    time.Duration
	ClockSkew    time.Duration
	MaxAttempts  int // 0 for no limit
	NoTakeover   bool
	IsTraced     bool // the record keeps the traceparent of its run
	UnsentShards int  // the partitions of the index of unsent messages
	IsShared     bool // writes may share requests, so that their statements are translated at once
}

// Table makes the writes of one Store. It is never changed after NewTable, so it is safe for concurrent use.
type Table struct {
	Config

	forms      [2]claimForms // without a fingerprint, and with one
	statements map[form]statement
	look       statement

	// Names for the aliases in expressions, with that of the key and without. All requests share them, so no code may change them.
	namesWithKey, nameOfExp map[string]string
}

// NewTable composes the expressions and statements of a Store once.
func NewTable(c Config) *Table {
	t := &Table{
		Config: c, forms: [2]claimForms{newClaimForms(&c, false), newClaimForms(&c, true)}, statements: map[form]statement{},
		namesWithKey: map[string]string{namePK: c.PartitionKey, nameExp: c.TTLAttribute},
		nameOfExp:    map[string]string{nameExp: c.TTLAttribute},
	}
	t.look = selectStatement(c.Table, keyCondition(&c), t.translated())

	if c.IsShared {
		for _, f := range t.sharedForms() {
			t.statements[f] = t.translate(f)
		}
	}

	return t
}

// Stamp is the time of one try, and the end of the lease that it asks for. The time is read before the try is sent, so that the
// holder never trusts its lease for longer than the record says.
type Stamp struct{ Now, Lease time.Time }

// Key returns the primary key of the item behind a partition key.
func (t *Table) Key(partition string) Item {
	key := Item{t.PartitionKey: text(partition)}
	if t.SortKey != "" {
		key[t.SortKey] = sortValue
	}

	return key
}

// Write is one conditional update of one record. It travels as an UpdateItem, as a statement of a shared request, or in a
// transaction.
type Write struct {
	partition string
	form      form
	values    Item // by placeholder
}

// form is a condition and an update of expr.go.
type form struct{ condition, update string }

// Update returns the write as an UpdateItem. answer must ask for attributes, because an answer without any proves nothing.
func (t *Table) Update(w Write, answer types.ReturnValue) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName:                           &t.Table,
		Key:                                 t.Key(w.partition),
		ConditionExpression:                 &w.form.condition,
		UpdateExpression:                    &w.form.update,
		ExpressionAttributeNames:            t.names(w),
		ExpressionAttributeValues:           w.values,
		ReturnValues:                        answer,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// Part returns the write as a part of a transaction.
func (t *Table) Part(w Write) *types.TransactWriteItem {
	return &types.TransactWriteItem{Update: &types.Update{
		TableName:                           &t.Table,
		Key:                                 t.Key(w.partition),
		ConditionExpression:                 &w.form.condition,
		UpdateExpression:                    &w.form.update,
		ExpressionAttributeNames:            t.names(w),
		ExpressionAttributeValues:           w.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// Request is a write as a request of its own: one of the two. It must ask for attributes, because an answer without any proves
// nothing.
type Request struct {
	Update *dynamodb.UpdateItemInput
	Put    *dynamodb.PutItemInput
}

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

// addCompletion adds the values of a completion to those of its condition.
func (t *Table) addCompletion(values Item, partition string, done *record.Stored) {
	values[":completed"] = completedValue
	values[":nowms"] = number(done.Done)
	values[":exp"] = number(done.Expires)

	if done.Tx != "" {
		values[":tx"] = text(done.Tx)
	}

	if done.Result != nil {
		values[":res"] = done.Result
	}

	if len(done.Outbox) > 0 {
		values[":outbox"] = marshal(done.Outbox)
		values[":ends"] = number(done.Ends)
		values[":due"] = number(done.Done)
		values[":duens"] = text(t.shardOf(partition))
	}
}

// shardOf returns the partition that a record has in the index of unsent messages.
func (t *Table) shardOf(partition string) string {
	return record.ShardOf(t.Namespace, partition, t.UnsentShards)
}

// expiry returns the TTL attribute's value in epoch seconds, rounded up: Retention from now, and never at the lease's end or
// within ClockSkew of it, or the record would die under a holder whose clock is behind.
func (t *Table) expiry(s Stamp) types.AttributeValue { return number(t.end(s)) }

func (t *Table) end(s Stamp) int64 {
	end := s.Now.Add(t.Retention)
	if held := s.Lease.Add(2 * t.ClockSkew); held.After(end) {
		end = held
	}

	return end.Add(time.Second - 1).Unix()
}

// names returns the names for the aliases in the expressions, because DynamoDB refuses a name that they do not use. Only a claim
// names the key, and all that set the TTL attribute give it a value.
func (t *Table) names(w Write) map[string]string {
	switch {
	case strings.Contains(w.form.condition, namePK):
		return t.namesWithKey
	case w.values[":exp"] != nil:
		return t.nameOfExp
	default:
		return nil
	}
}

// SortKeyValue is the value of the sort key in each record.
const SortKeyValue = "idemddb"

// Values that all requests share, so no code may change them.
var (
	versionValue            = number(record.FormatVersion)
	zeroValue               = number(0)
	noTraceValue            = text("")
	oneValue                = number(1)
	returnedValue           = number(-1)
	inProgressValue         = text(record.InProgress)
	completedValue          = text(record.Completed)
	failedValue             = text(record.Failed)
	sortValue               = text(SortKeyValue)
	fingerprintVersionValue = text(record.FingerprintVersion)
)

// text and number are the values of attributes.
func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func marshal(v any) types.AttributeValue {
	value, err := attributevalue.Marshal(v)
	if err != nil {
		panic(err) // never: texts and numbers
	}

	return value
}
