package idemddbtest

import (
	"fmt"
	"net/http"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
)

var errNotNumber = invalid("A value provided cannot be converted into a number")

// invalid returns a ValidationException. The SDK has no type for it, and leaves the fault of such errors unknown.
func invalid(format string, args ...any) error {
	return &smithy.GenericAPIError{Code: "ValidationException", Message: fmt.Sprintf(format, args...)}
}

func errNoTable() error {
	return &types.ResourceNotFoundException{Message: new("Cannot do operations on a non-existent table")}
}

func errCondition(it item) error {
	return &types.ConditionalCheckFailedException{Message: new("The conditional request failed"), Item: copyItem(it)}
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
