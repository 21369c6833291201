package lambdawrap

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// serve answers one event. A panic of the wrapper itself is an invocation error: an empty answer would delete the batch.
func (w *wrapper) serve(ctx context.Context, event events.SQSEvent) (response events.SQSEventResponse, err error) {
	if w.invalid != nil {
		return response, w.invalid
	}

	work, settle, cancel := w.deadlines(ctx)
	defer cancel()

	err = recovered(func() (err error) {
		messages := w.plan(event)
		if err = w.run(w.newBatch(), work, settle, messages); err == nil {
			response, err = answer(messages)
		}

		return err
	})

	if p, ok := errors.AsType[*PanicError](err); ok {
		return events.SQSEventResponse{}, fmt.Errorf("lambdawrap: the wrapper panicked: %v", p.Value)
	}

	return response, err
}

// answerPart of the reserve is left to the answer itself; what comes before it may be spent on settling claims.
const answerPart = 4

// deadlines are two contexts for an invocation. work, for claims and handlers, ends when the reserve begins. settle, for what must
// still happen when the work is over or was cancelled (writes that settle a claim, the dead-letter hook), ends in time for the answer.
func (w *wrapper) deadlines(ctx context.Context) (work, settle context.Context, cancel context.CancelFunc) {
	var cancelWork, cancelSettle context.CancelFunc

	if deadline, ok := ctx.Deadline(); ok {
		work, cancelWork = context.WithDeadline(ctx, deadline.Add(-w.reserve))
		settle, cancelSettle = context.WithDeadline(context.WithoutCancel(ctx), deadline.Add(-w.reserve/answerPart))
	} else {
		work, cancelWork = context.WithCancel(ctx)
		settle, cancelSettle = context.WithCancel(context.WithoutCancel(ctx))
	}

	return work, settle, func() {
		cancelWork()
		cancelSettle()
	}
}

