package main

import (
	"context"
	"encoding/gob"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// workArgument makes this program a worker.
const workArgument = "work"

// process is this program's end of a worker process.
type process struct {
	command *exec.Cmd
	input   io.Closer
	batches *gob.Encoder
	results *gob.Decoder
	warm    time.Duration // processor time that it had used when the measurement began
	used    time.Duration // since it began
}

// start runs this program as a worker of a side. Call stop in the end.
func start(ctx context.Context, side, url string) (*process, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("find this program: %w", err)
	}

	command := exec.CommandContext(ctx, program, workArgument) //nolint:gosec // it is this program
	command.Stderr = os.Stderr
	command.Env = environment(url)

	input, errInput := command.StdinPipe()
	output, errOutput := command.StdoutPipe()

	for _, err := range []error{errInput, errOutput} {
		if err != nil {
			return nil, fmt.Errorf("connect a worker: %w", err)
		}
	}

	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start a worker: %w", err)
	}

	p := &process{command: command, input: input, batches: gob.NewEncoder(input), results: gob.NewDecoder(output)}
	if err := p.batches.Encode(side); err != nil {
		return p, fmt.Errorf("send the side: %w", err)
	}

	return p, nil
}

// environment is that of this process without what would change the measurement: the AWS settings of its user, and the library's
// switch.
func environment(url string) []string {
	env := []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + url, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET",
		"AWS_EC2_METADATA_DISABLED=true", "AWS_CONFIG_FILE=" + os.DevNull, "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
	}

	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); !strings.HasPrefix(name, "AWS_") && name != "IDEMDDB_DISABLED" {
			env = append(env, pair)
		}
	}

	return env
}

// handle lets the worker handle a batch.
func (p *process) handle(batch []events.SQSMessage) (r result, err error) {
	if err := p.batches.Encode(batch); err != nil {
		return r, fmt.Errorf("send a batch: %w", err)
	}

	if err := p.results.Decode(&r); err != nil {
		return r, fmt.Errorf("read the result of a batch: %w", err)
	}

	p.used = r.CPU

	return r, nil
}

// stop ends the worker and waits for its process.
func (p *process) stop() error {
	_ = p.input.Close() // Wait reports how the process ended

	if err := p.command.Wait(); err != nil {
		return fmt.Errorf("a worker: %w", err)
	}

	return nil
}
