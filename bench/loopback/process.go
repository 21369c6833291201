package loopback

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// Process is the measuring process's end of a server process.
type Process struct {
	process  *exec.Cmd
	input    io.Closer
	commands *gob.Encoder
	answers  *gob.Decoder
}

// Start runs a program that calls Serve with its standard input and output. Call Stop in the end.
func Start(ctx context.Context, program string, args ...string) (*Process, error) {
	process := exec.CommandContext(ctx, program, args...) //nolint:gosec // the caller chooses the program
	process.Stderr = os.Stderr

	input, err := process.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}

	output, err := process.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}

	if err := process.Start(); err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}

	return &Process{process: process, input: input, commands: gob.NewEncoder(input), answers: gob.NewDecoder(output)}, nil
}

// NewTable replaces the server's table by an empty one without latency, and returns the URL at which it is served.
func (p *Process) NewTable() (url string, err error) {
	a, err := p.send(command{NewTable: true})

	return a.URL, err
}

// SetLatency changes for how long the server holds each request, and returns what it has received since the call before.
func (p *Process) SetLatency(latency time.Duration) (Counts, error) {
	a, err := p.send(command{Latency: latency})

	return a.Counts, err
}

// Stop ends the server and waits for its process.
func (p *Process) Stop() error {
	_ = p.input.Close() // Wait reports how the process ended

	if err := p.process.Wait(); err != nil {
		return fmt.Errorf("loopback: the server: %w", err)
	}

	return nil
}

func (p *Process) send(c command) (a answer, err error) {
	if err := p.commands.Encode(c); err != nil {
		return a, fmt.Errorf("loopback: send a command: %w", err)
	}

	if err := p.answers.Decode(&a); err != nil {
		return a, fmt.Errorf("loopback: read an answer: %w", err)
	}

	return a, nil
}
