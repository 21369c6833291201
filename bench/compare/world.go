package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/localstack/runtimeapi"
)

const (
	processes = 4
	bankTime  = 5 * time.Millisecond // what the bank takes for a check
	patience  = 45 * time.Second     // what is not done then is stuck
	grace     = 500 * time.Millisecond
)

// world is one contender in one scenario.
type world struct {
	contender contender
	scenario  scenario

	dynamo            string
	client            *http.Client
	records, accounts string
	log               string

	queue       queue
	transaction sync.Mutex // held by a transaction
	locks       locks
	measure     measure

	mu       sync.Mutex
	random   *rand.Rand
	checks   int // of all handlers
	strikes  int // that have hit
	due      int // the number of payments done or checked at which the next strike is due
	outage   [2]time.Time
	effects  map[string][]effect
	tokens   map[string]bool // of transactions that have happened
	needless int             // deliveries that came back although their process lived
	timeouts int             // processes that were killed because their time was over, without a strike
}

// effect is one credit of a payment that has happened.
type effect struct {
	by      *invocation
	at      time.Time
	unheard bool // the handler did not get its answer
}

// fault is what happens to a request to DynamoDB.
type fault int

const (
	none fault = iota
	cutBefore
	cutAfter
	throttle
	strikeAfter
)

// pick draws the fault of a request with so many effects.
func (w *world) pick(p *process, effects int) fault {
	w.mu.Lock()
	now := time.Now()
	away := now.After(w.outage[0]) && now.Before(w.outage[1])
	n := w.random.Float64()
	s, hit := w.nextStrike(effects > 0, false)
	w.mu.Unlock()

	switch {
	case hit && s.at == beforeEffect:
		w.hit(p, s)

		return cutBefore
	case hit:
		return strikeAfter
	case away:
		return cutBefore
	case n < w.scenario.replyLost:
		return cutAfter
	case n < w.scenario.throttled:
		return throttle
	}

	return none
}

// nextStrike returns the strike that is due now, if any. w.mu is held.
func (w *world) nextStrike(isEffect, isCheck bool) (strike, bool) {
	all := w.scenario.strikes
	if len(all) == 0 || w.checks < w.due || w.strikes*w.scenario.every >= w.scenario.payments {
		return strike{}, false
	}

	s := all[w.strikes%len(all)]
	if s.at == atCheck && !isCheck || s.at != atCheck && !isEffect {
		return strike{}, false
	}

	w.strikes++
	w.due = w.strikes*w.scenario.every + 1 + w.random.IntN(w.scenario.every)

	return s, true
}

// strike hits a process after its request was applied.
func (w *world) strike(p *process) {
	w.mu.Lock()
	s := w.scenario.strikes[(w.strikes-1)%len(w.scenario.strikes)]
	w.mu.Unlock()

	w.hit(p, s)
}

// hit kills or stops a process. A process that was stopped is continued after stopTime.
func (w *world) hit(p *process, s strike) {
	if i := p.invocationOf(); i != nil {
		w.mu.Lock()
		i.struck = true
		w.mu.Unlock()
	}

	if !s.stop {
		p.Signal(syscall.SIGKILL)

		return
	}

	p.Signal(syscall.SIGSTOP)

	p.stopping.Go(func() {
		pause(stopTime)
		p.Signal(syscall.SIGCONT)
		pause(grace) // Lambda would have ended it long ago: this is what a machine that was paused still does
	})
}

func pause(d time.Duration) { <-time.After(d) }

