package protocol

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// Claimant is one call that claims a key, or commits it. All of its tries have the same.
type Claimant struct {
	Partition   string
	Token       string // the owner token: new for each call
	Fingerprint string // as stored; "" for none
	Trace       string // the traceparent of the run; "" for none
}

// formsOf returns the expressions for a claimant.
func (t *Table) formsOf(c *Claimant) *claimForms {
	if c.Fingerprint == "" {
		return &t.forms[0]
	}

	return &t.forms[1]
}

// Claim returns the write that claims the key, whether there is a record or not.
func (t *Table) Claim(c *Claimant, s Stamp) Write {
	forms := t.formsOf(c)

	return t.claim(c, s, form{forms.claim, forms.setClaim}, func(values Item) {
		values[":lease"], values[":exp"] = number(s.Lease.UnixMilli()), t.expiry(s)

		if t.IsTraced {
			values[":notrace"] = noTraceValue
		}
	})
}

// Reject returns the write of a run that was not claimed and did not succeed. It is the claim with another update: the record has no lease,
// and its retention begins now.
func (t *Table) Reject(c *Claimant, s Stamp, cause string) Write {
	forms := t.formsOf(c)

	return t.claim(c, s, form{forms.claim, forms.setReject}, func(values Item) {
		values[":err"], values[":exp"] = text(cause), t.expiry(Stamp{Now: s.Now, Lease: s.Now})
	})
}

// Commit returns the write that claims and completes the key. Its time is that of the completion.
func (t *Table) Commit(c *Claimant, done *record.Stored) Write {
	forms := t.formsOf(c)
	update := updateWith(done, updateCommit) + forms.endCommit

	return t.claim(c, stampOf(done), form{forms.claim, update}, func(values Item) { t.addCompletion(values, c.Partition, done) })
}

// claim returns a write with the condition of a claim. add adds the values that only its update uses.
func (t *Table) claim(c *Claimant, s Stamp, f form, add func(values Item)) Write {
	values := t.claimValues(c, s)
	values[":nowms"] = number(s.Now.UnixMilli())
	add(values)

	return Write{c.Partition, f, values}
}

// ClaimStatement returns the claim as a statement of a shared request. If isNew is true, it is an INSERT of a new record, which any record
// of the key refuses; else it takes a record that exists.
func (t *Table) ClaimStatement(c *Claimant, s Stamp, isNew bool) types.BatchStatementRequest {
	if isNew {
		return t.insertion(c, s)
	}

	values := t.claimValues(c, s)
	values[":lease"], values[":exp"] = number(s.Lease.UnixMilli()), t.expiry(s)

	return t.Statement(Write{c.Partition, form{t.formsOf(c).again, t.formsOf(c).setAgain}, values})
}

// insertion returns the statement that creates the record if there is none.
func (t *Table) insertion(c *Claimant, s Stamp) types.BatchStatementRequest {
	st := &t.formsOf(c).insert
	stored := t.newRecord(c, s, firstFence(s))

	parameters := make([]types.AttributeValue, len(st.Parameters))
	for i, name := range st.Parameters {
		parameters[i] = stored[name]
	}

	return types.BatchStatementRequest{Statement: &st.Text, Parameters: parameters}
}

// claimValues returns the values for the placeholders that the condition of a claim and all of its updates use.
func (t *Table) claimValues(c *Claimant, s Stamp) Item {
	values := Item{
		":v":          versionValue,
		":inprogress": inProgressValue,
		":zero":       zeroValue,
		":one":        oneValue,
		":mine":       text(c.Token),
		":nowsec":     number(s.Now.Unix()),
		":dead":       number(s.Now.Add(-t.ClockSkew).UnixMilli()),
	}

	if t.MaxAttempts > 0 {
		values[":max"] = number(int64(t.MaxAttempts))
	}

	if c.Fingerprint != "" {
		values[":fp"] = text(c.Fingerprint)
		values[":fpver"] = fingerprintVersionValue
	}

	if t.IsTraced {
		values[":trace"] = text(c.Trace)
	}

	return values
}

// newRecord returns the item of a new record of this claim.
func (t *Table) newRecord(c *Claimant, s Stamp, fence int64) Item {
	stored := t.Key(c.Partition)
	stored[record.Version] = versionValue
	stored[record.State] = inProgressValue
	stored[record.Token] = text(c.Token)
	stored[record.Fence] = number(fence)
	stored[record.Previous] = zeroValue
	stored[record.Took] = zeroValue
	stored[record.Lease] = number(s.Lease.UnixMilli())
	stored[record.Attempts] = oneValue
	stored[record.Born] = number(s.Now.UnixMilli())
	stored[t.TTLAttribute] = t.expiry(s)

	if c.Fingerprint != "" {
		stored[record.Fingerprint] = text(c.Fingerprint)
	}

	if t.IsTraced {
		stored[record.Trace] = text(c.Trace)
		stored[record.PrevTrace] = noTraceValue
	}

	if t.NoTakeover {
		stored[record.NoTakeover] = oneValue
	}

	return stored
}

// ClaimedNew returns the claim of a key that had no record.
func (c *Claimant) ClaimedNew(s Stamp) Held { return Held{c.Partition, c.Token, firstFence(s), 1, 0} }

// ClaimedAnew returns the claim that replaced a record past its end.
func (c *Claimant) ClaimedAnew(old *record.Stored, s Stamp) Held {
	return Held{c.Partition, c.Token, fenceAfter(old, s), 1, 0}
}

// firstFence returns the fencing token of a new record.
func firstFence(s Stamp) int64 { return s.Now.UnixMilli() + 1 }

// fenceAfter returns the fencing token of a new record that replaces one past its retention. It is above the old token. It is also not
// below the token that a new key would get now, so that the token does not fall if the record is deleted and the key begins anew.
func fenceAfter(old *record.Stored, s Stamp) int64 { return max(*old.Fence+1, firstFence(s)) }

// ClaimAnew returns the claim of a record past its retention: a whole new record in its place, so that nothing of the old life remains.
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
