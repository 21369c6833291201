package lambdawrap_test

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The same simulation reads a shard: requests, handlers and hooks fail at random for a minute, and the rules are the same. In addition,
// nothing before the sequence number that an answer names may be undone.
func TestNoRandomSimulationOfAStreamBreaksTheRules(t *testing.T) {
	t.Parallel()

	for i, way := range streamWays {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()

			for seed := uint64(i); seed < uint64(rounds(*simulations)) && !t.Failed(); seed += uint64(len(streamWays)) {
				simulateStream(t, *firstSeed+seed, way.wrap)
			}
		})
	}
}

func simulateStream(t *testing.T, seed uint64, wrap func(*harness, lambdawrap.Handler) wrapped) {
	t.Helper()

	s := newSimulation(seed)
	s.isBatch, s.isFIFO, s.deadLetter = false, true, true // without the hook, a key that failed for good stops the shard for ever
	s.count, s.keys = 4*s.count, 4*s.keys

	bubble(t, &s.store, func(h *harness) {
		s.harness = h
		s.start = time.Now()
		s.calm = s.start.Add(time.Minute)
		s.fill()

		for i, q := range s.queue {
			q.MessageId = strconv.Itoa(90 + i) // the numbers have two digits, and three
		}

		h.db.Intercept(s.requestFault)
		h.db.InterceptStatements(s.statementFault)

		h.opts.Workers, h.opts.Timeout, h.opts.Reserve = s.options.Workers, s.options.Timeout, s.options.Reserve
		h.opts.OnMessage, h.opts.DeadLetter = s.onMessage, s.deadLetterHook

		s.readShard(wrap(h, s.handle))
		h.db.Deliver()
		s.check()

		if len(s.broken) > 0 {
			h.Errorf("seed %d, %s:\n%s\nlog:\n%s", seed, s, strings.Join(s.broken[:min(len(s.broken), 5)], "\n"), lastLines(h.log.String(), 40))
		}
	})
}

// readShard invokes the function as Lambda does, one batch after the other, until the shard is read and nothing fails any more.
func (s *simulation) readShard(function wrapped) {
	for at := 0; at < len(s.queue) && time.Since(s.start) < 3*time.Hour; {
		at += s.invokeStream(function, s.queue[at:min(at+10, len(s.queue))])

		if s.upTo(10) == 0 {
			s.harness.db.Deliver()
		}
	}
}

// invokeStream makes one invocation and returns how many of its records are behind it.
func (s *simulation) invokeStream(function wrapped, taken []*queued) (done int) {
	c := &call{begun: time.Now(), deadline: time.Now().Add(s.limit), ended: map[string]lambdawrap.Outcome{}}
	ctx, cancel := context.WithDeadline(context.WithValue(s.harness.Context(), callKey{}, c), c.deadline)

	defer cancel()

	event := events.SQSEvent{}
	for _, q := range taken {
		event.Records = append(event.Records, q.SQSMessage)
	}

	response, err := function(ctx, event)

	s.mu.Lock()
	defer s.mu.Unlock()

	c.answered = time.Now()
	if late := c.answered.Sub(c.deadline.Add(-s.reserve() / 4)); late > 5*time.Millisecond {
		s.breaksf("an answer comes %v too late", late)
	}

	if err != nil {
		s.breaksf("an invocation fails: %v", err)

		return 0
	}

	failed := ids(response)
	if len(failed) > 1 {
		s.breaksf("an answer names %v", failed)
	}

	for _, q := range taken {
		if len(failed) > 0 && q.MessageId == failed[0] {
			break
		}

		done++
		q.gone, s.ended[q.MessageId] = true, true

		if s.effects[q.Body] == 0 && !s.taken[q.MessageId] {
			s.breaksf("%s with key %s is lost: the shard is read beyond it without an effect", q.MessageId, q.Body)
		}
	}

	s.checkCall(c, failed)
	s.checkUndone(c, taken, failed)

	return done
}

// checkUndone checks that the answer names the first record that did not end well, and no other one.
func (s *simulation) checkUndone(c *call, taken []*queued, failed []string) {
	for _, q := range taken {
		if len(failed) > 0 && q.MessageId == failed[0] {
			if o := c.ended[q.MessageId]; o == lambdawrap.OutcomeCompleted || o == lambdawrap.OutcomeReplayed {
				s.breaksf("%s ended as %s and is reported failed", q.MessageId, o)
			}

			return
		}
	}

	if len(failed) > 0 {
		s.breaksf("the answer names %s, which is not in the batch %s", failed[0], fmt.Sprint(taken))
	}
}
