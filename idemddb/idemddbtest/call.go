package idemddbtest

import (
	"context"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"syscall"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// call makes a direct request. It answers as an SDK client does that sends every request once.
func call[Out any](ctx context.Context, db *DB, in any) (*Out, error) {
	op := operation(in)
	if ctx.Err() != nil { // an SDK client sends nothing after the end of its context
		return nil, &smithy.OperationError{ServiceID: dynamodb.ServiceID, OperationName: op, Err: ctx.Err()}
	}

	out, f, err := db.receive(ctx, in)
	if f == LateReply {
		<-ctx.Done()
	}

	if ctx.Err() != nil {
		return nil, errCanceled(ctx, op)
	}

	if f.breaks() {
		return nil, errConnection(op)
	}

	switch f {
	case TruncatedBody:
		return nil, operationError(op, http.StatusOK, &smithy.DeserializationError{Err: io.ErrUnexpectedEOF})
	case EmptyAnswer, EmptyAnswerApplied:
		return new(Out), nil
	case ServerErrorApplied:
		return nil, answerError(op, exception.InternalServer())
	}

	if err != nil {
		return nil, answerError(op, err)
	}

	return out.(*Out), nil
}

var errPeerReset = &net.OpError{Op: "read", Net: "tcp", Err: os.NewSyscallError("read", syscall.ECONNRESET)}

// errConnection is the error of a connection that broke while the answer was awaited. The SDK reports status 0 when there is no
// response.
func errConnection(op string) error {
	return operationError(op, 0, &smithyhttp.RequestSendError{
		Err: &url.Error{Op: "Post", URL: "https://dynamodb.us-east-1.amazonaws.com/", Err: errPeerReset},
	})
}

// errCanceled is the error of a call whose context ended.
func errCanceled(ctx context.Context, op string) error {
	return operationError(op, 0, &smithy.CanceledError{Err: ctx.Err()})
}

// answerError wraps an error of the service as the SDK does.
func answerError(op string, err error) error {
	status := http.StatusBadRequest
	if _, ok := err.(*types.InternalServerError); ok {
		status = http.StatusInternalServerError
	}

	return operationError(op, status, err)
}

func operationError(op string, status int, err error) error {
	response := &smithyhttp.Response{Response: &http.Response{StatusCode: status, Header: http.Header{}, Body: http.NoBody}}

	return &smithy.OperationError{
		ServiceID:     dynamodb.ServiceID,
		OperationName: op,
		Err:           &awshttp.ResponseError{ResponseError: &smithyhttp.ResponseError{Response: response, Err: err}},
	}
}
