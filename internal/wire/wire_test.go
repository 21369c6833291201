package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
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

// client gives the same answer to a request of each kind.
type client struct {
	item protocol.Item // nil for no output at all
	err  error
}

func (c client) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if c.item == nil {
		return nil, c.err
	}

	return &dynamodb.UpdateItemOutput{Attributes: c.item}, c.err
}

func (c client) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if c.item == nil {
		return nil, c.err
	}

	return &dynamodb.PutItemOutput{Attributes: c.item}, c.err
}

func TestWhatAnAnswerSaysOfItsRequest(t *testing.T) {
	t.Parallel()

	item, empty := protocol.Item{"pk": &types.AttributeValueMemberS{}}, protocol.Item{}
	refused := &types.ConditionalCheckFailedException{Item: item}

	for name, c := range map[string]struct {
		api     client
		outcome protocol.Outcome
		hasItem bool
		err     error
	}{
		"it was applied":                 {client{item, nil}, protocol.Applied, true, nil},
		"an answer without attributes":   {client{empty, nil}, protocol.Unknown, false, protocol.ErrNoContent},
		"neither an answer nor an error": {client{nil, nil}, protocol.Unknown, false, protocol.ErrNoContent},
		"an answer and an error":         {client{item, io.EOF}, protocol.Unknown, false, io.EOF},
		"it was refused":                 {client{nil, refused}, protocol.Refused, true, refused},
	} {
		for kind, r := range map[string]protocol.Request{"UpdateItem": {Update: &dynamodb.UpdateItemInput{}}, "PutItem": {Put: &dynamodb.PutItemInput{}}} {
			got := wire.Send(t.Context(), c.api, r)
			if got.Outcome != c.outcome || len(got.Item) > 0 != c.hasItem || !errors.Is(got.Err, c.err) {
				t.Errorf("%s, %s: got %+v, want outcome %d, an item %t, error %v", kind, name, got, c.outcome, c.hasItem, c.err)
			}
		}
	}
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
