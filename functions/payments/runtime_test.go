package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/localstack/runtimeapi"
)

var soak = flag.Duration("soak", 0, "how long the tests under the runtime of aws-lambda-go pay; 0: a few hundred payments")

// asFunction is set in the environment of a process that is the function.
const asFunction = "PAYMENTS_AS_FUNCTION"

func TestMain(m *testing.M) {
	if os.Getenv(asFunction) != "" {
		beFunction()
	}

	os.Exit(m.Run())
}

// beFunction is main, but for an event that makes the invocation panic outside of the wrapper, and one that prints what the idle
// process has.
func beFunction() {
	handle, err := wire(context.Background())
	if err != nil {
		panic(err)
	}

	lambda.Start(func(ctx context.Context, event events.SQSEvent) (events.SQSEventResponse, error) {
		if lc, ok := lambdacontext.FromContext(ctx); ok {
			fmt.Fprintf(os.Stdout, "{\"began\":%q}\n", lc.AwsRequestID)
		}

		switch event.Records[0].Body {
		case "panic":
			panic("an invocation panics")
		case "idle":
			runtime.GC()

			var memory runtime.MemStats

			runtime.ReadMemStats(&memory)
			fmt.Fprintf(os.Stdout, "{\"goroutines\":%d,\"heap\":%d}\n", runtime.NumGoroutine(), memory.HeapAlloc)

			return events.SQSEventResponse{}, nil
		}

		return handle(ctx, event)
	})
}

// environment is what AWS does for processes of the function: its pollers, its queues and its tables.
type environment struct {
	*testing.T

	db    *idemddbtest.DB
	queue chan []events.SQSMessage
	atA   int // invocations at a time

	mu        sync.Mutex
	invoked   int
	left      map[string]bool // ids of messages that are not done
	failures  int             // invocations that failed
	lost      []string        // request ids that had no answer when the last process ended
	sends     int
	announced map[string]bool // bodies
	allDone   chan struct{}

	connections      int // of processes with DynamoDB and SQS, now
	goroutines, heap int // of the last process, when it is idle
	answeredWhenIdle chan struct{}
}

// connected counts the connections of processes.
func (e *environment) connected(_ net.Conn, state http.ConnState) {
	e.mu.Lock()
	defer e.mu.Unlock()

	switch state { //nolint:exhaustive // the others change nothing
	case http.StateNew:
		e.connections++
	case http.StateClosed:
		e.connections--
	}
}

// poll invokes a process with what comes next in the queue. It returns false when the process has ended.
func (e *environment) poll(p *runtimeapi.Process) bool {
	var batch []events.SQSMessage

	select {
	case batch = <-e.queue:
	case <-p.Exited():
		return false
	}

	event, err := json.Marshal(events.SQSEvent{Records: batch})
	if err != nil {
		e.Error(err)
	}

	e.mu.Lock()
	e.invoked++
	id := fmt.Sprint("request-", e.invoked)
	e.mu.Unlock()

	answer, err := p.Invoke(runtimeapi.Invocation{ID: id, Event: event, Deadline: time.Now().Add(4 * time.Second)})

	e.mu.Lock()
	defer e.mu.Unlock()

	if _, failed := errors.AsType[*runtimeapi.FunctionError](err); failed {
		e.failures++

		return true
	}

	var response events.SQSEventResponse

	switch {
	case errors.Is(err, runtimeapi.ErrExited):
		e.lost = append(e.lost, id)
	case err == nil:
		if err := json.Unmarshal(answer, &response); err != nil {
			e.Errorf("the answer of %s: %v: %s", id, err, answer)
		}
	}

	if batch[0].Body == "idle" {
		close(e.answeredWhenIdle)

		return true
	}

	for _, m := range batch {
		isFailed := func(f events.SQSBatchItemFailure) bool { return f.ItemIdentifier == m.MessageId }
		if err != nil || slices.ContainsFunc(response.BatchItemFailures, isFailed) {
			e.again(m)
		} else {
			e.done(m)
		}
	}

	return true
}

func (e *environment) done(m events.SQSMessage) {
	wasLeft := e.left[m.MessageId] // a process that is lost may have done it before
	if delete(e.left, m.MessageId); wasLeft && len(e.left) == 0 {
		close(e.allDone)
	}
}