// batch is one invocation at work. All of its changing state belongs to the goroutine of run; the others make requests and run
// handlers, and tell run what to do about it.
type batch struct {
	*wrapper

	group *idemddb.Group
	hooks chan struct{} // as many as may be called at a time

	waiting  []*lane     // whose first message is to be claimed, in the order of the batch
	ready    []*job      // for a worker, in the same order
	failed   []*message  // to be hidden
	asking   int         // groups of claims without any answer yet
	claiming int         // messages without an answer yet
	working  int         // handlers
	busy     int         // goroutines at work
	idle     int         // goroutines that have nothing to do
	tasks    chan func() // for these
	told     chan func() // from all, to be done by run
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

func (w *wrapper) newBatch() *batch {
	return &batch{
		wrapper: w, group: w.store.Group(), hooks: make(chan struct{}, w.workers),
		tasks: make(chan func()), told: make(chan func()),
	}
}

// run deals the messages into lanes and takes these through: their first messages are claimed in groups, run by as many workers as there may be, and settled
// while the next ones run. It ends when no goroutine is left. Its error is a panic of the wrapper itself.
func (b *batch) run(work, settle context.Context, messages []*message) error {
	defer close(b.tasks)

	b.over = work.Err() != nil

	b.guard(func() {
		for _, l := range lanes(messages) {
			b.next(settle, l)
		}
	})

	for over := work.Done(); ; {
		b.guard(func() {
			b.claim(work, settle)
			b.start(work, settle)
			b.hideFailed(settle)
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
		b.fails(err)
	}
}

func (b *batch) fails(err error) { b.failure, b.over = errors.Join(b.failure, err), true }

// spawn runs code beside run, which then does what code returns. Goroutines are used again: their stacks have grown to what a
// request takes.
func (b *batch) spawn(code func() func()) {
	b.busy++

	task := func() {
		var (
			then func()
			err  = errExited // until code returns
		)

		defer func() {
			b.told <- func() {
				b.busy--

				if err != nil {
					b.fails(err)

					return
				}

				b.idle++
				then()
			}
		}()

		err = recovered(func() error {
			then = code()

			return nil
		})
	}

	if b.idle > 0 {
		b.idle--
		b.tasks <- task // does not wait: an idle one is on its way there

		return
	}

	go func() {
		task()

		for task := range b.tasks {
			task()
		}
	}()
}

// next puts a lane where its first message belongs, after those that need neither a claim nor a worker.
func (b *batch) next(settle context.Context, l *lane) {
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

		b.finish(settle, l.messages[0], o)
		b.done(l, o)
	}
}

// done takes the first message from its lane, with its outcome.
func (b *batch) done(l *lane, o outcome) {
	if m := l.messages[0]; m.hidden() {
		b.failed = append(b.failed, m)
	}

	l.done(o)
}

// claimSize is how many keys are claimed at once: what goes into one request.
const claimSize = 25

// room is how many messages may be claimed now.
func (b *batch) room() int {
	free := b.workers - b.working - b.claiming - len(b.ready)

	switch {
	case b.busy >= b.workers+settlers:
		return 0
	case !b.store.Grouped():
		return min(1, free)
	case b.asking > 0:
		return 0
	case b.store.CountsClaims(): // a crash would count against a message that waits
		return min(claimSize, free)
	case len(b.ready) > 0:
		return 0 // one group ahead of the handlers
	default:
		return claimSize
	}
}

// claim claims the first messages of the lanes that wait.
func (b *batch) claim(work, settle context.Context) {
	for !b.over && len(b.waiting) > 0 {
		n := min(b.room(), len(b.waiting))
		if n <= 0 {
			return
		}

		group := slices.Clone(b.waiting[:n])
		b.waiting = b.waiting[n:]
		b.claiming += n
		b.asking++

		b.spawn(func() func() {
			asked := 1

			b.group.ClaimEach(work, requests(group), func(answers []idemddb.ClaimAnswer) {
				jobs := make([]*job, len(answers))
				for i, a := range answers {
					jobs[i] = &job{lane: group[a.Index], claim: a.Claim, outcome: b.refused(a.Err)}
					jobs[i].keep(work)
				}

				first := asked
				asked = 0
				b.told <- func() {
					b.asking -= first
					b.claimed(settle, jobs)
				}
			})

			return func() { b.asking -= asked }
		})
	}

	if b.over {
		left := b.waiting
		b.waiting = nil

		for _, l := range left {
			b.next(settle, l)
		}
	}
}

// claimed takes messages whose claims have answers.
func (b *batch) claimed(settle context.Context, jobs []*job) {
	b.claiming -= len(jobs)

	for _, j := range jobs {
		if j.claim != nil || b.calls(j.outcome) {
			b.ready = append(b.ready, j)

			continue
		}

		b.finish(settle, j.messages[0], j.outcome)
		b.done(j.lane, j.outcome)
		b.next(settle, j.lane)
	}
}

// keep keeps the lease from now until the handler has ended.
func (j *job) keep(work context.Context) {
	if j.claim != nil {
		j.ctx, j.stop = j.claim.Keep(work)
	}
}

// settlers is how many goroutines there may be beside the workers: for claims, and for writes after the handlers.
const settlers = 100

// hideFailed shapes the next deliveries of what has failed.
func (b *batch) hideFailed(settle context.Context) {
	for len(b.failed) > 0 && b.busy < b.workers+settlers {
		m := b.failed[0]
		b.failed = b.failed[1:]

		b.spawn(func() func() {
			b.hide(settle, m)

			return func() {}
		})
	}
}

// start gives what is ready to the workers. When all is over nothing is run, and no worker needed.
func (b *batch) start(work, settle context.Context) {
	for len(b.ready) > 0 && (b.over || b.working < b.workers) && b.busy < b.workers+settlers {
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

				o = settleClaim(settle, j.claim, err)
			}

			b.finish(settle, j.messages[0], o)

			return func() {
				free()
				b.done(j.lane, o)
				b.next(settle, j.lane)
			}
		})
	}
}
