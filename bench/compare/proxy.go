package main

import (
	"bytes"
	"encoding/json"
	"hash/crc32"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// A transaction holds its items for so long: DynamoDB refuses other writes to them meanwhile, and DynamoDB Local never does.
const transactionTime = 5 * time.Millisecond

// action is one write of an item as the SDKs send it: a request, or an element of a transaction.
type action struct {
	TableName string           `json:"TableName"`
	Key       map[string]any   `json:"Key"`
	Item      map[string]any   `json:"Item"`
	Values    map[string]value `json:"ExpressionAttributeValues"`
}

// value is the value of an attribute, where it is text.
type value struct {
	S string `json:"S"`
}

// requestBody is what the proxy reads of a request.
type requestBody struct {
	action

	ClientRequestToken string            `json:"ClientRequestToken"`
	TransactItems      []transactionItem `json:"TransactItems"`
}

type transactionItem struct {
	Put            *action `json:"Put"`
	Update         *action `json:"Update"`
	Delete         *action `json:"Delete"`
	ConditionCheck *action `json:"ConditionCheck"`
}

func (b requestBody) actions() []action {
	if len(b.TransactItems) == 0 {
		return []action{b.action}
	}

	var all []action

	for _, item := range b.TransactItems {
		for _, a := range []*action{item.Put, item.Update, item.Delete, item.ConditionCheck} {
			if a != nil {
				all = append(all, *a)
			}
		}
	}

	return all
}

// item is the identity of the item that an action writes, "" for none.
func (a action) item() string {
	key := a.Key
	if key == nil {
		key = map[string]any{}

		for _, name := range []string{"pk", "id"} {
			if v, ok := a.Item[name]; ok {
				key[name] = v
			}
		}
	}

	if len(key) == 0 {
		return ""
	}

	text, _ := json.Marshal(key) //nolint:errchkjson // it was JSON

	return a.TableName + string(text)
}

// serveDynamoDB is the DynamoDB of a process: DynamoDB Local behind the faults of the scenario.
func (w *world) serveDynamoDB(p *process) http.HandlerFunc {
	return func(answer http.ResponseWriter, r *http.Request) {
		raw, err := io.ReadAll(r.Body)
		if err != nil {
			return // the process is gone
		}

		var body requestBody
		if err := json.Unmarshal(raw, &body); err != nil {
			panic(http.ErrAbortHandler)
		}

		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		w.measure.requests.Add(1)
		payments := w.paymentsOf(body)

		fault := w.pick(p, len(payments))
		if !w.admit(answer, fault) {
			return
		}

		release, held := w.locks.hold(operation, body.actions())
		if held >= 0 {
			w.conflict(answer, operation, body, held)

			return
		}
		defer release()

		status, out := w.apply(r, operation, raw)
		w.measure.count(operation, body, status, out)

		if status == http.StatusOK {
			unheard := fault == cutAfter || r.Context().Err() != nil
			w.happened(p, body.ClientRequestToken, payments, unheard)
		}

		if fault == cutAfter {
			panic(http.ErrAbortHandler)
		}

		if fault == strikeAfter {
			w.strike(p)
		}

		reply(answer, status, out)
	}
}

// admit answers a request that does not get through. It returns false for one.
func (w *world) admit(answer http.ResponseWriter, f fault) bool {
	switch f {
	case cutBefore:
		panic(http.ErrAbortHandler)
	case throttle:
		w.measure.throttled.Add(1)
		refuse(answer, "ProvisionedThroughputExceededException", nil)

		return false
	default:
		return true
	}
}

// paymentsOf returns the payments whose effect the request is.
func (w *world) paymentsOf(body requestBody) []string {
	var all []string

	for _, a := range body.actions() {
		if v, ok := a.Values[":payment"]; ok && a.TableName == w.accounts {
			all = append(all, v.S)
		}
	}

	return all
}

// apply lets DynamoDB Local apply a request. One transaction goes at a time, because two that name the same items in another
// order can wait for each other there.
func (w *world) apply(r *http.Request, operation string, body []byte) (status int, answer []byte) {
	switch operation {
	case "BatchExecuteStatement":
		return w.forwardStatements(r, body)
	case "TransactWriteItems":
		w.transaction.Lock()
		defer w.transaction.Unlock()
	}

	return w.forward(r, body)
}

func (w *world) forward(r *http.Request, body []byte) (status int, answer []byte) {
	//nolint:noctx // a request arrives also after its sender has gone
	out, err := http.NewRequest(http.MethodPost, w.dynamo, bytes.NewReader(withCapacity(body)))
	if err != nil {
		panic(err)
	}

	for _, name := range []string{"X-Amz-Target", "Content-Type", "Authorization", "X-Amz-Date", "X-Amz-Security-Token"} {
		if v := r.Header.Get(name); v != "" {
			out.Header.Set(name, v)
		}
	}

	response, err := w.client.Do(out)
	if err != nil {
		return http.StatusInternalServerError, []byte("{}")
	}
	defer response.Body.Close() //nolint:errcheck // read to its end

	answer, err = io.ReadAll(response.Body)
	if err != nil {
		return http.StatusInternalServerError, []byte("{}")
	}

	return response.StatusCode, answer
}

// withCapacity asks for the write units, which cost nothing.
func withCapacity(body []byte) []byte {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		return body
	}

	fields["ReturnConsumedCapacity"] = json.RawMessage(`"TOTAL"`)

	changed, err := json.Marshal(fields)
	if err != nil {
		return body
	}

	return changed
}

