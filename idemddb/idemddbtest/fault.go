package idemddbtest

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

// A Fault is what happens to one request, or to its answer.
type Fault string

const (
	// None is no fault.
	None Fault = ""

	// LostRequest is a connection that broke before the request arrived: nothing is applied.
	LostRequest Fault = "LostRequest"
	// LostReply is a connection that broke before the answer arrived: the request is applied, its sender cannot know.
	LostReply Fault = "LostReply"
	// LateRequest breaks the connection too, and the request is applied when [DB.Deliver] is called: after its sender gave up.
	LateRequest Fault = "LateRequest"
	// LateReply applies the request at once, and its answer never comes: the call waits for its context to end.
	LateReply Fault = "LateReply"
	// TruncatedBody applies the request and cuts its answer off: status 200, and JSON that ends too early. The SDK does not retry that.
	TruncatedBody Fault = "TruncatedBody"
	// ServerErrorApplied applies the request and answers InternalServerError, status 500.
	ServerErrorApplied Fault = "ServerErrorApplied"
	// ConditionWithoutItem applies the request; if its condition fails, the answer lacks the item that was asked for. So it is for each
	// statement of a call.
	ConditionWithoutItem Fault = "ConditionWithoutItem"

	// The others refuse the request: nothing is applied, and the answer is an error of the service.

	// Throttle is a ProvisionedThroughputExceededException: a hot key, or a table's limit.
	Throttle Fault = "Throttle"
	// ThrottleAccount is a ThrottlingException.
	ThrottleAccount Fault = "ThrottleAccount"
	// ServerError is an InternalServerError, status 500.
	ServerError Fault = "ServerError"
	// AccessDenied is an AccessDeniedException: a missing IAM permission, for statements dynamodb:PartiQLInsert or PartiQLUpdate.
	AccessDenied Fault = "AccessDenied"
	// TransactionConflict is a TransactionConflictException: another transaction holds the item. A transaction itself is canceled, with
	// that reason for its first item; of a call of statements the first one is refused, and the others are applied.
	TransactionConflict Fault = "TransactionConflict"
	// TransactionInProgress is a TransactionInProgressException: this ClientRequestToken is being worked on.
	TransactionInProgress Fault = "TransactionInProgress"
	// ReplicatedWriteConflict is a ReplicatedWriteConflictException: another Region of a strongly consistent global table is writing.
	ReplicatedWriteConflict Fault = "ReplicatedWriteConflict"
)

// Inject lets the next requests meet these faults, one each, in this order; [None] lets one pass. Requests beyond them go to the
// interceptor, if there is one. Faults given before and not yet met come first.
func (db *DB) Inject(faults ...Fault) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.faults = append(db.faults, faults...)
}

// Intercept lets decide choose the fault of each request that Inject does not; nil removes it. It is called before the request is
// applied and without a lock, maybe from several goroutines at once: it may wait, which holds this one request back, and may use the DB.
func (db *DB) Intercept(decide func(ctx context.Context, r Request) Fault) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.intercept = decide
}

// InterceptStatements lets decide choose a fault for each statement of a BatchExecuteStatement that is applied; nil removes it. It is
// asked in the order of the statements, after the fault of the whole call was chosen, and otherwise as that of Intercept. The statement's
// response carries the error of Throttle, ThrottleAccount, ServerError, AccessDenied or TransactionConflict, and nothing of it is applied;
// ServerErrorApplied applies it, ConditionWithoutItem too. Other faults are not a statement's: it is refused as not valid.
func (db *DB) InterceptStatements(decide func(ctx context.Context, statement Request) Fault) {
	db.mu.Lock()
	defer db.mu.Unlock()
	db.interceptStatement = decide
}

// meetStatements gives the statements their faults, without the lock; it answers false if the sender gave up meanwhile.
func (db *DB) meetStatements(ctx context.Context, r *Request, ofCall Fault, decide func(context.Context, Request) Fault) bool {
	if r.Operation != "BatchExecuteStatement" || ofCall == LostRequest || ofCall == LateRequest || ofCall.refusal(*r) != nil {
		return true
	}
	if decide != nil {
		for i := range r.Items {
			r.Items[i].Fault = decide(ctx, r.Items[i].clone())
		}
	}
	if ofCall == TransactionConflict && len(r.Items) > 0 {
		r.Items[0].Fault = ofCall
	}
	return decide == nil || ctx.Err() == nil
}

// statementRefusal is what a fault that refuses answers for a statement.
func (f Fault) statementRefusal(r Request) error {
	switch f {
	case None, ServerErrorApplied, ConditionWithoutItem:
		return nil
	case Throttle, ThrottleAccount, ServerError, AccessDenied, TransactionConflict:
		return f.refusal(r)
	}
	return invalid("idemddbtest: %s is not a fault of a statement", f)
}