// again delivers a message once more, after a moment.
func (e *environment) again(m events.SQSMessage) {
	receives, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
	m.Attributes = map[string]string{"ApproximateReceiveCount": strconv.Itoa(receives + 1)}
	time.AfterFunc(200*time.Millisecond, func() { e.queue <- []events.SQSMessage{m} })
}

// send is SQS's SendMessageBatch.
func (e *environment) send(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Entries []struct{ Id, MessageBody string } //nolint:revive // as SQS names it
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		e.Error(err)
	}

	out := map[string][]map[string]string{"Successful": {}, "Failed": {}}

	e.mu.Lock()
	defer e.mu.Unlock()

	e.sends++

	for _, entry := range in.Entries {
		e.announced[entry.MessageBody] = true
		out["Successful"] = append(out["Successful"], map[string]string{"Id": entry.Id, "MessageId": entry.Id, "MD5OfMessageBody": ""})
	}

	w.Header().Set("Content-Type", "application/x-amz-json-1.0")

	if err := json.NewEncoder(w).Encode(out); err != nil {
		e.Error(err)
	}
}

// start starts a process of the function and its pollers. It returns it with a function that waits for its end, and returns the
// ids of the invocations that had begun and got no answer.
func (e *environment) start() (p *runtimeapi.Process, wait func() []string) {
	e.Helper()

	cmd := exec.CommandContext(e.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), asFunction+"=1", fmt.Sprint("AWS_LAMBDA_MAX_CONCURRENCY=", e.atA),
		"AWS_LAMBDA_FUNCTION_NAME=payments", "AWS_LAMBDA_LOG_FORMAT=JSON")

	var out, errs bytes.Buffer

	cmd.Stdout, cmd.Stderr = &out, &errs
	e.lost = nil

	p, err := runtimeapi.Start(cmd)
	if err != nil {
		e.Fatal(err)
	}

	var pollers sync.WaitGroup
	for range e.atA {
		pollers.Go(func() {
			for e.poll(p) {
			}
		})
	}

	return p, func() (cut []string) {
		pollers.Wait()
		p.Kill() // it has ended, and its runtime API ends with it

		if strings.Contains(errs.String(), "DATA RACE") {
			e.Error(errs.String())
		}

		for line := range bytes.Lines(out.Bytes()) { // of the log and of the metrics
			var entry struct {
				Began            string
				Goroutines, Heap int
			}

			if err := json.Unmarshal(line, &entry); err != nil {
				e.Errorf("a line is torn: %s", line)
			}

			if entry.Goroutines > 0 {
				e.goroutines, e.heap = entry.Goroutines, entry.Heap
			}

			if slices.Contains(e.lost, entry.Began) {
				cut = append(cut, entry.Began)
			}
		}

		return cut
	}
}

// fill puts two messages of each payment into the queue, in batches.
func (e *environment) fill(payments, size int) {
	var all []events.SQSMessage

	for i := range 2 * payments {
		m := events.SQSMessage{
			MessageId: fmt.Sprint("m-", i), EventSourceARN: "arn:aws:sqs:eu-west-1:1:payments", EventSource: "aws:sqs",
			Attributes: map[string]string{"ApproximateReceiveCount": "1"},
			Body:       fmt.Sprintf(`{"paymentId":"p-%d","account":"a-%d","amount":1}`, i/2, i/2%50),
		}
		e.left[m.MessageId] = true
		all = append(all, m)
	}

	for i := range all { // the two messages of a payment come near to each other
		j := min(len(all)-1, i+rand.IntN(4*size))
		all[i], all[j] = all[j], all[i]
	}

	e.queue = make(chan []events.SQSMessage, len(all)+1)
	for len(all) > 0 {
		n := min(size, len(all))
		e.queue <- all[:n:n]
		all = all[n:]
	}
}

// TestUnderTheRuntime pays under the runtime of aws-lambda-go, with many invocations at a time. In the middle of it one
// invocation panics, which ends its process when the others that have begun have answered, and another process gets SIGTERM.
func TestUnderTheRuntime(t *testing.T) {
	for _, atA := range []int{16, 64} {
		for _, size := range []int{1, 10} {
			if testing.Short() && (atA != 16 || size != 10) {
				continue
			}

			t.Run(fmt.Sprintf("%d at a time, batches of %d", atA, size), func(t *testing.T) { payUnderTheRuntime(t, atA, size) })
		}
	}
}

