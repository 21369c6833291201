//go:build chaos

package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// work runs the processes until no message is left or the time limit is over.
func (r *run) work() {
	ctx, cancel := context.WithTimeout(r.Context(), timeLimit)
	defer cancel()

	var all sync.WaitGroup

	for range processes {
		all.Go(func() { r.consume(ctx) })
	}

	all.Wait()

	if err := errors.Join(r.errs...); err != nil {
		r.Fatal(err)
	}

	if left := r.queues.left(); left > 0 && ctx.Err() != nil { // otherwise the relay has sent them since
		r.Errorf("%d messages are not done after %s", left, timeLimit)
	}
}

// consume is one execution environment of the function and the poller before it.
func (r *run) consume(ctx context.Context) {
	var p *process

	defer func() {
		if p != nil {
			r.bury(p)
		}
	}()

	for ctx.Err() == nil && (r.sending.Load() || r.queues.left() > 0) {
		batch := r.queues.receive(r.size())
		if len(batch) == 0 {
			pass(10 * time.Millisecond)

			continue
		}

		if p == nil {
			var err error
			if p, err = start(r.Context(), r.function.program, r.services, r.env); err != nil {
				r.fail(err)

				return
			}
		}

		if !r.deliver(p, batch) {
			r.bury(p)

			p = nil
		}
	}
}

func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.errs = append(r.errs, err)
}

// size draws the size of a batch. Without faults batches are full, because that is what the number of requests is about.
func (r *run) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	if !r.needless || r.adjacent {
		return fullBatch
	}

	return 1 + r.random.IntN(fullBatch)
}

// deliver invokes the function with a batch. It returns false if the process can't be used any more.
func (r *run) deliver(p *process, batch []*message) bool {
	began := time.Now()
	id := fmt.Sprintf("call-%d", r.invoked.Add(1))
	response, err := p.invoke(id, sqsEvent(batch), r.draw())
	failed := map[string]bool{}

	var answer events.SQSEventResponse
	if err == nil {
		err = json.Unmarshal(response, &answer)
	}

	for _, f := range answer.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}

	if err != nil {
		for _, m := range batch {
			failed[m.id] = true
		}
	}

	if time.Since(began) > quick {
		r.slow.Add(1)
	}

	r.queues.settle(batch, failed)

	return err == nil && !p.isStopped()
}

// draw draws what happens to the process of one invocation.
func (r *run) draw() *strike {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.services.dynamo.calm.Load() {
		return nil
	}

	s := &strike{at: moment(r.random.IntN(3)), nth: 1, after: time.Duration(r.random.IntN(100)) * time.Millisecond}
	if s.at != anyTime {
		s.nth += r.random.IntN(3)
	}

	n := r.random.IntN(1000)

	switch {
	case n < r.kills:
		s.signal = syscall.SIGKILL
	case n < r.kills+r.stops:
		s.signal = syscall.SIGSTOP
	case n < r.kills+r.stops+r.freezes:
		s.signal, s.pause = syscall.SIGSTOP, 300*time.Millisecond+time.Duration(r.random.IntN(3700))*time.Millisecond
	default:
		return nil
	}

	r.struck[s.signal]++

	return s
}

// bury ends a process, unless it is stopped: that one goes on when all others are done.
func (r *run) bury(p *process) {
	if p.isStopped() {
		r.mu.Lock()
		r.stopped = append(r.stopped, p)
		r.mu.Unlock()

		return
	}

	p.end()
	p.keep()
}

// wakeStopped lets the stopped processes go on with what they had begun.
func (r *run) wakeStopped() {
	for _, p := range r.stopped {
		p.wake()
	}

	if len(r.stopped) > 0 {
		pass(2 * time.Second) // they have no way to say that they are done
	}

	for _, p := range r.stopped {
		p.end()
		p.keep()
	}

	r.stopped = nil
}

func sqsEvent(batch []*message) []byte {
	var event events.SQSEvent

	for _, m := range batch {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: m.id, ReceiptHandle: m.id, Body: m.body, EventSource: "aws:sqs",
			EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:payments", AWSRegion: "us-east-1",
			Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(m.receives)},
		})
	}

	return encode(event)
}
