//go:build chaos

package chaos_test

import (
	"bytes"
	"cmp"
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

// moment is when a process may be struck.
type moment int

const (
	beforeRequest moment = iota // a request has left the process and was not applied
	afterRequest                // a request was applied, and the process has no answer yet
	anyTime                     // some time after the invocation began
)

// strike is what happens to a process in one invocation.
type strike struct {
	at     moment
	nth    int           // request of the invocation
	after  time.Duration // the beginning of the invocation, at anyTime
	signal syscall.Signal
	pause  time.Duration // with SIGSTOP: SIGCONT follows after it; 0: not in this invocation
}

// process is one execution environment of the function: a process with a simulated Lambda beside it.
type process struct {
	cmd     *exec.Cmd
	servers []*httptest.Server // its runtime API, its DynamoDB and its SQS
	log     *safeBuffer
	exited  chan struct{}

	next chan invocation

	mu      sync.Mutex
	id      string      // of the invocation that runs
	answers chan answer // of that invocation
	strikes *strike
	seen    map[moment]int
	stopped bool // by SIGSTOP, for longer than its invocation
}

type invocation struct {
	id       string
	event    []byte
	deadline time.Time
}

type answer struct {
	body   []byte
	failed bool // the function answered with an error
}

var (
	errKilled   = errors.New("the process ended")
	errTimedOut = errors.New("the time is over")
)

// start starts a process of a program.
func start(ctx context.Context, program string, s services, env []string) (*process, error) {
	p := &process{next: make(chan invocation), exited: make(chan struct{}), log: &safeBuffer{}}
	runtime, dynamo, queues := httptest.NewServer(http.HandlerFunc(p.serveRuntime)), s.dynamo.proxy(p.strike), s.queues.proxy(p.strike)
	p.servers = []*httptest.Server{runtime, dynamo, queues}

	p.cmd = exec.CommandContext(ctx, program)
	p.cmd.Stdout, p.cmd.Stderr = p.log, p.log
	p.cmd.Env = append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(runtime.URL, "http://"),
		"AWS_ENDPOINT_URL_DYNAMODB=" + dynamo.URL, "AWS_ENDPOINT_URL_SQS=" + queues.URL,
		"AWS_REGION=us-east-1", "AWS_SECRET_ACCESS_KEY=local", "AWS_CONFIG_FILE=none",
		"AWS_SHARED_CREDENTIALS_FILE=none", "AWS_LAMBDA_FUNCTION_NAME=payments", "AWS_LAMBDA_FUNCTION_VERSION=1", "GOMAXPROCS=2",
	}, env...)

	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start the function: %w", err)
	}

	go func() {
		_ = p.cmd.Wait()

		close(p.exited)
	}()

	return p, nil
}

// invoke runs an invocation. After an error nothing is known of what it did, as for a queue whose consumer died.
func (p *process) invoke(i invocation, s *strike) ([]byte, error) {
	answers := make(chan answer, 1)

	p.mu.Lock()
	p.id, p.answers, p.strikes, p.seen = i.id, answers, s, map[moment]int{}
	p.mu.Unlock()

	if s != nil && s.at == anyTime {
		defer time.AfterFunc(s.after, func() { p.strike(anyTime) }).Stop()
	}

	over := time.NewTimer(time.Until(i.deadline))
	defer over.Stop()

	select {
	case p.next <- i:
	case <-p.exited:
		return nil, errKilled
	case <-over.C:
		return nil, errTimedOut
	}

	select {
	case a := <-answers:
		if a.failed {
			return nil, fmt.Errorf("the function failed: %s", a.body)
		}

		return a.body, nil
	case <-p.exited:
		return nil, errKilled
	case <-over.C:
		return nil, errTimedOut
	}
}

// strike strikes the process if it is time to.
func (p *process) strike(at moment) {
	p.mu.Lock()
	defer p.mu.Unlock()

	if p.seen == nil {
		return
	}

	p.seen[at]++

	s := p.strikes
	if s == nil || s.at != at || s.nth != p.seen[at] {
		return
	}

	_ = p.cmd.Process.Signal(s.signal)

	if s.signal != syscall.SIGSTOP {
		return
	}

	if p.stopped = s.pause == 0; !p.stopped {
		time.AfterFunc(s.pause, p.wake)
	}
}

func (p *process) wake() { _ = p.cmd.Process.Signal(syscall.SIGCONT) }

// isStopped says that the process is stopped for longer than its invocation.
func (p *process) isStopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.stopped
}

// end kills the process. Its requests that are under way may still be applied.
func (p *process) end() {
	_ = p.cmd.Process.Kill()

	<-p.exited

	for _, server := range p.servers {
		server.CloseClientConnections()
		server.Close()
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
	if id == p.id && p.answers != nil {
		p.answers <- answer{body, kind == "error"}
		p.answers = nil
	}
	p.mu.Unlock()

	w.WriteHeader(http.StatusAccepted)
}

func (p *process) serveNext(w http.ResponseWriter, r *http.Request) {
	select {
	case i := <-p.next:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", i.id)
		w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(i.deadline.UnixMilli(), 10))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:payments")
		_, _ = w.Write(i.event)
	case <-r.Context().Done():
	}
}

// safeBuffer is a buffer that can be read while a process writes it.
type safeBuffer struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (b *safeBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.buffer.Write(p)
}

func (b *safeBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.buffer.String()
}

// keep appends the log to the file that CHAOS_LOG names.
func (p *process) keep() {
	name := cmp.Or(os.Getenv("CHAOS_LOG"), os.DevNull)

	if f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600); err == nil {
		_, _ = f.WriteString(p.log.String())
		_ = f.Close()
	}
}