func payUnderTheRuntime(t *testing.T, atA, size int) {
	t.Helper()

	e := &environment{
		T: t, atA: atA, left: map[string]bool{}, announced: map[string]bool{},
		allDone: make(chan struct{}), answeredWhenIdle: make(chan struct{}),
		db: audited.Tables(t, nil, idemddbtest.CreateTable("records", ""), idemddbtest.CreateTable("accounts", "")),
	}
	audited.DB(t, e.db, nil, audit.Options{})

	payments := max(300, int(soak.Seconds()*900)) // some hundred are made in a second
	e.fill(payments, size)

	dynamo, queue := e.serve(e.db.Handler()), e.serve(http.HandlerFunc(e.send))

	stand.Env(t, map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": dynamo.URL, "AWS_ENDPOINT_URL_SQS": queue.URL, "WORKERS": strconv.Itoa(size),
		"CAPTURED_QUEUE_URL": queue.URL + "/1/captured",
	})

	begun := time.Now()

	_, wait := e.start()
	e.whenLeft(2 * payments * 2 / 3)

	e.queue <- []events.SQSMessage{{Body: "panic"}}

	// The runtime cancels its requests for further invocations. One that Lambda was handing over has no answer then, and has not
	// begun.
	if cut := wait(); len(cut) > 0 || e.failures != 1 {
		t.Errorf("after a panic in one invocation, %v had begun and got no answer, and %d failed; want none and 1", cut, e.failures)
	}

	process, wait := e.start()
	e.whenLeft(2 * payments / 3)
	process.Signal(syscall.SIGTERM)
	wait()

	process, wait = e.start()

	select {
	case <-e.allDone:
	case <-time.After(time.Minute + *soak):
		t.Errorf("some of the messages are not done after %v", time.Since(begun))
	}

	e.queue <- []events.SQSMessage{{Body: "idle"}}

	select {
	case <-e.answeredWhenIdle:
	case <-process.Exited():
		t.Error("the process has ended")
	}

	connections := e.connectionsNow()
	process.Kill()

	wait()
	e.check(payments)

	// However many payments were made: the loops of the runtime and their connections, and those of the clients.
	if e.goroutines > 4*atA+4*connections+20 || connections > atA+20 || e.heap > 16<<20 {
		t.Errorf("an idle process has %d goroutines, %d connections and %d bytes on its heap", e.goroutines, connections, e.heap)
	}

	t.Logf("%d payments, each twice, in %v: %.2f requests of DynamoDB and %.2f of SQS a message; idle: %d connections, %d goroutines, %d KB",
		payments, time.Since(begun).Round(time.Millisecond), float64(len(e.db.Requests()))/float64(2*payments), float64(e.sends)/float64(payments),
		connections, e.goroutines, e.heap>>10)
}

// serve starts a server whose connections are counted.
func (e *environment) serve(handler http.Handler) *httptest.Server {
	s := httptest.NewUnstartedServer(handler)
	s.Config.ConnState = e.connected
	s.Start()
	e.Cleanup(s.Close)

	return s
}

func (e *environment) connectionsNow() int {
	e.mu.Lock()
	defer e.mu.Unlock()

	return e.connections
}

// whenLeft waits until at most n messages are not done.
func (e *environment) whenLeft(n int) {
	for end := time.Now().Add(time.Minute + *soak); ; {
		e.mu.Lock()
		left := len(e.left)
		e.mu.Unlock()

		if left <= n || time.Now().After(end) {
			return
		}

		<-time.After(5 * time.Millisecond)
	}
}

// check demands that each payment was made once, and that its announcement was sent or is in its record.
func (e *environment) check(payments int) {
	e.Helper()

	entries, balance := 0, 0

	for _, item := range e.db.Items("accounts") {
		if key, _ := item["pk"].(*types.AttributeValueMemberS); strings.HasPrefix(key.Value, "payment#") {
			entries++
		} else if sum, ok := item["balance"].(*types.AttributeValueMemberN); ok {
			n, _ := strconv.Atoi(sum.Value)
			balance += n
		}
	}

	unsent := 0

	for _, item := range e.db.Items("records") {
		if _, ok := item["outbox"]; ok {
			unsent++
		}
	}

	if entries != payments || balance != payments || len(e.announced)+unsent < payments {
		e.Errorf("%d payments have %d entries and a balance of %d, %d announcements and %d unsent ones",
			payments, entries, balance, len(e.announced), unsent)
	}
}
