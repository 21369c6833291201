package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"time"
)

// engine is the measuring process's end of the server process.
type engine struct {
	command *exec.Cmd
	input   io.Closer
	orders  *json.Encoder
	answers *json.Decoder
}

// launch starts this program again, as the server.
func launch(ctx context.Context) (*engine, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("this program's file: %w", err)
	}

	command := exec.CommandContext(ctx, self, serveRole) //nolint:gosec // this very program
	command.Stderr = os.Stderr

	input, err := command.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("the server's input: %w", err)
	}

	output, err := command.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("the server's output: %w", err)
	}

	if err := command.Start(); err != nil {
		return nil, fmt.Errorf("start the server: %w", err)
	}

	return &engine{command: command, input: input, orders: json.NewEncoder(input), answers: json.NewDecoder(output)}, nil
}

// fresh gives an empty table behind a latency, and where it is.
func (e *engine) fresh(latency time.Duration) (url string, err error) {
	a, err := e.order(order{Fresh: true, Latency: latency})

	return a.URL, err
}

// set changes the latency and answers what was seen since the last order.
func (e *engine) set(latency time.Duration) (traffic, error) {
	a, err := e.order(order{Latency: latency})

	return a.Traffic, err
}

func (e *engine) order(o order) (a answer, err error) {
	if err := e.orders.Encode(o); err != nil {
		return a, fmt.Errorf("order to the server: %w", err)
	}

	if err := e.answers.Decode(&a); err != nil {
		return a, fmt.Errorf("the server's answer: %w", err)
	}

	return a, nil
}

// stop ends the server.
func (e *engine) stop() error {
	_ = e.input.Close() // Wait tells what there is to tell

	if err := e.command.Wait(); err != nil {
		return fmt.Errorf("the server: %w", err)
	}

	return nil
}
