//go:build chaos

package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// fault is what happens to a request to DynamoDB or SQS.
type fault int

const (
	none         fault = iota
	lost               // not applied; the connection is cut
	replyLost          // applied; the connection is cut
	serverError        // not applied; HTTP 500
	appliedError       // applied; HTTP 500
	throttled          // not applied
	denied             // not applied
	conflict           // not applied, because another transaction is under way on an item: DynamoDB Local never says that
	hanging            // not applied, never answered
	hangingApply       // applied, never answered
	late               // never answered; applied 1 to 6 s later
	slow               // applied and answered after 0.2 to 1.5 s
	empty              // applied; answered with an empty object
	half               // applied; answered with half a reply
	notNow             // one statement of a shared request is throttled; the others are applied
)

// odds are how many of 1,000 requests have a fault.
type odds map[fault]int

// services are what the processes of a run talk to.
type services struct{ dynamo, queues *backend }

// calm ends all faults, and waits for the requests that are late.
func (s services) calm() {
	for _, b := range []*backend{s.dynamo, s.queues} {
		b.calm.Store(true)
		b.away.Store(false)
		b.pending.Wait()
	}
}

// backend is DynamoDB Local or the queues, behind the faults of a scenario. All processes of a run share it.
type backend struct {
	url     string
	client  *http.Client
	odds    odds
	records odds // of requests on the records alone, in place of odds, if it is not nil

	calm     atomic.Bool // no faults
	away     atomic.Bool // an outage: all requests are lost
	requests atomic.Int64
	pending  sync.WaitGroup // requests that will arrive late

	mu     sync.Mutex
	random *rand.Rand
}

func newBackend(t *testing.T, url string, o odds, random *rand.Rand) *backend {
	t.Helper()

	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)

	return &backend{url: url, client: &http.Client{Transport: transport}, odds: o, random: random}
}

// pick draws the fault of a request.
func (b *backend) pick(operation string) fault {
	if b.calm.Load() {
		return none
	}

	if b.away.Load() {
		return lost
	}

	table := b.odds
	if b.records != nil && operation != "TransactWriteItems" {
		table = b.records
	}

	b.mu.Lock()
	defer b.mu.Unlock()

	n := b.random.IntN(1000)

	for f := lost; f <= notNow; f++ {
		if n -= table[f]; n < 0 {
			return f
		}
	}

	return none
}

func (b *backend) between(low, high time.Duration) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()

	return low + time.Duration(b.random.Int64N(int64(high-low)))
}

// proxy returns a server for one process. strike is called for each request, before and after it is applied.
func (b *backend) proxy(strike func(moment)) *httptest.Server {
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the process is gone
		}

		b.requests.Add(1)
		strike(beforeRequest)

		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		b.serve(w, sentRequest{r.Header.Clone(), operation, body, r.Context()}, func() { strike(afterRequest) })
	}))
}

// sentRequest is a request as a process has sent it.
type sentRequest struct {
	header    http.Header
	operation string
	body      []byte
	sender    context.Context
}

func (b *backend) serve(w http.ResponseWriter, r sentRequest, applied func()) {
	f := b.pick(r.operation)

	switch f {
	case lost:
		panic(http.ErrAbortHandler)
	case serverError:
		refuse(w, http.StatusInternalServerError, "InternalServerError", nil)

		return
	case throttled:
		refuse(w, http.StatusBadRequest, "ProvisionedThroughputExceededException", nil)

		return
	case denied:
		refuse(w, http.StatusBadRequest, "AccessDeniedException", nil)

		return
	case conflict:
		refuseConflict(w, r)

		return
	case hanging:
		<-r.sender.Done()

		return
	case late:
		b.pending.Go(func() {
			pass(b.between(time.Second, 6*time.Second))
			_, _ = b.forward(r)
		})
		<-r.sender.Done()

		return
	case slow:
		pass(b.between(200*time.Millisecond, 1500*time.Millisecond))
	case notNow:
		if b.serveWithoutOne(w, r) {
			return
		}
	default:
	}

	status, answer := b.forward(r)
	applied()

	switch f {
	case replyLost:
		panic(http.ErrAbortHandler)
	case appliedError:
		refuse(w, http.StatusInternalServerError, "InternalServerError", nil)
	case hangingApply:
		<-r.sender.Done()
	case empty:
		status, answer = http.StatusOK, []byte("{}")
		reply(w, status, answer)
	case half:
		reply(w, status, answer[:len(answer)/2])
	default:
		reply(w, status, answer)
	}
}

// forward applies a request, also after its sender has gone.
func (b *backend) forward(r sentRequest) (status int, answer []byte) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.sender), 20*time.Second)
	defer cancel()

	out, err := http.NewRequestWithContext(ctx, http.MethodPost, b.url, bytes.NewReader(r.body))
	if err != nil {
		panic(err)
	}

	out.Header = r.header

	res, err := b.client.Do(out)
	if err != nil {
		return http.StatusInternalServerError, []byte("{}")
	}
	defer res.Body.Close()

	answer, err = io.ReadAll(res.Body)
	if err != nil {
		return http.StatusInternalServerError, []byte("{}")
	}

	return res.StatusCode, answer
}

// serveWithoutOne answers one statement of a shared request as throttled and applies the others. It returns false for other
// requests.
func (b *backend) serveWithoutOne(w http.ResponseWriter, r sentRequest) bool {
	var in map[string]json.RawMessage

	var statements []json.RawMessage
	if r.operation != "BatchExecuteStatement" || json.Unmarshal(r.body, &in) != nil || json.Unmarshal(in["Statements"], &statements) != nil ||
		len(statements) < 2 {
		return false
	}

	b.mu.Lock()
	left := b.random.IntN(len(statements))
	b.mu.Unlock()

	in["Statements"] = encode(append(append([]json.RawMessage{}, statements[:left]...), statements[left+1:]...))
	r.body = encode(in)
	status, answer := b.forward(r)

	var out map[string]json.RawMessage

	var responses []json.RawMessage
	if status != http.StatusOK || json.Unmarshal(answer, &out) != nil || json.Unmarshal(out["Responses"], &responses) != nil {
		reply(w, status, answer)

		return true
	}

	throttle := json.RawMessage(`{"Error":{"Code":"ThrottlingError","Message":"chaos"}}`)
	out["Responses"] = encode(append(append(append([]json.RawMessage{}, responses[:left]...), throttle), responses[left:]...))
	reply(w, status, encode(out))

	return true
}

func refuseConflict(w http.ResponseWriter, r sentRequest) {
	if r.operation != "TransactWriteItems" {
		refuse(w, http.StatusBadRequest, "TransactionConflictException", nil)

		return
	}

	var in struct{ TransactItems []json.RawMessage }

	_ = json.Unmarshal(r.body, &in)

	reasons := make([]map[string]string, len(in.TransactItems))
	for i := range reasons {
		reasons[i] = map[string]string{"Code": "None"}
	}

	reasons[len(reasons)-1]["Code"] = "TransactionConflict"
	refuse(w, http.StatusBadRequest, "TransactionCanceledException", map[string]any{"CancellationReasons": reasons})
}

func refuse(w http.ResponseWriter, status int, code string, more map[string]any) {
	answer := map[string]any{"__type": "com.amazonaws.dynamodb.v20120810#" + code, "message": "chaos", "Message": "chaos"}
	maps.Copy(answer, more)

	reply(w, status, encode(answer))
}

func reply(w http.ResponseWriter, status int, answer []byte) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)
	_, _ = w.Write(answer)
}

func encode(v any) []byte {
	encoded, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}

	return encoded
}
