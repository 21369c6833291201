package main

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
)

// sample is one run of one variant. All but connections, held and overOwn is for each message.
type sample struct {
	requests   float64
	bytes      float64
	writeUnits float64
	cpu        float64 // µs
	wall       float64 // µs
	allocs     float64
	allocBytes float64

	connections float64
	held        float64 // ms, of a request at the server
	overOwn     float64 // wall time over the handlers' own; 0 where they take none
}

// cell is one variant in one line of one table.
type cell struct {
	latency  time.Duration
	handler  handlerKind
	workload workload
	variant  variant
	quick    bool
}

func (c *cell) workers() int {
	if c.workload.workers > 0 {
		return c.workload.workers
	}

	return c.variant.workers
}

// measure runs one variant once.
func (c *cell) measure(ctx context.Context, e *engine) (sample, error) {
	url, err := e.fresh(0)
	if err != nil {
		return sample{}, err
	}

	job := &job{takes: c.handler.takes}

	serve, err := c.variant.open(ctx, url, c.workers(), job.handle)
	if err != nil {
		return sample{}, err
	}

	n := c.workload.batches(c.latency, &c.handler, c.quick)
	batches := make([]events.SQSEvent, n)

	for i := range batches {
		batches[i] = c.workload.batch(i)
	}

	if err := c.prepare(ctx, e, serve, batches); err != nil {
		return sample{}, err
	}

	job.reset()

	used, err := c.run(ctx, serve, batches)
	if err != nil {
		return sample{}, err
	}

	seen, err := e.set(0)
	if err != nil {
		return sample{}, err
	}

	if want := int64(n * (c.workload.size - c.workload.repeated)); job.runs.Load() != want {
		return sample{}, fmt.Errorf("%s, %s: the handler ran %d times, want %d", c.variant.name, c.workload.name, job.runs.Load(), want)
	}

	return newSample(n*c.workload.size, used, seen, job.own), nil
}

// prepare completes what is to be found completed, and opens connections.
func (c *cell) prepare(ctx context.Context, e *engine, serve batchHandler, batches []events.SQSEvent) error {
	if c.workload.repeated > 0 {
		for _, event := range batches {
			if err := deliver(ctx, serve, c.workload.seenBefore(event)); err != nil {
				return err
			}
		}
	}

	if _, err := e.set(c.latency); err != nil {
		return err
	}

	if !c.workload.cold {
		warm := workload{size: c.workload.size}
		if err := deliver(ctx, serve, warm.batch(len(batches))); err != nil {
			return err
		}
	}

	_, err := e.set(c.latency)

	return err
}

// run is the part that counts.
func (c *cell) run(ctx context.Context, serve batchHandler, batches []events.SQSEvent) (usage, error) {
	runtime.GC()

	before, err := readUsage()
	if err != nil {
		return usage{}, err
	}

	for _, event := range batches {
		if err := deliver(ctx, serve, event); err != nil {
			return usage{}, fmt.Errorf("%s, %s: %w", c.variant.name, c.workload.name, err)
		}
	}

	after, err := readUsage()
	if err != nil {
		return usage{}, err
	}

	return after.minus(before), nil
}

// deliver invokes the handler as Lambda does: with a deadline and a request id.
func deliver(ctx context.Context, serve batchHandler, event events.SQSEvent) error {
	ctx, cancel := context.WithTimeout(lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID: "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
	}), time.Minute)
	defer cancel()

	response, err := serve(ctx, event)
	if err != nil {
		return err
	}

	if failed := len(response.BatchItemFailures); failed > 0 {
		return fmt.Errorf("%d of %d messages failed", failed, len(event.Records))
	}

	return nil
}

// job is the user's handler: it takes its time, one message after the other.
type job struct {
	takes time.Duration
	runs  atomic.Int64

	mu  sync.Mutex
	own time.Duration
}

func (j *job) handle(context.Context, events.SQSMessage) error {
	j.runs.Add(1)

	if j.takes > 0 {
		j.mu.Lock()
		defer j.mu.Unlock()

		began := time.Now()

		pause(j.takes)

		j.own += time.Since(began)
	}

	return nil
}

func (j *job) reset() {
	j.runs.Store(0)

	j.mu.Lock()
	defer j.mu.Unlock()

	j.own = 0
}

func newSample(messages int, used usage, seen traffic, own time.Duration) sample {
	n := float64(messages)

	s := sample{
		requests:    float64(seen.Requests) / n,
		bytes:       float64(seen.Bytes) / n,
		writeUnits:  float64(seen.WriteUnits) / n,
		cpu:         micros(used.cpu) / n,
		wall:        micros(used.wall) / n,
		allocs:      float64(used.allocs) / n,
		allocBytes:  float64(used.allocBytes) / n,
		connections: float64(seen.Connections),
	}
	if seen.Requests > 0 {
		s.held = seen.Held.Seconds() * 1e3 / float64(seen.Requests)
	}

	if own > 0 {
		s.overOwn = used.wall.Seconds() / own.Seconds()
	}

	return s
}

func micros(d time.Duration) float64 { return d.Seconds() * 1e6 }