// locks are the items that transactions hold.
type locks struct {
	mu   sync.Mutex
	held map[string]bool
}

// hold holds the items of a transaction for transactionTime and until release is called. If another transaction holds an item of
// a write, it returns the index of that item, else −1.
func (l *locks) hold(operation string, actions []action) (release func(), conflict int) {
	switch operation {
	case "UpdateItem", "PutItem", "DeleteItem":
		return func() {}, l.conflict(actions)
	case "TransactWriteItems":
	default:
		return func() {}, -1
	}

	if conflict := l.take(actions); conflict >= 0 {
		return nil, conflict
	}

	pause(transactionTime)

	return func() { l.release(actions) }, -1
}

func (l *locks) conflict(actions []action) int {
	l.mu.Lock()
	defer l.mu.Unlock()

	return slices.IndexFunc(actions, func(a action) bool { return l.held[a.item()] })
}

func (l *locks) take(actions []action) (conflict int) {
	l.mu.Lock()
	defer l.mu.Unlock()

	if i := slices.IndexFunc(actions, func(a action) bool { return l.held[a.item()] }); i >= 0 {
		return i
	}

	for _, a := range actions {
		l.held[a.item()] = true
	}

	return -1
}

func (l *locks) release(actions []action) {
	l.mu.Lock()
	defer l.mu.Unlock()

	for _, a := range actions {
		delete(l.held, a.item())
	}
}

func (w *world) conflict(answer http.ResponseWriter, operation string, body requestBody, held int) {
	w.measure.conflicts.Add(1)

	if operation != "TransactWriteItems" {
		refuse(answer, "TransactionConflictException", nil)

		return
	}

	reasons := make([]map[string]string, len(body.TransactItems))
	for i := range reasons {
		reasons[i] = map[string]string{"Code": "None"}
	}

	reasons[held] = map[string]string{"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item"}
	refuse(answer, "TransactionCanceledException", map[string]any{"CancellationReasons": reasons})
}

func refuse(answer http.ResponseWriter, code string, more map[string]any) {
	body := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": code, "Message": code}
	maps.Copy(body, more)

	text, _ := json.Marshal(body) //nolint:errchkjson // strings and maps of them
	reply(answer, http.StatusBadRequest, text)
}

func reply(answer http.ResponseWriter, status int, body []byte) {
	answer.Header().Set("Content-Type", "application/x-amz-json-1.0")
	answer.Header().Set("X-Amz-Crc32", strconv.FormatUint(uint64(crc32.ChecksumIEEE(body)), 10)) // SDKs compare it
	answer.WriteHeader(status)
	_, _ = answer.Write(body) //nolint:gosec // no browser reads it, and the process may be gone
}
