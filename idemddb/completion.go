package idemddb

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// recordUpdate is the update of a record as an item of a transaction.
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
