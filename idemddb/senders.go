package idemddb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/internal/record"
)

const (
	// targetTime is the longest time for sending to one target behind a completion: the answer should not wait longer for it.
	targetTime = 2 * time.Second

	// targetPause is how long a target that used up its time is not asked again, so that it does not delay all others.
	targetPause = 10 * time.Second
)

var (
	errNoSender = errors.New("this process has no sender for the target")
	errHangs    = errors.New("the target did not answer in time just now")
)

// sendAll sends messages, target by target, and returns an answer for each.
func (s *Store) sendAll(ctx context.Context, tx string, messages []record.Message) []error {
	answers := slices.Repeat([]error{errNoSender}, len(messages))

	for target, sender := range s.opts.Senders {
		var (
			indexes []int
			public  []StoredMessage
		)

		for i, m := range messages {
			if m.To == target {
				indexes, public = append(indexes, i), append(public, publicMessage(&m, tx))
			}
		}

		if sender == nil || len(public) == 0 {
			continue
		}

		for i, answer := range s.sendTo(ctx, target, public) {
			answers[indexes[i]] = answer
		}
	}

	return answers
}

// sendTo calls a user's Sender, whose panic and whose wrong number of answers are errors.
func (s *Store) sendTo(ctx context.Context, target string, messages []StoredMessage) (answers []error) {
	if until, ok := s.hanging.Load(target); ok && time.Now().Before(until.(time.Time)) { //nolint:forcetypeassert // all are times
		return slices.Repeat([]error{errHangs}, len(messages))
	}

	begun := time.Now()

	ctx, cancel := context.WithTimeout(ctx, targetTime)
	defer cancel()

	defer func() {
		if v := recover(); v != nil {
			answers = slices.Repeat([]error{fmt.Errorf("the sender panicked: %v", v)}, len(messages))
		}

		if time.Since(begun) >= targetTime {
			s.hanging.Store(target, time.Now().Add(targetPause))
		}
	}()

	answers = s.opts.Senders[target].Send(ctx, target, messages)
	if len(answers) != len(messages) {
		return slices.Repeat([]error{fmt.Errorf("the sender gave %d answers for %d messages", len(answers), len(messages))}, len(messages))
	}

	return answers
}
