package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/record"
)

const (
	// targetTime is the longest time for sending to one target after a completion: the answer should not wait longer for it.
	targetTime = 2 * time.Second

	// returnTime is how long a Sender has to return when its context has ended. After that nobody waits for it.
	returnTime = 100 * time.Millisecond

	// targetPause is how long a target that hangs is not asked again, so that it does not delay all others.
	targetPause = 10 * time.Second
)

// The answers for a message whose target has no sender: another process sends to it, or nobody named it here.
var (
	ErrNoSender = errors.New("this process has no sender for the target")
	ErrNotNamed = errors.New("this process has no sender for the target, and its Options.Senders do not name it")
)

var (
	errHangs       = errors.New("the target did not answer in time just now")
	errNotReturned = errors.New("the sender did not return when its context ended")
	errExited      = errors.New("the sender ended its goroutine (runtime.Goexit)")
)

// Message is a message as it is sent.
type Message struct {
	record.Content

	ID string
}

// Targets are the targets to which a process sends. They are safe for concurrent use.
type Targets struct {
	// Sender sends messages to one target, also those of several calls, and returns an answer for each of them.
	Sender func(ctx context.Context, target string, messages []Message) []error

	Now func() time.Time // the clock of the records

	states sync.Map // string, a target → *state
}

// state is what a process knows of a target by its last answers. Its methods are safe for concurrent use.
type state struct {
	mu      sync.Mutex
	answers int       // how often it answered in time
	until   time.Time // it hangs: it is not asked before

	load       *load     // that leaves next; nil for none
	underWay   int       // loads that have left and have no answers
	expected   int       // calls of Send that will come at once
	expectedBy time.Time // they are not expected any more
}

// begin reports whether the target is asked, and returns how often it has answered so far.
func (s *state) begin() (answers int, asked bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.answers, !time.Now().Before(s.until)
}

// answered notes an answer in time. A target that was taken for one that hangs is asked again.
func (s *state) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.answers++
	s.until = time.Time{}
}

// slow notes a sending that used up its time. The target hangs, unless another sending was answered since this one began: then
// only this sending was slow, and the others must not be left because of it.
func (s *state) slow(before int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.answers == before {
		s.until = time.Now().Add(targetPause)
	}
}

// Send sends messages of the record with this tx, target by target, and returns an answer for each message.
func (t *Targets) Send(ctx context.Context, tx string, messages []record.Message) []error {
	answers := make([]error, len(messages))
	indexes := map[string][]int{}

	for i, m := range messages {
		indexes[m.To] = append(indexes[m.To], i)
	}

	for target, own := range indexes {
		part := make([]Message, len(own))
		for i, index := range own {
			part[i] = Message{messages[index].Content, messages[index].ID(tx)}
		}

		for i, answer := range t.carry(ctx, t.state(target), target, part) {
			answers[own[i]] = readable(answer)
		}
	}

	return answers
}

func (t *Targets) state(target string) *state {
	known, _ := t.states.LoadOrStore(target, &state{})

	return known.(*state) //nolint:forcetypeassert // all are states
}

// sendTo sends messages to one target, unless the target hangs. It returns an answer for each.
func (t *Targets) sendTo(ctx context.Context, state *state, target string, messages []Message) []error {
	before, asked := state.begin()
	if !asked {
		return slices.Repeat([]error{errHangs}, len(messages))
	}

	begun := time.Now()

	answers, inTime, err := t.call(ctx, target, messages)

	switch {
	case time.Since(begun) >= targetTime:
		state.slow(before)
	case inTime:
		state.answered()
	}

	if err != nil {
		return slices.Repeat([]error{err}, len(messages))
	}

	return answers
}

// call calls a user's Sender, whose panic, end of its goroutine and wrong number of answers are errors. It has a goroutine of its
// own, because one that does not return must not hold the answer of an invocation. inTime says that the Sender gave its answers
// before its context ended, which may end earlier than targetTime.
func (t *Targets) call(ctx context.Context, target string, messages []Message) (answers []error, inTime bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, targetTime)
	defer cancel()

	returned := make(chan struct{})
	given, failure := []error(nil), errExited

	go func() {
		defer close(returned)
		defer panicerror.Catch("the sender", &failure)

		given, failure = t.Sender(ctx, target, messages), nil
	}()

	if !isClosedInTime(ctx, returned) {
		return nil, false, errNotReturned
	}

	if failure == nil && len(given) != len(messages) {
		failure = fmt.Errorf("the sender gave %d answers for %d messages", len(given), len(messages))
	}

	return given, failure == nil && ctx.Err() == nil, failure
}

// isClosedInTime waits until done is closed, and after the end of ctx for returnTime at most.
func isClosedInTime(ctx context.Context, done <-chan struct{}) bool {
	select {
	case <-done:
		return true
	case <-ctx.Done():
	}

	select {
	case <-done:
		return true
	case <-time.After(returnTime):
		return false
	}
}

// readable returns the answer if it can be read. A typed nil pointer, whose methods panic, says nothing about its message: the
// panic stands in its place, so that the message is left and the others are sent.
func readable(answer error) (err error) {
	defer panicerror.Catch("an error of the sender", &err)

	return panicerror.Readable(answer)
}
