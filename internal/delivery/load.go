package delivery

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

const (
	// loadSize is the number of messages that travel together: SendMessageBatch, PublishBatch and PutEvents take ten.
	loadSize = 10

	// loadWait is the longest time for which a load waits before it is sent: for messages that Expect has announced, and for a load
	// that is under way to the same target.
	loadWait = 10 * time.Millisecond
)

// load is the messages of one or several calls of Send that are passed to the Sender together. Messages of several calls have a
// goroutine, and a context that is made from nothing: what the context of one call carries must not travel with the messages of
// another one. The last call that leaves such a load cancels it and waits for its end, because AWS Lambda freezes what is left.
type load struct {
	target   string
	messages []Message

	full chan struct{}   // closed when the load takes no more messages
	done chan struct{}   // closed when answers is set
	ctx  context.Context //nolint:containedctx // of the load, for several calls
	stop context.CancelFunc

	answers []error

	mu    sync.Mutex
	calls int // that wait for the answers
}

func newLoad(target string) *load {
	l := &load{target: target, full: make(chan struct{}), done: make(chan struct{})}
	l.ctx, l.stop = context.WithCancel(context.Background())

	return l
}

// takes reports whether the messages of one more call may travel in the load. Of a message group it takes those of one call: a
// failure keeps back the messages behind it, which must not be those of another record.
func (l *load) takes(messages []Message) bool {
	return len(l.messages)+len(messages) <= loadSize && !slices.ContainsFunc(messages, func(m Message) bool {
		return m.Group != "" && slices.ContainsFunc(l.messages, func(other Message) bool { return other.Group == m.Group })
	})
}

// arrive counts a call that waits for the answers.
func (l *load) arrive() {
	l.mu.Lock()
	defer l.mu.Unlock()

	l.calls++
}

// leave ends the wait of a call. Nobody may wait for an answer when the last one has left.
func (l *load) leave() {
	l.mu.Lock()
	l.calls--
	isLast := l.calls == 0
	l.mu.Unlock()

	if isLast {
		l.stop()
		<-l.done
	}
}

// Expect announces that the messages of a record will be sent at once, so that those of records which were completed together
// travel together.
func (t *Targets) Expect(messages []record.Message) {
	for i, m := range messages {
		if !slices.ContainsFunc(messages[:i], func(before record.Message) bool { return before.To == m.To }) {
			t.state(m.To).expect()
		}
	}
}

func (s *state) expect() {
	s.mu.Lock()
	defer s.mu.Unlock()

	if now := time.Now(); now.After(s.expectedBy) {
		s.expected, s.expectedBy = 0, now.Add(loadWait)
	}

	s.expected++
}

// board puts the messages of a call into the load that leaves next, and returns their place in it. The first call of a load sends
// it.
func (s *state) board(target string, messages []Message) (l *load, at int, isFirst bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.expected = max(0, s.expected-1); time.Now().After(s.expectedBy) {
		s.expected = 0
	}

	if s.load != nil && !s.load.takes(messages) {
		s.depart(s.load)
	}

	if s.load == nil {
		s.load, isFirst = newLoad(target), true
	}

	l, at = s.load, len(s.load.messages)
	l.messages = append(l.messages, messages...)
	l.arrive()

	if s.expected == 0 && s.underWay == 0 || len(l.messages) >= loadSize {
		s.depart(l)
	}

	return l, at, isFirst
}

// depart closes a load. It is called with s.mu held.
func (s *state) depart(l *load) {
	if s.load == l {
		s.load = nil
		s.underWay++
		close(l.full)
	}
}

// landed notes that a load has its answers. The messages that have come meanwhile leave, unless others are expected with them.
func (s *state) landed() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.underWay--

	if s.load != nil && s.expected == 0 {
		s.depart(s.load)
	}
}

// await waits until a load leaves, at most until ctx ends.
func (s *state) await(ctx context.Context, l *load) {
	select {
	case <-l.full:
		return
	case <-time.After(loadWait):
	case <-ctx.Done():
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	s.depart(l)
}

// carry sends the messages of a call, together with those of others that are completed at the same time.
func (t *Targets) carry(ctx context.Context, s *state, target string, messages []Message) []error {
	l, at, isFirst := s.board(target, messages)
	defer l.leave()

	if isFirst {
		s.await(ctx, l)

		if len(l.messages) == len(messages) { // of this call alone
			defer s.landed()
			defer close(l.done)

			return t.sendTo(ctx, s, target, messages)
		}

		go func() {
			defer s.landed()
			defer close(l.done)

			l.answers = t.sendTo(l.ctx, s, target, l.messages)
		}()
	}

	select {
	case <-l.done:
		return l.answers[at : at+len(messages)]
	case <-ctx.Done():
		return slices.Repeat([]error{sleep.EndOf(ctx)}, len(messages))
	}
}