// Deliver applies the requests that LateRequest held, in the order in which they were sent, and answers what became of each.
func (db *DB) Deliver() []Request {
	db.mu.Lock()
	defer db.mu.Unlock()
	held := db.held
	db.held = nil
	delivered := make([]Request, 0, len(held))
	for _, in := range held {
		r := db.describe(in)
		_, r.Err = db.apply(in, &r)
		db.log(r)
		delivered = append(delivered, r.clone())
	}
	return delivered
}

func (db *DB) nextFault() (Fault, func(context.Context, Request) Fault) {
	if len(db.faults) == 0 {
		return None, db.intercept
	}
	f := db.faults[0]
	db.faults = db.faults[1:]
	return f, nil
}

// refusal is the error that the service answers without applying anything, nil for other faults.
func (f Fault) refusal(r Request) error {
	switch f {
	case Throttle:
		return &types.ProvisionedThroughputExceededException{Message: new("The level of configured provisioned throughput for the table was exceeded")}
	case ThrottleAccount:
		return &types.ThrottlingException{Message: new("Rate of requests exceeds the allowed throughput")}
	case ServerError:
		return errServer()
	case AccessDenied:
		return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "User is not authorized to perform: dynamodb:" + r.action()}
	case TransactionConflict:
		switch r.Operation {
		case "TransactWriteItems":
			return errTransactionConflict(len(r.Items))
		case "BatchExecuteStatement": // an answer of its first statement
			return nil
		}
		return &types.TransactionConflictException{Message: new("Transaction is ongoing for the item")}
	case TransactionInProgress:
		return &types.TransactionInProgressException{Message: new("The transaction with the given request token is already in progress")}
	case ReplicatedWriteConflict:
		return &types.ReplicatedWriteConflictException{Message: new("Another Region is writing this item")}
	}
	return nil
}

// action is the IAM action that the request needs; a call of statements needs that of each, and the first is the one denied.
func (r Request) action() string {
	switch r.Operation {
	case "BatchExecuteStatement":
		if len(r.Items) > 0 {
			return r.Items[0].action()
		}
	case "INSERT":
		return "PartiQLInsert"
	case "UPDATE":
		return "PartiQLUpdate"
	}
	return r.Operation
}

func errTransactionConflict(parts int) error {
	reasons := make([]types.CancellationReason, parts)
	for i := range reasons {
		reasons[i].Code = new("None")
	}
	if parts > 0 {
		reasons[0] = types.CancellationReason{Code: new("TransactionConflict"), Message: new("Transaction is ongoing for the item")}
	}
	return &types.TransactionCanceledException{
		Message:             new("Transaction cancelled, please refer cancellation reasons for specific reasons [TransactionConflict]"),
		CancellationReasons: reasons,
	}
}

func errServer() error { return &types.InternalServerError{Message: new("Internal server error")} }

// stripItem takes the items out of a refusal.
func stripItem(err error) {
	if e, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		e.Item = nil
	}
	if e, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for i := range e.CancellationReasons {
			e.CancellationReasons[i].Item = nil
		}
	}
}

// call is a direct request: it answers as an SDK client does that sends every request once.
func call[Out any](ctx context.Context, db *DB, in any) (*Out, error) {
	op := operation(in)
	if ctx.Err() != nil { // never sent
		return nil, &smithy.OperationError{ServiceID: dynamodb.ServiceID, OperationName: op, Err: ctx.Err()}
	}
	out, f, err := db.receive(ctx, in)
	if f == LateReply {
		<-ctx.Done()
	}
	switch {
	case ctx.Err() != nil:
		return nil, errCanceled(ctx, op)
	case f == LostRequest, f == LostReply, f == LateRequest:
		return nil, errConnection(op)
	case f == TruncatedBody:
		return nil, operationError(op, http.StatusOK, &smithy.DeserializationError{Err: io.ErrUnexpectedEOF})
	case f == ServerErrorApplied:
		return nil, answerError(op, errServer())
	case err != nil:
		return nil, answerError(op, err)
	}
	return out.(*Out), nil
}

var errPeerReset = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

// errConnection is a connection that broke while the answer was awaited. Status 0 is what the SDK reports without a response.
func errConnection(op string) error {
	return operationError(op, 0, &smithyhttp.RequestSendError{
		Err: &url.Error{Op: "Post", URL: "https://dynamodb.us-east-1.amazonaws.com/", Err: errPeerReset},
	})
}

// errCanceled is a call whose context ended.
func errCanceled(ctx context.Context, op string) error {
	return operationError(op, 0, &smithy.CanceledError{Err: ctx.Err()})
}
