//go:build chaos

package chaos_test

import (
	"bytes"
	"cmp"
	"context"
	"net/http/httptest"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/idemddb/go-idemddb/localstack/runtimeapi"
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

// process is an execution environment of the function, with a DynamoDB and an SQS of its own beside it.
type process struct {
	*runtimeapi.Process

	servers []*httptest.Server
	log     *safeBuffer

	mu      sync.Mutex
	strikes *strike // of the invocation that runs
	seen    map[moment]int
	stopped bool // by SIGSTOP, for longer than its invocation
}

// start starts a process of a program.
func start(ctx context.Context, program string, s services, env []string) (*process, error) {
	p := &process{log: &safeBuffer{}}
	dynamo, queues := s.dynamo.proxy(p.strike), s.queues.proxy(p.strike)
	p.servers = []*httptest.Server{dynamo, queues}

	cmd := exec.CommandContext(ctx, program)
	cmd.Stdout, cmd.Stderr = p.log, p.log
	cmd.Env = append([]string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + dynamo.URL, "AWS_ENDPOINT_URL_SQS=" + queues.URL,
		"AWS_REGION=us-east-1", "AWS_SECRET_ACCESS_KEY=local", "AWS_CONFIG_FILE=none",
		"AWS_SHARED_CREDENTIALS_FILE=none", "AWS_LAMBDA_FUNCTION_NAME=payments", "AWS_LAMBDA_FUNCTION_VERSION=1", "GOMAXPROCS=2",
	}, env...)

	var err error

	p.Process, err = runtimeapi.Start(cmd)

	return p, err
}

// invoke runs an invocation. After an error nothing is known of what it did, as for a queue whose consumer died.
func (p *process) invoke(id string, event []byte, s *strike) ([]byte, error) {
	p.mu.Lock()
	p.strikes, p.seen = s, map[moment]int{}
	p.mu.Unlock()

	if s != nil && s.at == anyTime {
		defer time.AfterFunc(s.after, func() { p.strike(anyTime) }).Stop()
	}

	return p.Invoke(runtimeapi.Invocation{ID: id, Event: event, Deadline: time.Now().Add(timeout)})
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

	p.Signal(s.signal)

	if s.signal != syscall.SIGSTOP {
		return
	}

	if p.stopped = s.pause == 0; !p.stopped {
		time.AfterFunc(s.pause, p.wake)
	}
}

func (p *process) wake() { p.Signal(syscall.SIGCONT) }

// isStopped says that the process is stopped for longer than its invocation.
func (p *process) isStopped() bool {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.stopped
}

// end kills the process. Its requests that are under way may still be applied.
func (p *process) end() {
	p.Kill()

	for _, server := range p.servers {
		server.CloseClientConnections()
		server.Close()
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
