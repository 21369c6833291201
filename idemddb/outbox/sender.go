package outbox

import (
	"context"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// maxBatch is the number of messages that SendMessageBatch, PublishBatch and PutEvents take.
const maxBatch = 10

// sender is what the senders of all services have in common: how messages are put into requests, and what an answer means for a
// message.
type sender struct {
	invalid  error // what is wrong with the target's address; every Send answers with it, so that no message is lost
	fifo     bool
	maxBytes int // of all messages of one request
	size     func(idemddb.Message) int

	// request makes one request and returns one answer for each message. The error is for the request as a whole.
	request func(context.Context, []idemddb.Message) ([]error, error)
}

// Send implements idemddb.Sender.
func (s *sender) Send(ctx context.Context, target string, ms []idemddb.Message) []error {
	all := sending{target, ms, make([]error, len(ms))}

	waiting := make([]int, len(ms)) // places in ms, in their order
	for i := range ms {
		waiting[i] = i
	}

	for len(waiting) > 0 {
		batch, rest := s.next(ms, waiting)

		for n, err := range s.sendBatch(ctx, pick(ms, batch)) {
			all.answers[batch[n]] = answer(target, err)
		}

		if s.fifo {
			rest = all.holdBack(batch, rest)
		}

		waiting = rest
	}

	return all.answers
}

// sending is one call of Send.
type sending struct {
	target  string
	ms      []idemddb.Message
	answers []error // one for each message
}

// next splits the waiting messages into those of the next request and the rest. The first one always goes: if it is too large
// even alone, the service's answer decides what becomes of it.
func (s *sender) next(ms []idemddb.Message, waiting []int) (batch, rest []int) {
	groups := map[string]bool{}
	bytes := 0

	for n, i := range waiting {
		// Of a message group only one message is under way, so that none overtakes another that fails.
		if s.fifo && groups[group(ms[i])] {
			rest = append(rest, i)
			continue
		}

		bytes += s.size(ms[i])
		if len(batch) == maxBatch || len(batch) > 0 && bytes > s.maxBytes {
			return batch, append(rest, waiting[n:]...)
		}

		groups[group(ms[i])] = true
		batch = append(batch, i)
	}

	return batch, rest
}

// sendBatch sends messages that fit into one request and returns one answer for each.
func (s *sender) sendBatch(ctx context.Context, ms []idemddb.Message) []error {
	answers, err := s.try(ctx, ms)
	if err == nil {
		return answers
	}

	answers = make([]error, len(ms))

	for i := range ms {
		answers[i] = err

		// A service may refuse a whole request for one message in it, and a topic may take fewer bytes than the default. Alone, each
		// message gets an answer of its own, and none keeps back the others.
		if len(ms) > 1 && isInvalid(errorCode(err)) {
			answers[i] = s.sendBatch(ctx, ms[i:i+1])[0]
		}
	}

	return answers
}

// try makes a request, unless the address is wrong or the time is over.
func (s *sender) try(ctx context.Context, ms []idemddb.Message) ([]error, error) {
	if s.invalid != nil {
		return nil, s.invalid
	}

	if err := ctx.Err(); err != nil {
		return nil, err //nolint:wrapcheck // answer wraps it
	}

	return s.request(ctx, ms)
}

// holdBack takes those messages out of rest that stand behind a failure in their message group. Their answers are not permanent,
// even if the failure is: when the message before them is parked, they are the next.
func (s *sending) holdBack(batch, rest []int) (kept []int) {
	stopped := map[string]string{} // the id of the failed message, by group

	for _, i := range batch {
		if s.answers[i] != nil {
			stopped[group(s.ms[i])] = s.ms[i].ID
		}
	}

	for _, i := range rest {
		if id, ok := stopped[group(s.ms[i])]; ok {
			s.answers[i] = fmt.Errorf("outbox: %s: not tried: message %s stands before it in its message group and is not known to be sent",
				s.target, id)
		} else {
			kept = append(kept, i)
		}
	}

	return kept
}

// group is the message group on a FIFO target. A message without one is a group of its own, so that it waits for nothing.
func group(m idemddb.Message) string {
	if m.Group == "" {
		return m.ID
	}

	return m.Group
}

func pick(ms []idemddb.Message, places []int) []idemddb.Message {
	picked := make([]idemddb.Message, len(places))
	for n, i := range places {
		picked[n] = ms[i]
	}

	return picked
}
