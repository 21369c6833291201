package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
)

// forwardStatements sends each statement of a shared request by itself. To DynamoDB they are writes of their own, too, that share
// nothing but the way. On DynamoDB Local some shared requests did not end for half a minute under load, for a reason that we have
// not found.
func (w *world) forwardStatements(r *http.Request, body []byte) (status int, answer []byte) {
	var in struct {
		Statements []json.RawMessage `json:"Statements"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return http.StatusInternalServerError, []byte("{}")
	}

	var out struct {
		Responses        []statementResponse `json:"Responses"`
		ConsumedCapacity []json.RawMessage   `json:"ConsumedCapacity"`
	}

	out.Responses = make([]statementResponse, len(in.Statements))

	var group sync.WaitGroup
	for i, statement := range in.Statements {
		group.Go(func() { out.Responses[i] = w.forwardStatement(r, statement) })
	}

	group.Wait()

	for _, response := range out.Responses {
		if response.consumed != nil {
			out.ConsumedCapacity = append(out.ConsumedCapacity, response.consumed)
		}
	}

	answer, err := json.Marshal(out)
	if err != nil {
		return http.StatusInternalServerError, []byte("{}")
	}

	return http.StatusOK, answer
}

// statementResponse is the answer to one statement in that of a shared request.
type statementResponse struct {
	Error     *statementError `json:"Error,omitempty"`
	Item      json.RawMessage `json:"Item,omitempty"`
	TableName string          `json:"TableName,omitempty"`

	consumed json.RawMessage
}

func (w *world) forwardStatement(r *http.Request, statement []byte) statementResponse {
	one := r.Clone(r.Context())
	one.Header.Set("X-Amz-Target", "DynamoDB_20120810.ExecuteStatement")

	status, answer := w.forward(one, statement)

	var out struct {
		Type             string            `json:"__type"`
		Message          string            `json:"message"`
		Item             json.RawMessage   `json:"Item"`
		Items            []json.RawMessage `json:"Items"`
		ConsumedCapacity json.RawMessage   `json:"ConsumedCapacity"`
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		return statementResponse{Error: &statementError{Code: "InternalServerError", Message: "the answer cannot be read"}}
	}

	if status != http.StatusOK {
		_, code, _ := strings.Cut(out.Type, "#")

		return statementResponse{Error: &statementError{strings.TrimSuffix(code, "Exception"), out.Message, out.Item}}
	}

	response := statementResponse{TableName: w.records, consumed: out.ConsumedCapacity}
	if len(out.Items) > 0 {
		response.Item = out.Items[0]
	}

	return response
}
