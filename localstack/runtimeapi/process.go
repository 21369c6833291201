// Package runtimeapi runs the program of a function as Lambda does: in a process of its own, beside which a server is Lambda's
// runtime API and hands it invocations. The tests and the measurements that start functions use it.
package runtimeapi

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"time"
)

// After ErrExited and ErrTimeout nothing is known of what the invocation did.
var (
	ErrExited  = errors.New("the process ended")
	ErrTimeout = errors.New("the time of the invocation is over")
)

// FunctionError is the answer of a function that failed.
type FunctionError struct{ Body []byte }

func (e *FunctionError) Error() string { return "the function failed: " + string(e.Body) }

// Invocation is what a process is invoked with. Under one process no two invocations have the same ID.
type Invocation struct {
	ID       string
	Event    []byte
	Deadline time.Time
}

// Process is an execution environment of a function. All methods may be called at once.
type Process struct {
	cmd    *exec.Cmd
	api    *httptest.Server
	exited chan struct{}

	polled  sync.Once
	asked   chan struct{} // closed when the process asks for its first invocation
	askedAt time.Time     // is written before asked is closed

	next chan Invocation

	mu      sync.Mutex
	answers map[string]chan answer // of the invocations that wait for one, by ID
}

type answer struct {
	body   []byte
	failed bool
}

// Start starts a program. It adds the address of the runtime API to cmd.Env. Call Kill in the end.
func Start(cmd *exec.Cmd) (*Process, error) {
	p := &Process{
		cmd: cmd, asked: make(chan struct{}), exited: make(chan struct{}), next: make(chan Invocation), answers: map[string]chan answer{},
	}

	// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", p.serveNext)
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{outcome}", p.serveAnswer)

	p.api = httptest.NewServer(mux)
	cmd.Env = append(cmd.Env, "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(p.api.URL, "http://"))

	if err := cmd.Start(); err != nil {
		p.api.Close()

		return nil, fmt.Errorf("start %s: %w", cmd.Path, err)
	}

	go func() {
		_ = cmd.Wait() // cmd.ProcessState has how it ended

		close(p.exited)
	}()

	return p, nil
}

// Pid is the id of the process.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Exited is closed when the process has ended and all that it printed has been read.
func (p *Process) Exited() <-chan struct{} { return p.exited }

// Asked is closed when the process asks for its first invocation.
func (p *Process) Asked() <-chan struct{} { return p.asked }

// AskedAt is the time at which the process asked for its first invocation. It may be called once Asked is closed.
func (p *Process) AskedAt() time.Time { return p.askedAt }

// Signal sends a signal to the process, which may have ended.
func (p *Process) Signal(s os.Signal) { _ = p.cmd.Process.Signal(s) }

// Kill ends the process at once, waits for its end and returns what the system says of it. Requests that the process has sent may
// still be at work elsewhere.
func (p *Process) Kill() *os.ProcessState {
	p.Signal(os.Kill)

	<-p.exited

	p.api.CloseClientConnections()
	p.api.Close()

	return p.cmd.ProcessState
}

// Invoke hands an invocation to the process as soon as the process asks for one, and returns its answer. The error is a
// *FunctionError if the function failed.
func (p *Process) Invoke(i Invocation) ([]byte, error) {
	answers := make(chan answer, 1)

	p.mu.Lock()
	p.answers[i.ID] = answers
	p.mu.Unlock()

	defer p.forget(i.ID)

	over := time.NewTimer(time.Until(i.Deadline))
	defer over.Stop()

	select {
	case p.next <- i:
	case <-p.exited:
		return nil, ErrExited
	case <-over.C:
		return nil, ErrTimeout
	}

	var a answer

	select {
	case a = <-answers:
	case <-over.C:
		return nil, ErrTimeout
	case <-p.exited:
		select {
		case a = <-answers: // a process that answers may end at once
		default:
			return nil, ErrExited
		}
	}

	if a.failed {
		return nil, &FunctionError{a.body}
	}

	return a.body, nil
}

func (p *Process) forget(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	delete(p.answers, id)
}

func (p *Process) serveNext(w http.ResponseWriter, r *http.Request) {
	p.polled.Do(func() {
		p.askedAt = time.Now()
		close(p.asked)
	})

	select {
	case i := <-p.next:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", i.ID)
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(i.Deadline.UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:payments")
		_, _ = w.Write(i.Event) // the process may be gone
	case <-r.Context().Done():
	}
}

func (p *Process) serveAnswer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process died while it answered
	}

	p.mu.Lock()
	answers := p.answers[r.PathValue("id")]
	delete(p.answers, r.PathValue("id")) // it gets one answer
	p.mu.Unlock()

	if answers != nil {
		answers <- answer{body, r.PathValue("outcome") == "error"}
	}

	w.WriteHeader(http.StatusAccepted)
}
