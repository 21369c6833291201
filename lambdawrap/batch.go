package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// serve answers one event. A panic of the wrapper itself is an invocation error: an empty answer would delete the batch.
func (w *wrapper) serve(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
	if w.invalid != nil {
		return response, w.invalid
	}

	err = recovered(func() (err error) {
		messages := w.plan(event)
		if err = w.run(w.begin(ctx), ctx, messages); err == nil {
			response, err = answer(messages)
		}

		return err
	})

	if p, ok := errors.AsType[*PanicError](err); ok {
		return events.SQSEventResponse{}, fmt.Errorf("lambdawrap: the wrapper panicked: %v", p.Value)
	}

	return response, err
}

// batch is one invocation at work. All of its changing state belongs to the goroutine of run; the others make requests and run
// handlers, and tell run what to do about it.
type batch struct {
	*wrapper

	group    *idemddb.Group
	workBy   time.Time // the beginning of the reserve; zero: no deadline
	answerBy time.Time // when claims must be settled

	waiting  []*lane     // whose first message is to be claimed, in the order of the batch
	ready    []*job      // for a worker, in the same order
	claiming int         // messages
	working  int         // handlers
	busy     int         // goroutines
	told     chan func() // from them, to be done by run
	over     bool        // nothing more is begun
	failure  error       // the wrapper's own
}

// job is a message for a worker: its key is claimed, or it has its outcome and only the hook is left to call.
type job struct {
	*lane

	claim   *idemddb.Claim
	ctx     context.Context //nolint:containedctx // of the handler, on its way from the claim to the worker: the lease is kept meanwhile
	stop    func()
	outcome outcome
}

// answerPart of the reserve is left to the answer itself; what comes before it may be spent on settling claims.
const answerPart = 4

func (w *wrapper) begin(ctx context.Context) *batch {
	b := &batch{wrapper: w, group: w.store.Group(), told: make(chan func())}
	if deadline, ok := ctx.Deadline(); ok {
		b.workBy, b.answerBy = deadline.Add(-w.reserve), deadline.Add(-w.reserve/answerPart)
	}

	return b
}

// toWork returns the context for claims and handlers, which ends when the reserve begins.
func (b *batch) toWork(ctx context.Context) (context.Context, context.CancelFunc) {
	if b.workBy.IsZero() {
		return context.WithCancel(ctx)
	}

	return context.WithDeadline(ctx, b.workBy)
}

// toSettle returns the context for what must still happen when the work is over, or was cancelled: writes that settle a claim,
// the dead-letter hook. It ends in time for the answer.
func (b *batch) toSettle(ctx context.Context) (context.Context, context.CancelFunc) {
	alive := context.WithoutCancel(ctx)
	if b.answerBy.IsZero() {
		return context.WithCancel(alive)
	}

	return context.WithDeadline(alive, b.answerBy)
}

// run deals the messages into lanes and takes these through: their first messages are claimed in groups, run by as many workers as there may be, and settled
// while the next ones run. It ends when no goroutine is left. Its error is a panic of the wrapper itself.
func (b *batch) run(ctx context.Context, messages []*message) error {
	work, cancel := b.toWork(ctx)
	defer cancel()

	b.guard(func() {
		for _, l := range lanes(messages) {
			b.next(ctx, l)
		}
	})

	for over := work.Done(); ; {
		b.guard(func() {
			b.claim(ctx, work)
			b.start(ctx, work)
		})

		if b.busy == 0 {
			return b.failure
		}

		select {
		case does := <-b.told:
			b.guard(does)
		case <-over:
			b.over, over = true, nil
		}
	}
}

// guard does a step of run. A panic in it is the wrapper's own: what is under way ends, nothing else begins.
func (b *batch) guard(step func()) {
	err := recovered(func() error {
		step()

		return nil
	})
	if err != nil {
		b.failure, b.over = errors.Join(b.failure, err), true
	}
}

// spawn runs code beside run, which then does what code returns.
func (b *batch) spawn(code func() func()) {
	b.busy++

	go func() {
		then := func() {}
		err := recovered(func() error {
			then = code()

			return nil
		})

		b.told <- func() {
			b.busy--

			if err != nil {
				panic(err)
			}

			then()
		}
	}()
}

