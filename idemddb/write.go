package idemddb

import (
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/partiql"
	"github.com/idemddb/go-idemddb/internal/record"
)

// write is one conditional update of one record. It travels as an UpdateItem, as a statement of a shared request, or in a transaction.
type write struct {
	partition         string
	condition, update string // of expr.go
	values            item   // by placeholder
}

// input returns the write as an UpdateItem. It must ask for attributes, because an answer without any proves nothing.
func (w write) input(s *Store, answer types.ReturnValue) *dynamodb.UpdateItemInput {
	return &dynamodb.UpdateItemInput{
		TableName:                           &s.table,
		Key:                                 s.key(w.partition),
		ConditionExpression:                 &w.condition,
		UpdateExpression:                    &w.update,
		ExpressionAttributeNames:            w.names(s),
		ExpressionAttributeValues:           w.values,
		ReturnValues:                        answer,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// part returns the write as a part of a transaction.
func (w write) part(s *Store) *types.TransactWriteItem {
	return &types.TransactWriteItem{Update: &types.Update{
		TableName:                           &s.table,
		Key:                                 s.key(w.partition),
		ConditionExpression:                 &w.condition,
		UpdateExpression:                    &w.update,
		ExpressionAttributeNames:            w.names(s),
		ExpressionAttributeValues:           w.values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}}
}

// names returns the names for the aliases in the expressions, because DynamoDB refuses a name that they do not use. Only a claim names the
// key, and all that set the TTL attribute give it a value.
func (w write) names(s *Store) map[string]string {
	switch {
	case strings.Contains(w.condition, namePK):
		return s.expr.names
	case w.values[":exp"] != nil:
		return s.expr.nameOfExp
	default:
		return nil
	}
}

// statement returns the write as one statement of a shared request.
func (w write) statement(s *Store) types.BatchStatementRequest {
	st := s.statement(w.condition, w.update)
	parameters := make([]types.AttributeValue, len(st.Parameters))

	for i, name := range st.Parameters {
		switch name {
		case placePartition:
			parameters[i] = record.Text(w.partition)
		case placeSort:
			parameters[i] = sortValue
		default:
			parameters[i] = w.values[name]
		}
	}

	return types.BatchStatementRequest{
		Statement:                           &st.Text,
		Parameters:                          parameters,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// Placeholders of the key in a statement: expressions have none, requests name the key beside them.
const (
	placePartition = ":partition"
	placeSort      = ":sort"
)

// statement translates a condition and an update of expr.go, for a record that exists, into PartiQL. So there is one set of
// expressions, and one argument for each. Each pair is translated once; there are few.
func (s *Store) statement(condition, update string) partiql.Statement {
	pair := [2]string{condition, update}

	known, ok := s.statements.Load(pair)
	if !ok {
		made := partiql.Update(s.table, update, s.expr.hasKey+" AND ("+condition+")", s.expr.translated)
		if strings.HasPrefix(update, updateAgain) { // the new fencing token follows from the old one
			made.Text += " RETURNING ALL OLD *"
		}

		known, _ = s.statements.LoadOrStore(pair, made)
	}

	return known.(partiql.Statement) //nolint:forcetypeassert // nothing else is stored there
}

// key returns the primary key of the item behind a partition key.
func (s *Store) key(partition string) item {
	key := item{s.opts.PartitionKey: record.Text(partition)}
	if s.opts.SortKey != "" {
		key[s.opts.SortKey] = sortValue
	}

	return key
}

// expiry returns the TTL attribute's value in epoch seconds, rounded up: Retention from now, and never at the lease's end or
// within ClockSkew of it, or the record would die under a holder whose clock is behind.
func (s *Store) expiry(now, lease time.Time) int64 {
	end := now.Add(s.opts.Retention)
	if held := lease.Add(2 * s.opts.ClockSkew); held.After(end) {
		end = held
	}

	return end.Add(time.Second - 1).Unix()
}

// ownValues returns the values of the placeholders in condOwn, and of the one in updateTookAt if the update of the write has it.
func (c *Claim) ownValues() item {
	values := item{":mine": record.Text(c.token), ":fence": record.Number(c.fence), ":inprogress": inProgressValue}
	if c.tookLease() {
		values[":tookat"] = record.Number(c.prev)
	}

	return values
}

// keeping returns the update of a write of this claim's holder. If the claim has taken over a lease, the update also keeps the end of it,
// whose value is among ownValues.
func (c *Claim) keeping(update string) string {
	if c.tookLease() {
		update += updateTookAt
	}

	return update
}

// tookLease reports whether the claim has taken over a lease that has an end: -1 has none.
func (c *Claim) tookLease() bool { return c.prev > 0 }

// heldValues returns the values of the placeholders in condHeld.
func (c *Claim) heldValues() item {
	values := c.ownValues()
	values[":zero"] = zeroValue

	return values
}

// completion is what a completing call writes into the record. tx is "" for a write outside of a transaction.
func (s *Store) completion(tx string, outbox []record.Message, result types.AttributeValue) record.Stored {
	now := s.opts.Now()
	done := record.Stored{
		State: record.Completed, Tx: tx, Result: result, Outbox: outbox, Done: now.UnixMilli(), Expires: s.expiry(now, now),
	}

	if len(outbox) > 0 {
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
	values[":nowms"] = record.Number(r.Done)
	values[":exp"] = record.Number(r.Expires)

	if r.Tx != "" {
		values[":tx"] = record.Text(r.Tx)
	}

	if r.Result != nil {
		values[":res"] = r.Result
	}

	if len(r.Outbox) > 0 {
		values[":outbox"] = marshal(r.Outbox)
		values[":ends"] = record.Number(r.Ends)
		values[":due"] = record.Number(r.Done)
		values[":duens"] = record.Text(record.ShardOf(s.namespace, partition))
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

// sortKeyValue is the value of Options.SortKey in each record.
const sortKeyValue = "idemddb"

// Values that all requests share: never written.
var (
	versionValue            = record.Number(record.FormatVersion)
	zeroValue               = record.Number(0)
	noTraceValue            = record.Text("")
	oneValue                = record.Number(1)
	returnedValue           = record.Number(-1)
	inProgressValue         = record.Text(record.InProgress)
	completedValue          = record.Text(record.Completed)
	failedValue             = record.Text(record.Failed)
	sortValue               = record.Text(sortKeyValue)
	omittedValue            = &types.AttributeValueMemberNULL{Value: true} // in place of a result that is not kept
	fingerprintVersionValue = record.Text(record.FingerprintVersion)
)

func marshal(v any) types.AttributeValue {
	value, err := attributevalue.Marshal(v)
	if err != nil {
		panic(err) // never: texts and numbers
	}

	return value
}
