package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/localstack/runtimeapi"
)

// process is an execution environment of the function, with a DynamoDB and a bank of its own beside it.
type process struct {
	*runtimeapi.Process

	servers []*httptest.Server
	log     io.WriteCloser

	since   time.Time
	started time.Duration // until it asked for its first invocation
	idle    time.Duration // processor time until then

	stopping sync.WaitGroup // until it was continued, and has had its moment

	mu      sync.Mutex
	current *invocation
}

// invocation is a batch at work.
type invocation struct {
	ended time.Time

	// Guarded by world.mu.
	struck bool // a strike has hit it: what it did cannot be known to it
}

// start starts a process.
func (w *world) start(ctx context.Context) (*process, error) {
	p := &process{since: time.Now()}
	dynamo, bank := httptest.NewServer(w.serveDynamoDB(p)), httptest.NewServer(w.serveBank(p))
	p.servers = []*httptest.Server{dynamo, bank}

	log, err := os.OpenFile(w.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the log: %w", err)
	}

	command := w.contender.command
	cmd := exec.CommandContext(ctx, command[0], command[1:]...) //nolint:gosec // a contender
	p.log, cmd.Stdout, cmd.Stderr = log, log, log
	cmd.Env = w.contender.environment(
		"AWS_ENDPOINT_URL_DYNAMODB="+dynamo.URL, "BANK="+strings.TrimPrefix(bank.URL, "http://"), "RECORDS="+w.records, "ACCOUNTS="+w.accounts,
	)

	if p.Process, err = runtimeapi.Start(cmd); err != nil {
		return nil, fmt.Errorf("%s: %w", w.contender.name, err)
	}

	return p, nil
}

// await waits until the process asks for its first invocation, so that its start takes no time of a message.
func (w *world) await(p *process) error {
	select {
	case <-p.Asked():
		p.started, p.idle = p.AskedAt().Sub(p.since), p.ProcessorTime()

		return nil
	case <-p.Exited():
		return fmt.Errorf("%s ends before its first invocation: see %s", w.contender.name, w.log)
	}
}

// invoke runs an invocation. After an error nothing is known of what it did.
func (p *process) invoke(id string, event []byte, i *invocation) ([]byte, error) {
	p.workOn(i)

	body, err := p.Invoke(runtimeapi.Invocation{ID: id, Event: event, Deadline: time.Now().Add(functionTimeout)})
	if !errors.Is(err, runtimeapi.ErrExited) && !errors.Is(err, runtimeapi.ErrTimeout) { // otherwise requests that come still are of its work
		p.workOn(nil)
	}

	return body, err
}

func (p *process) workOn(i *invocation) {
	p.mu.Lock()
	defer p.mu.Unlock()

	p.current = i
}

// invocationOf returns what the process works on, nil for nothing.
func (p *process) invocationOf() *invocation {
	p.mu.Lock()
	defer p.mu.Unlock()

	return p.current
}

// end kills the process and returns its use of the processor since its first invocation, and its largest size in bytes.
func (p *process) end() (cpu time.Duration, memory int64) {
	memory = p.PeakMemory()
	state := p.Kill()

	for _, s := range p.servers {
		s.CloseClientConnections()
		s.Close()
	}

	_ = p.log.Close() // it was written by the process

	return state.UserTime() + state.SystemTime() - p.idle, memory
}
