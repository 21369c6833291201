package idemddb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/panicerror"
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

// sendTo sends messages to one target, unless the target did not answer in time just now. It returns an answer for each.
func (s *Store) sendTo(ctx context.Context, target string, messages []StoredMessage) []error {
	if until, ok := s.hanging.Load(target); ok && time.Now().Before(until.(time.Time)) { //nolint:forcetypeassert // all are times
		return slices.Repeat([]error{errHangs}, len(messages))
	}

	begun := time.Now()
	answers, err := s.callSender(ctx, target, messages)

	if time.Since(begun) >= targetTime {
		s.hanging.Store(target, time.Now().Add(targetPause))
	}

	if err != nil {
		return slices.Repeat([]error{err}, len(messages))
	}

	return answers
}

// callSender calls a user's Sender, whose panic and whose wrong number of answers are errors.
func (s *Store) callSender(ctx context.Context, target string, messages []StoredMessage) (answers []error, err error) {
	ctx, cancel := context.WithTimeout(ctx, targetTime)
	defer cancel()
	defer panicerror.Catch("the sender", &err)

	answers = s.opts.Senders[target].Send(ctx, target, messages)
	if len(answers) != len(messages) {
		return nil, fmt.Errorf("the sender gave %d answers for %d messages", len(answers), len(messages))
	}

	return answers, nil
}

// isAnswer reports whether what the user's code returned wraps an error that has a meaning here. A panic is no answer, whatever its value
// wraps.
func isAnswer(err, meaning error) bool {
	_, isPanic := err.(*panicerror.Error) //nolint:errorlint // the code may return an error that wraps the panic of other code

	return !isPanic && errors.Is(err, meaning)
}
