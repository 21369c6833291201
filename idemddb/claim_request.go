package idemddb

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// single returns the claim as a request of its own.
func (a *acquisition) single() *dynamodb.UpdateItemInput {
	s := a.store
	a.last = s.stamp(a.deadline)

	condition, update := &s.expr.claim, s.expr.setClaim+updateDropFP
	if a.fingerprint != "" {
		condition, update = &s.expr.claimFP, s.expr.setClaim+updateSetFP
	}

	values := a.values()
	values[":nowms"] = numberValue(a.last.now.UnixMilli())

	if s.opts.Trace != nil {
		values[":notrace"] = noTraceValue
	}

	return &dynamodb.UpdateItemInput{
		TableName:                           &s.table,
		Key:                                 s.key(a.partition),
		ConditionExpression:                 condition,
		UpdateExpression:                    &update,
		ExpressionAttributeNames:            s.expr.names,
		ExpressionAttributeValues:           values,
		ReturnValues:                        types.ReturnValueAllNew,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// statement returns the claim as one statement of a shared request.
func (a *acquisition) statement() types.BatchStatementRequest {
	s := a.store
	a.last = s.stamp(a.deadline)

	switch {
	case a.insert:
		return a.insertion()
	case a.fingerprint != "":
		return write{a.partition, s.expr.againFP, s.expr.setAgain + updateSetFP, a.values()}.statement(s)
	default:
		return write{a.partition, s.expr.again, s.expr.setAgain + updateDropFP, a.values()}.statement(s)
	}
}

// insertion returns the statement that creates the record if there is none.
func (a *acquisition) insertion() types.BatchStatementRequest {
	st := &a.store.expr.insert
	if a.fingerprint != "" {
		st = &a.store.expr.insertFP
	}

	record := a.newRecord(firstFence(a.last))

	parameters := make([]types.AttributeValue, len(st.Parameters))
	for i, name := range st.Parameters {
		parameters[i] = record[name]
	}

	return types.BatchStatementRequest{Statement: &st.Text, Parameters: parameters}
}

// values returns the values for the placeholders that both forms of the claim use: the single request and the statement.
func (a *acquisition) values() item {
	s := a.store
	values := item{
		":v":          versionValue,
		":inprogress": inProgressValue,
		":zero":       zeroValue,
		":one":        oneValue,
		":mine":       stringValue(a.token),
		":nowsec":     numberValue(a.last.now.Unix()),
		":lease":      numberValue(a.last.lease.UnixMilli()),
		":exp":        numberValue(s.expiry(a.last.now, a.last.lease)),
		":dead":       numberValue(a.last.now.Add(-s.opts.ClockSkew).UnixMilli()),
	}

	if s.opts.MaxAttempts > 0 {
		values[":max"] = numberValue(int64(s.opts.MaxAttempts))
	}

	if a.fingerprint != "" {
		values[":fp"] = stringValue(a.fingerprint)
		values[":fpver"] = fingerprintVersionValue
	}

	if s.opts.Trace != nil {
		values[":trace"] = stringValue(a.trace)
	}

	return values
}

// newRecord returns the item of a new record of this claim.
func (a *acquisition) newRecord(fence int64) item {
	s := a.store
	record := s.key(a.partition)
	record[attrVersion] = versionValue
	record[attrState] = inProgressValue
	record[attrToken] = stringValue(a.token)
	record[attrFence] = numberValue(fence)
	record[attrPrevious] = zeroValue
	record[attrLease] = numberValue(a.last.lease.UnixMilli())
	record[attrAttempts] = oneValue
	record[attrBorn] = numberValue(a.last.now.UnixMilli())
	record[s.opts.TTLAttribute] = numberValue(s.expiry(a.last.now, a.last.lease))

	if a.fingerprint != "" {
		record[attrFingerprint] = stringValue(a.fingerprint)
	}

	if s.opts.Trace != nil {
		record[attrTrace] = stringValue(a.trace)
		record[attrPrevTrace] = noTraceValue
	}

	return record
}

// firstFence returns the fencing token of a new record.
func firstFence(t stamp) int64 { return t.now.UnixMilli() + 1 }
