package wire_test

import (
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// coded returns the error of an answer with one of DynamoDB's codes.
func coded(code string) error { return &smithy.GenericAPIError{Code: code} }

// withStatus returns the error of an answer with a status of HTTP.
func withStatus(status int, err error) error {
	return &smithyhttp.ResponseError{Response: &smithyhttp.Response{Response: &http.Response{StatusCode: status}}, Err: err}
}

func TestWhatAnErrorSaysOfItsRequest(t *testing.T) {
	t.Parallel()

	const noCode = "InvalidRequest"

	for name, c := range map[string]struct {
		err                error
		transient, unknown bool
		code               string
	}{
		"no error":                               {nil, false, false, noCode},
		"the condition was false":                {&types.ConditionalCheckFailedException{}, false, false, "ConditionalCheckFailedException"},
		"throttled":                              {withStatus(400, coded("ThrottlingException")), true, false, "ThrottlingException"},
		"a conflict":                             {coded("TransactionConflictException"), true, false, "TransactionConflictException"},
		"DynamoDB failed":                        {coded("InternalServerError"), true, true, "InternalServerError"},
		"a server failed, whatever its code":     {withStatus(503, coded("AccessDeniedException")), true, true, "AccessDeniedException"},
		"a server failed, with the first status": {withStatus(500, coded("AccessDeniedException")), true, true, "AccessDeniedException"},
		"a server failed, without a code":        {withStatus(500, io.EOF), true, true, noCode},
		"an answer without a response":           {&smithyhttp.ResponseError{Err: coded("AccessDeniedException")}, false, false, "AccessDeniedException"},
		"a response that is empty":               {&smithyhttp.ResponseError{Response: &smithyhttp.Response{}, Err: io.EOF}, true, true, noCode},
		"denied":                                 {withStatus(400, coded("AccessDeniedException")), false, false, "AccessDeniedException"},
		"a code that nobody knows":               {coded("SomethingNew"), false, false, "SomethingNew"},
		"an empty code":                          {coded(""), false, false, ""},
		"the request is invalid":                 {coded("ValidationException"), false, false, "ValidationException"},
		"the request cannot be encoded":          {&smithy.SerializationError{Err: io.EOF}, false, false, noCode},
		"the request lacks a parameter":          {&smithy.InvalidParamsError{}, false, false, noCode},
		"the sender does not want another try":   {wire.ErrFinal, false, false, noCode},
		"no answer":                              {io.ErrUnexpectedEOF, true, true, noCode},
		"an answer without content":              {protocol.ErrNoContent, true, true, noCode},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			errs := []error{c.err}
			if c.err != nil {
				errs = append(errs, fmt.Errorf("wrapped: %w", c.err))
			}

			for _, err := range errs {
				if transient, unknown := wire.IsTransient(err), wire.OutcomeOf(err) == protocol.Unknown; transient != c.transient || unknown != c.unknown {
					t.Errorf("%v: transient %t, unknown %t, want %t, %t", err, transient, unknown, c.transient, c.unknown)
				}

				if code := wire.Code(err); code != c.code {
					t.Errorf("%v: code %q, want %q", err, code, c.code)
				}
			}
		})
	}
}