// next puts a lane where its first message belongs, after those that need neither a claim nor a worker.
func (b *batch) next(ctx context.Context, l *lane) {
	for len(l.messages) > 0 {
		o, ended := l.head()

		switch {
		case !ended && b.over:
			o = outcome{err: errNoTime}
		case !ended:
			at, _ := slices.BinarySearchFunc(b.waiting, l.messages[0].index, func(l *lane, index int) int {
				return l.messages[0].index - index
			})
			b.waiting = slices.Insert(b.waiting, at, l)

			return
		}

		if b.calls(o) {
			b.ready = append(b.ready, &job{lane: l, outcome: o})

			return
		}

		b.finish(ctx, l.messages[0], o)
		l.done(o)
	}
}

// claimSize is how many keys are claimed at once: what goes into one request.
const claimSize = 25

// room is how many messages may be claimed now.
func (b *batch) room() int {
	free := b.workers - b.working - b.claiming - len(b.ready)

	switch {
	case !b.store.Grouped():
		return min(1, free)
	case b.claiming > 0:
		return 0
	case b.store.CountsClaims(): // a crash would count against a message that waits
		return min(claimSize, free)
	case len(b.ready) > 0:
		return 0 // one group ahead of the handlers
	default:
		return claimSize
	}
}

// claim claims the first messages of the lanes that wait. Those that are claimed keep their leases until a worker has them.
func (b *batch) claim(ctx, work context.Context) {
	for !b.over && len(b.waiting) > 0 {
		n := min(b.room(), len(b.waiting))
		if n <= 0 {
			return
		}

		group := slices.Clone(b.waiting[:n])
		b.waiting = b.waiting[n:]
		b.claiming += n

		b.spawn(func() func() {
			jobs := b.claimed(work, group)

			return func() {
				b.claiming -= n

				for _, j := range jobs {
					if j.claim != nil || b.calls(j.outcome) {
						b.ready = append(b.ready, j)
					} else {
						b.finish(ctx, j.messages[0], j.outcome)
						j.done(j.outcome)
						b.next(ctx, j.lane)
					}
				}
			}
		})
	}

	if b.over {
		left := b.waiting
		b.waiting = nil

		for _, l := range left {
			b.next(ctx, l)
		}
	}
}

// claimed claims the first messages of these lanes.
func (b *batch) claimed(work context.Context, group []*lane) []*job {
	first := make([]*message, len(group))
	for i, l := range group {
		first[i] = l.messages[0]
	}

	jobs := make([]*job, len(group))

	for i, answer := range b.group.Claim(work, requests(first)) {
		jobs[i] = &job{lane: group[i], claim: answer.Claim, outcome: b.refused(answer.Err)}
		jobs[i].keep(work)
	}

	return jobs
}

// keep keeps the lease from now until the handler has ended.
func (j *job) keep(work context.Context) {
	if j.claim != nil {
		j.ctx, j.stop = j.claim.Keep(work)
	}
}

// settlers is how many messages may be at their writes after their handlers, beside those that the workers have.
const settlers = 100

// start gives what is ready to the workers. When all is over nothing is run, and no worker needed.
func (b *batch) start(ctx, work context.Context) {
	for len(b.ready) > 0 && (b.over || b.working < b.workers && b.busy < b.workers+settlers) {
		j := b.ready[0]
		b.ready = b.ready[1:]
		b.working++
		over := b.over

		b.spawn(func() func() {
			// A worker is free again when its handler has ended; after that there are only requests, unless the hook must be called.
			free := func() { b.working-- }
			o := j.outcome

			if j.claim != nil {
				err := b.execute(work, j, over)
				if b.opts.DeadLetter == nil || err == nil {
					b.told <- free
					free = func() {}
				}

				o = b.settle(ctx, j.claim, err)
			}

			b.finish(ctx, j.messages[0], o)

			return func() {
				free()
				j.done(o)
				b.next(ctx, j.lane)
			}
		})
	}
}
