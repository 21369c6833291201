package protocol

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// ClaimedAnew returns the claim that replaced a record past its end.
func (c *Claimant) ClaimedAnew(old *record.Stored, s Stamp) Held {
	return Held{c.Partition, c.Token, fenceAfter(old, s), 1, 0}
}

// fenceAfter returns the fencing token of a new record that replaces one past its retention. It is above the old token. It is
// also not below the token that a new key would get now, so that the token does not fall if the record is deleted and the key
// begins anew.
func fenceAfter(old *record.Stored, s Stamp) int64 { return max(*old.Fence+1, firstFence(s)) }

// ClaimAnew returns the claim of a record past its retention: a whole new record in its place, so that nothing of the old life
// remains.
func (t *Table) ClaimAnew(c *Claimant, s Stamp, old *record.Stored) *dynamodb.PutItemInput {
	return t.replace(old, t.newRecord(c, s, fenceAfter(old, s)))
}

// RejectAnew returns the rejection in the place of a record past its retention.
func (t *Table) RejectAnew(c *Claimant, s Stamp, old *record.Stored, cause string) *dynamodb.PutItemInput {
	stored := t.newRecord(c, s, fenceAfter(old, s))
	stored[record.Error], stored[record.Lease] = text(cause), zeroValue
	stored[t.TTLAttribute] = t.expiry(Stamp{Now: s.Now, Lease: s.Now})

	return t.replace(old, stored)
}

// CommitAnew returns the commit in the place of a record past its retention, as a part of a transaction.
func (t *Table) CommitAnew(c *Claimant, old, done *record.Stored) *types.TransactWriteItem {
	s := stampOf(done)
	stored := t.newRecord(c, s, fenceAfter(old, s))
	t.addAttributes(stored, c.Partition, done)

	put := t.replace(old, stored)

	return &types.TransactWriteItem{Put: &types.Put{
		TableName: put.TableName, Item: put.Item, ConditionExpression: put.ConditionExpression,
		ExpressionAttributeNames: put.ExpressionAttributeNames, ExpressionAttributeValues: put.ExpressionAttributeValues,
		ReturnValuesOnConditionCheckFailure: put.ReturnValuesOnConditionCheckFailure,
	}}
}

// replace returns the request that puts a whole record in the place of one that was read.
func (t *Table) replace(old *record.Stored, stored Item) *dynamodb.PutItemInput {
	return &dynamodb.PutItemInput{
		TableName:                &t.Table,
		Item:                     stored,
		ConditionExpression:      new(condRecreate),
		ExpressionAttributeNames: t.nameOfExp,
		ExpressionAttributeValues: Item{
			":own":   text(*old.Token),
			":fence": number(*old.Fence),
			":exp":   number(old.Expires),
		},
		ReturnValues:                        types.ReturnValueAllOld,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}
