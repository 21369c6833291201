package main

import (
	"context"
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
	"syscall"
	"time"
)

// process is an execution environment of the function: a process with a Lambda runtime API, a DynamoDB and a bank of its own beside it.
type process struct {
	cmd     *exec.Cmd
	servers []*httptest.Server
	began   chan struct{} // closed when it was started
	ready   chan struct{} // closed when it asks for its first invocation
	exited  chan struct{}
	next    chan *invocation
	log     io.WriteCloser

	since   time.Time
	polled  sync.Once
	started time.Duration // until it asked for its first invocation
	idle    time.Duration // processor time until then

	stopping sync.WaitGroup // until it was continued, and has had its moment

	mu      sync.Mutex
	current *invocation
}

// invocation is a batch at work.
type invocation struct {
	id       string
	event    []byte
	deadline time.Time
	began    time.Time
	answered chan response
	ended    time.Time

	// Guarded by world.mu.
	struck bool // a strike has hit it: what it did cannot be known to it
}

type response struct {
	body   []byte
	failed bool
}

var errKilled, errTimeout = errors.New("the process ended"), errors.New("the time was over")

// start starts a process.
func (w *world) start(ctx context.Context) (*process, error) {
	p := &process{next: make(chan *invocation), ready: make(chan struct{}), exited: make(chan struct{}), began: make(chan struct{}), since: time.Now()}
	runtime := httptest.NewServer(http.HandlerFunc(p.serveRuntime))
	dynamo, bank := httptest.NewServer(w.serveDynamoDB(p)), httptest.NewServer(w.serveBank(p))
	p.servers = []*httptest.Server{runtime, dynamo, bank}

	log, err := os.OpenFile(w.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}

	command := w.contender.command
	p.cmd, p.log = exec.CommandContext(ctx, command[0], command[1:]...), log //nolint:gosec // a contender
	p.cmd.Stdout, p.cmd.Stderr = log, log
	p.cmd.Env = w.contender.environment(
		"AWS_LAMBDA_RUNTIME_API="+host(runtime), "AWS_ENDPOINT_URL_DYNAMODB="+dynamo.URL, "BANK="+host(bank),
		"RECORDS="+w.records, "ACCOUNTS="+w.accounts,
	)

	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", w.contender.name, err)
	}

	close(p.began)

	go func() {
		_ = p.cmd.Wait() // it is killed in the end

		close(p.exited)
	}()

	return p, nil
}

func host(s *httptest.Server) string { return strings.TrimPrefix(s.URL, "http://") }

// invoke runs an invocation. After an error nothing is known of what it did.
func (p *process) invoke(i *invocation) ([]byte, error) {
	i.answered = make(chan response, 1)

	select {
	case p.next <- i:
	case <-p.exited:
		return nil, errKilled
	}

	over := time.NewTimer(time.Until(i.deadline))
	defer over.Stop()

	select {
	case r := <-i.answered:
		if r.failed {
			return nil, fmt.Errorf("the function failed: %s", r.body)
		}

		return r.body, nil
	case <-p.exited:
		return nil, errKilled
	case <-over.C:
		return nil, errTimeout
	}
}

// serveRuntime is Lambda's runtime API: https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
func (p *process) serveRuntime(w http.ResponseWriter, r *http.Request) {
	path := strings.TrimPrefix(r.URL.Path, "/2018-06-01/runtime/")
	if path == "invocation/next" {
		p.serveNext(w, r)

		return
	}

	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the process died while it answered
	}

	id, kind, _ := strings.Cut(strings.TrimPrefix(path, "invocation/"), "/")

	p.mu.Lock()
	if i := p.current; i != nil && i.id == id {
		i.answered <- response{body, kind == "error"}
		p.current = nil
	}
	p.mu.Unlock()

	w.WriteHeader(http.StatusAccepted)
}

func (p *process) serveNext(w http.ResponseWriter, r *http.Request) {
	p.polled.Do(func() {
		<-p.began // it may ask before this program knows its id
		p.started, p.idle = time.Since(p.since), cpuOf(p.cmd.Process.Pid)
		close(p.ready)
	})

	select {
	case i := <-p.next:
		i.began = time.Now()
		i.deadline = i.began.Add(functionTimeout)

		p.mu.Lock()
		p.current = i
		p.mu.Unlock()

		w.Header().Set("Lambda-Runtime-Aws-Request-Id", i.id)
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(i.deadline.UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:payments")
		_, _ = w.Write(i.event) // the process may be gone
	case <-r.Context().Done():
	}
}

// invocationOf returns what the process works on, nil for nothing.
func (p *process) invocationOf() *invocation {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.current
}

// end kills the process and returns its use of the processor since its first invocation, and its largest size in bytes.
func (p *process) end() (cpu time.Duration, memory int64) {
	memory = memoryOf(p.cmd.Process.Pid)
	_ = p.cmd.Process.Signal(syscall.SIGKILL) // it may have ended

	<-p.exited

	for _, s := range p.servers {
		s.CloseClientConnections()
		s.Close()
	}

	_ = p.log.Close() // it was written by the process

	cpu = p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime() - p.idle

	return cpu, memory
}
