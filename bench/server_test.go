package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"testing"
	"time"
)

// startServer serves in this process what launch starts as another.
func startServer(t *testing.T) *engine {
	t.Helper()

	orders, input := io.Pipe()
	output, answers := io.Pipe()
	ended := make(chan error, 1)

	go func() {
		err := serve(context.Background(), orders, answers)
		answers.CloseWithError(errors.Join(err, io.ErrUnexpectedEOF))
		ended <- err
	}()

	t.Cleanup(func() {
		input.Close()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	return &engine{input: input, orders: json.NewEncoder(input), answers: json.NewDecoder(output)}
}

// TestMeasureCounts runs every variant on every workload for a moment: what is counted must be what is known of them.
func TestMeasureCounts(t *testing.T) {
	t.Parallel()

	e := startServer(t)
	single := map[string]struct{ requests, units float64 }{
		"unique": {2, 2}, "first": {1, 1}, "again": {1, 1}, "mixed": {1.9, 1.9},
	}

	for _, l := range (&options{rounds: 1, latencies: []time.Duration{time.Millisecond}, handler: "noop"}).plan() {
		if l.workload.name == "hundred" {
			continue // takes its time
		}

		for _, v := range l.variants {
			c := cell{l.latency, l.handler, l.workload, v, true}

			got, err := c.measure(t.Context(), e)
			if err != nil {
				t.Fatalf("%s, %s: %v", l.workload.name, v.name, err)
			}

			if want := single[l.workload.name]; !v.groups() && (got.requests != want.requests || got.writeUnits != want.units) {
				t.Errorf("%s, %s: %v requests and %v write units a message, want %v", l.workload.name, v.name, got.requests, got.writeUnits, want)
			}

			if v.name == "c-cache" {
				continue
			}

			if got.bytes < 300*got.requests || got.held < 1 || got.cpu <= 0 || got.wall <= 0 || got.allocs <= 0 || got.allocBytes <= 0 {
				t.Errorf("%s, %s: not all was counted: %+v", l.workload.name, v.name, got)
			}
		}
	}
}

// groups tells whether a variant's requests depend on what the library makes of the batch.
func (v *variant) groups() bool { return v.hand == nil && !v.library.Single }

func TestServerCountsConnectionsAndForgets(t *testing.T) {
	t.Parallel()

	e := startServer(t)

	url, err := e.fresh(0)
	if err != nil {
		t.Fatal(err)
	}

	job := &job{}
	one := workload{size: 1}

	for i := range 3 { // clients of their own
		by := variants()[0]

		serve, err := by.open(t.Context(), url, 1, job.handle)
		if err != nil {
			t.Fatal(err)
		}

		if err := deliver(t.Context(), serve, one.batch(i)); err != nil {
			t.Fatal(err)
		}
	}

	seen, err := e.set(0)
	if err != nil {
		t.Fatal(err)
	}

	if seen.Requests != 6 || seen.WriteUnits != 6 || seen.Bytes == 0 {
		t.Errorf("got %+v, want 6 requests, 6 write units, and bytes", seen)
	}

	if seen.Connections < 3 || seen.Connections > 6 { // the SDK's HTTP client may lose a connection to a quick answer
		t.Errorf("%d connections were opened, want 3", seen.Connections)
	}

	if seen, err = e.set(0); err != nil || seen != (traffic{}) {
		t.Errorf("the second time: %+v, %v; want nothing", seen, err)
	}
}

func TestEnginesAreFresh(t *testing.T) {
	t.Parallel()

	e := startServer(t)
	job := &job{}
	by := variants()[0]
	one := workload{size: 1}

	for range 2 { // the same key
		url, err := e.fresh(0)
		if err != nil {
			t.Fatal(err)
		}

		serve, err := by.open(t.Context(), url, 1, job.handle)
		if err != nil {
			t.Fatal(err)
		}

		if err := deliver(t.Context(), serve, one.batch(0)); err != nil {
			t.Fatal(err)
		}
	}

	if got := job.runs.Load(); got != 2 {
		t.Errorf("the handler ran %d times, want 2", got)
	}
}
