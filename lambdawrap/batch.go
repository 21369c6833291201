package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// message is one record of the event on its way: planned, worked on, answered.
type message struct {
	events.SQSMessage

	key         string
	fingerprint string
	group       string // of a FIFO queue; "" on a standard queue
	fifo        bool
	unplanned   error // why there is no key

	failed bool // the answer; written by the one worker that has the message
}

// lane is what must be worked on in order: the messages of one key, or of a FIFO group and all groups that share a key with
// it. Lanes go side by side.
type lane []*message

// serve answers one event. A panic of the wrapper itself is an invocation error: an empty answer would delete the batch.
func (w *wrapper) serve(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
	if w.invalid != nil {
		return response, w.invalid
	}

	err = recovered(func() (err error) {
		messages := w.plan(event)
		if err = w.run(ctx, lanes(messages)); err == nil {
			response, err = answer(messages)
		}

		return err
	})

	if p, ok := errors.AsType[*PanicError](err); ok {
		return events.SQSEventResponse{}, fmt.Errorf("lambdawrap: the wrapper panicked: %v", p.Value)
	}

	return response, err
}

// plan finds each message's key.
func (w *wrapper) plan(event events.SQSEvent) []*message {
	messages := make([]*message, len(event.Records))

	for i, record := range event.Records {
		m := &message{SQSMessage: record, failed: true} // until proven done
		// By the queue's name: fair queues have message groups on standard queues, without an order.
		if m.fifo = strings.HasSuffix(record.EventSourceARN, ".fifo"); m.fifo {
			m.group = record.Attributes["MessageGroupId"]
		}

		m.unplanned = recovered(func() (err error) {
			if w.store.Disabled() {
				m.key = strconv.Itoa(i) // no two are one piece of work

				return nil
			}

			if m.key, err = w.opts.Key(record); err != nil || w.opts.Fingerprint == nil {
				return err
			}

			m.fingerprint, err = w.opts.Fingerprint(record)

			return err
		})
		messages[i] = m
	}

	return messages
}

// lanes deals the messages out, each lane in the order of the batch.
func lanes(messages []*message) []lane {
	var (
		dealt   []lane
		byKey   = map[string]int{} // :: key → lane
		byGroup = map[string]int{} // :: FIFO group → lane
	)

	for _, m := range messages {
		n := -1

		if m.unplanned == nil {
			if at, ok := byKey[m.key]; ok {
				n = at
			}
		}

		if at, ok := byGroup[m.group]; m.fifo && ok {
			if n >= 0 && n != at {
				n = merge(dealt, at, n, byKey, byGroup)
			} else {
				n = at
			}
		}

		if n < 0 {
			n = len(dealt)
			dealt = append(dealt, nil)
		}

		dealt[n] = append(dealt[n], m)

		if m.unplanned == nil {
			byKey[m.key] = n
		}

		if m.fifo {
			byGroup[m.group] = n
		}
	}

	return dealt
}

// merge moves one lane's messages behind another's: two groups share a key. Order between groups is free.
func merge(dealt []lane, into, from int, maps ...map[string]int) int {
	dealt[into] = append(dealt[into], dealt[from]...)
	dealt[from] = nil

	for _, lanes := range maps {
		for name, n := range lanes {
			if n == from {
				lanes[name] = into
			}
		}
	}

	return into
}

// run works on the lanes, as many at a time as there are workers. Its error is a worker's panic.
func (w *wrapper) run(ctx context.Context, dealt []lane) error {
	b := &batch{wrapper: w}
	if deadline, ok := ctx.Deadline(); ok {
		b.workBy, b.answerBy = deadline.Add(-w.reserve), deadline.Add(-w.reserve/answerPart)
	}

	queue := make(chan lane, len(dealt))
	for _, l := range dealt {
		queue <- l
	}

	close(queue)

	failures := make([]error, min(w.workers, len(dealt)))

	var workers sync.WaitGroup

	for i := range failures {
		workers.Go(func() {
			failures[i] = recovered(func() error {
				for l := range queue {
					b.follow(ctx, l)
				}

				return nil
			})
		})
	}

	workers.Wait()

	return errors.Join(failures...)
}

// answerPart of the reserve is left to the answer itself; what comes before it may be spent on settling claims.
const answerPart = 4

// answer reports what must come back. SQS takes an empty id for success or for total failure, depending on who reads it.
func answer(messages []*message) (events.SQSEventResponse, error) {
	response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}} // null would do, but says less
	reported := map[string]bool{}

	for _, m := range messages {
		switch {
		case !m.failed || reported[m.MessageId] && m.MessageId != "":
		case m.MessageId == "":
			return events.SQSEventResponse{}, errors.New("lambdawrap: a message without messageId failed: the whole batch must come back")
		default:
			reported[m.MessageId] = true
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}

	return response, nil
}

// batch is one invocation at work.
type batch struct {
	*wrapper

	workBy   time.Time // the beginning of the reserve; zero: no deadline
	answerBy time.Time // when claims must be settled
}

// working returns the context for claims and handlers, which ends when the reserve begins.
func (b *batch) working(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.workBy.IsZero() {
		return context.WithCancel(ctx)
	}

	return context.WithDeadline(ctx, b.workBy)
}

// settling returns the context for what must still happen when the work is over, or was cancelled: writes that settle a claim,
// the dead-letter hook. It ends in time for the answer.
func (b *batch) settling(ctx context.Context) (context.Context, context.CancelFunc) {
	alive := context.WithoutCancel(ctx)
	if b.answerBy.IsZero() {
		return context.WithCancel(alive)
	}

	return context.WithDeadline(alive, b.answerBy)
}

// follow works on a lane in order. Equal keys are run once and answered alike; after a failure the rest of its FIFO group is
// left alone.
func (b *batch) follow(ctx context.Context, l lane) {
	known := map[[2]string]outcome{} // :: key and fingerprint → how it ended in this batch
	blocked := map[string]bool{}     // :: FIFO group → one of its messages failed

	for _, m := range l {
		same := [2]string{m.key, m.fingerprint}
		o, ok := known[same]

		switch {
		case m.fifo && blocked[m.group]:
			o = outcome{err: errBlocked}
		case m.unplanned != nil:
			o = outcome{err: m.unplanned}
		case !ok:
			o = b.process(ctx, m)
			known[same] = o
		}

		b.finish(ctx, m, o)

		if m.failed {
			blocked[m.group] = true
		}
	}
}
