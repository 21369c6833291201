package idemddbtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// chooseItemFaults calls decide for each statement or part, without the lock. It returns false if the sender gave up meanwhile.
func chooseItemFaults(ctx context.Context, r *Request, ofCall Fault, decide func(context.Context, Request) Fault) bool {
	if len(r.Items) == 0 || !ofCall.applies(*r) {
		return true
	}

	if decide != nil {
		for i := range r.Items {
			r.Items[i].Fault = decide(ctx, r.Items[i].clone())
		}
	}

	switch {
	case ofCall == TransactionConflict:
		r.Items[0].Fault = ofCall
	case ofCall == ThrottleReason && r.Operation == transactWrite:
		r.Items[len(r.Items)-1].Fault = ThrottleAccount
	}

	return decide == nil || ctx.Err() == nil
}

// breaks reports whether the sender gets a broken connection.
func (f Fault) breaks() bool {
	switch f {
	case LostRequest, LostReply, LateRequest, LateCommit:
		return true
	}

	return false
}

// applies reports whether DynamoDB evaluates a request with this fault when it is sent.
func (f Fault) applies(r Request) bool {
	switch f {
	case LostRequest, LateRequest, EmptyAnswer:
		return false
	case LateCommit:
		return r.Operation == transactWrite
	}

	return f.refusal(r) == nil
}

// spoil takes out of an answer what the fault makes it lack.
func (f Fault) spoil(out any, err error) {
	switch f {
	case ConditionWithoutItem:
		stripItem(err)
	case MissingResponse:
		if batch, ok := out.(*dynamodb.BatchExecuteStatementOutput); ok && batch != nil {
			batch.Responses = batch.Responses[:len(batch.Responses)-1]
		}
	}
}