// happened notes the effects of a request that DynamoDB has applied. A transaction under a token that was applied happens once.
func (w *world) happened(p *process, token string, payments []string, unheard bool) {
	if len(payments) == 0 {
		return
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	if token != "" {
		if w.tokens[token] {
			return
		}

		w.tokens[token] = true
	}

	e := effect{p.invocationOf(), time.Now(), unheard}
	for _, id := range payments {
		w.effects[id] = append(w.effects[id], e)
	}
}

// serveBank is what the handlers ask before their effect.
func (w *world) serveBank(p *process) http.HandlerFunc {
	return func(answer http.ResponseWriter, _ *http.Request) {
		w.mu.Lock()
		w.checks++

		if w.scenario.outage > 0 && w.outage[0].IsZero() && w.checks >= w.scenario.payments/4 {
			w.outage = [2]time.Time{time.Now(), time.Now().Add(w.scenario.outage)}
		}

		s, hit := w.nextStrike(false, true)
		w.mu.Unlock()

		if hit {
			w.hit(p, s)
		}

		if hit && s.cut {
			pause(stopTime / 2)
			panic(http.ErrAbortHandler)
		}

		pause(bankTime)
		answer.WriteHeader(http.StatusNoContent)
	}
}

// fill puts the messages of the scenario into the queue.
func (w *world) fill() {
	now := time.Now()

	for i := range w.scenario.payments {
		p := payment{fmt.Sprintf("p-%d", i), fmt.Sprintf("a-%d", i%w.scenario.accounts), 1}
		w.queue.messages = append(w.queue.messages, &message{id: fmt.Sprintf("m-%d", i), payment: p, visible: now})

		if w.scenario.copies {
			w.queue.messages = append(w.queue.messages, &message{id: fmt.Sprintf("m-%d-again", i), payment: p, visible: now.Add(w.scenario.apart)})
		}
	}

	if w.scenario.copies && w.scenario.apart == 0 { // so that copies meet in other batches
		w.random.Shuffle(len(w.queue.messages), func(i, j int) {
			w.queue.messages[i], w.queue.messages[j] = w.queue.messages[j], w.queue.messages[i]
		})
	}
}

// run runs the scenario to its end.
func (w *world) run(ctx context.Context) error {
	errs := make(chan error, processes)
	ready := &sync.WaitGroup{}
	ready.Add(processes)

	for n := range processes {
		go func() { errs <- w.poll(ctx, n, ready) }()
	}

	var all []error
	for range processes {
		all = append(all, <-errs)
	}

	return errors.Join(all...)
}

// poll is one poller of Lambda with its process, which is started anew after each end.
func (w *world) poll(ctx context.Context, n int, ready *sync.WaitGroup) error {
	p, err := w.start(ctx)
	if err != nil {
		ready.Done()

		return err
	}
	defer func() { w.measure.end(p) }()

	err = w.await(p)

	ready.Done()

	if err != nil {
		return err
	}

	ready.Wait() // all begin together
	w.measure.begin()

	for turn := 0; ; turn++ {
		batch, left := w.queue.receive(time.Now())
		if left == 0 || time.Since(w.measure.started()) > patience {
			w.measure.finish()

			return nil
		}

		if len(batch) == 0 {
			pause(20 * time.Millisecond)

			continue
		}

		lives, err := w.deliver(p, fmt.Sprintf("%d-%d", n, turn), batch)
		if err != nil {
			return err
		}

		if lives {
			continue
		}

		w.measure.end(p)

		if p, err = w.start(ctx); err != nil {
			return err
		}

		if err := w.await(p); err != nil {
			return err
		}
	}
}

// deliver hands a batch to the process. It returns whether the process lives on.
func (w *world) deliver(p *process, id string, batch []*message) (lives bool, err error) {
	event, err := w.queue.event(batch)
	if err != nil {
		return false, err
	}

	i := &invocation{}
	body, err := p.invoke("00000000-0000-4000-8000-"+fmt.Sprintf("%012s", id), event, i)

	w.mu.Lock()
	i.ended = time.Now()
	struck := i.struck
	w.mu.Unlock()

	failed := map[string]bool{}

	switch {
	case errors.Is(err, runtimeapi.ErrExited) || errors.Is(err, runtimeapi.ErrTimeout):
		if !struck {
			w.lostTime(batch)
		}

		if struck { // a stopped process goes on for a moment before it is ended
			p.stopping.Wait()
		}

		return false, nil
	case err != nil:
		for _, m := range batch {
			failed[m.id] = true
		}
	default:
		var r events.SQSEventResponse
		if err := json.Unmarshal(body, &r); err != nil {
			return false, fmt.Errorf("the answer %s: %w", body, err)
		}

		for _, f := range r.BatchItemFailures {
			failed[f.ItemIdentifier] = true
		}
	}

	if !struck {
		w.mu.Lock()
		w.needless += len(failed)
		w.mu.Unlock()
	}

	w.queue.delete(batch, failed)

	return true, nil
}

func (w *world) lostTime(batch []*message) {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.timeouts++
	w.needless += len(batch)
}

// verdict counts what became of the payments.
func (w *world) verdict() (v verdict) {
	w.mu.Lock()
	defer w.mu.Unlock()

	open := w.queue.open()

	for i := range w.scenario.payments {
		id := fmt.Sprintf("p-%d", i)
		effects := w.effects[id]

		switch {
		case open[id]:
			v.Stuck++
		case len(effects) == 0:
			v.Lost++
		}

		for n := 1; n < len(effects); n++ {
			if w.unavoidable(effects[:n], effects[n]) {
				v.DoublesOthers++
			} else {
				v.DoublesLayer++
			}
		}
	}

	v.CameBack, v.Timeouts, v.Strikes = w.needless, w.timeouts, w.strikes

	return v
}

// unavoidable says whether no record that is written before and after an effect could have kept it from happening again: the
// process was struck in the earlier run or in this one, DynamoDB was away before the earlier run could write down that it was
// done, or the handler did not get the answer to its effect, and said that it had failed, or its SDK sent it again.
func (w *world) unavoidable(earlier []effect, e effect) bool {
	return e.by == nil || e.by.struck || slices.ContainsFunc(earlier, func(before effect) bool {
		return before.by == nil || before.by == e.by || before.by.struck || before.unheard ||
			before.at.Before(w.outage[1]) && before.by.ended.After(w.outage[0])
	})
}
