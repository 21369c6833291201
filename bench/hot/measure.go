package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
)

// patience is how long a measurement may take.
const patience = 2 * time.Minute

// figures are what was measured of one side in one round.
type figures struct {
	requests, conflicts, writeUnits, cameBack float64
	cpu, wall, p50, p99                       time.Duration
}

// measure lets new workers of a side handle a load over an empty DynamoDB.
func measure(ctx context.Context, s settings, side string, l load) (f figures, err error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	w, err := newWorld(ctx, s, l.seed)
	if err != nil {
		return f, err
	}
	defer w.http.Close()

	workers, err := startAll(ctx, s, side, w.http.URL)

	defer func() {
		for _, p := range workers {
			err = errors.Join(err, p.stop())
		}
	}()

	if err != nil {
		return f, err
	}

	w.engine.ResetRequests()

	q := newQueue(l.deliveries)
	defer context.AfterFunc(ctx, q.stop)()

	began := time.Now()
	took, err := handleAll(s, workers, q)
	f.wall = time.Since(began)

	if err != nil || len(took) < len(l.deliveries) {
		return f, errors.Join(fmt.Errorf("%d of %d messages are acknowledged", len(took), len(l.deliveries)), err, ctx.Err())
	}

	f.fill(w, workers, took)
	f.cameBack = float64(q.returned())

	return f, w.check(l.payments)
}

// startAll starts the workers, and lets each of them handle a batch of its own.
func startAll(ctx context.Context, s settings, side, url string) (workers []*process, err error) {
	for i := range s.processes {
		p, err := start(ctx, side, url)
		if p != nil {
			workers = append(workers, p)
		}

		if err != nil {
			return workers, err
		}

		r, err := p.handle(warmUp(s, i))
		if err == nil && len(r.Failed) > 0 {
			err = fmt.Errorf("%d messages failed that meet no others", len(r.Failed))
		}

		if err != nil {
			return workers, err
		}

		p.warm = r.CPU
	}

	return workers, nil
}

// handleAll delivers batches of the queue to all workers at once until every message is acknowledged. It returns how long each
// message took.
func handleAll(s settings, workers []*process, q *queue) (took []time.Duration, err error) {
	var (
		running sync.WaitGroup
		mu      sync.Mutex
	)

	for _, p := range workers {
		running.Go(func() {
			for batch := q.take(s.batch); len(batch) > 0; batch = q.take(s.batch) {
				r, failure := p.handle(batch)

				mu.Lock()
				took, err = append(took, r.Took...), errors.Join(err, failure)
				mu.Unlock()

				if failure != nil {
					q.stop()

					return
				}

				failed := map[string]bool{}
				for _, id := range r.Failed {
					failed[id] = true
				}

				q.settle(batch, failed)
			}
		})
	}

	running.Wait()

	return took, err
}

// fill divides what was counted by the messages that are done.
func (f *figures) fill(w *world, workers []*process, took []time.Duration) {
	deliveries := float64(len(took))
	requests, conflicts, writeUnits := w.counts()
	f.requests, f.conflicts, f.writeUnits = float64(requests)/deliveries, float64(conflicts), float64(writeUnits)/deliveries

	for _, p := range workers {
		f.cpu += p.used - p.warm
	}

	f.cpu /= time.Duration(len(took))

	slices.Sort(took)
	f.p50, f.p99 = took[len(took)/2], took[len(took)*99/100]
}
