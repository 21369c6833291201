// Package delivery sends the messages of a completed record. It calls the senders, and decides which messages are sent, which are
// left for later and which are parked. It neither reads nor writes the table. It also knows where a message that is sent carries
// its id.
package delivery

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/record"
)

// ErrUnsendable is wrapped by the answer for a message that no later try can send.
var ErrUnsendable = errors.New("message cannot be sent")

var errBehind = errors.New("not tried: a message before it to its target cannot be opened")

var errOld = errors.New("unsent for 7 days: its receivers may have forgotten that they have it, as after a restore from a backup")

// maxUnsent is how long a message that is not sent is tried again, before it is parked.
const maxUnsent = 7 * 24 * time.Hour

// Sending is one sending of the messages of a record. Send fills the fields below Open.
type Sending struct {
	Record   *record.Stored // as it was read
	Operator bool           // also sends parked messages, and those that are unsent for too long

	// Open returns what a sealed message says.
	Open func(context.Context, *record.Message) (record.Content, error)

	Sent       int
	Left       []record.Message // stay in the outbox
	Parked     []record.Message // also those that were parked before
	Unsendable []error          // why messages were parked now
}

// Send sends the messages. It returns an error for each message that is left, or is parked as before.
func (s *Sending) Send(ctx context.Context, targets *Targets) (left []error) {
	messages := s.messages()

	for i, answer := range s.ask(ctx, targets, messages) {
		if err := s.read(messages[i], answer); err != nil {
			left = append(left, err)
		}
	}

	return left
}

// messages returns the messages to send, in their order. A message that one sender has parked and another has not is in both
// lists; it is sent once.
func (s *Sending) messages() []record.Message {
	messages := slices.Clone(s.Record.Outbox)

	for _, m := range s.Record.Parked {
		switch {
		case contains(s.Record.Outbox, m.Index):
		case s.Operator:
			messages = append(messages, m)
		default:
			s.Parked = append(s.Parked, m)
		}
	}

	slices.SortFunc(messages, func(a, b record.Message) int { return a.Index - b.Index })

	return messages
}

func contains(messages []record.Message, index int) bool {
	return slices.ContainsFunc(messages, func(m record.Message) bool { return m.Index == index })
}

// ask returns an answer for each message. Messages that are unsent for too long are sent only for an operator.
func (s *Sending) ask(ctx context.Context, targets *Targets, messages []record.Message) []error {
	if !s.Operator && targets.Now().Sub(time.UnixMilli(s.Record.Done)) > maxUnsent {
		return slices.Repeat([]error{fmt.Errorf("%w: %w", ErrUnsendable, errOld)}, len(messages))
	}

	return s.sendOpen(ctx, targets, messages)
}

// sendOpen opens what is sealed and sends it. A message that cannot be opened keeps back those behind it to its target: they may
// be of its group, which is sealed with it.
func (s *Sending) sendOpen(ctx context.Context, targets *Targets, messages []record.Message) []error {
	answers := make([]error, len(messages))
	closed := map[string]bool{} // targets

	var (
		open   []record.Message
		places []int
	)

	for i, m := range messages {
		switch err := s.open(ctx, &m, closed[m.To]); {
		case err != nil:
			answers[i], closed[m.To] = err, true
		default:
			open, places = append(open, m), append(places, i)
		}
	}

	for n, answer := range targets.Send(ctx, s.Record.Tx, open) {
		answers[places[n]] = answer
	}

	return answers
}

// open makes what a message says readable.
func (s *Sending) open(ctx context.Context, m *record.Message, isKeptBack bool) (err error) {
	switch {
	case isKeptBack:
		return errBehind
	case m.IsSealed():
		m.Content, err = s.Open(ctx, m)
	}

	return err
}

// read takes the answer for a message. It returns an error if the message is left, or is parked as before.
func (s *Sending) read(m record.Message, answer error) error {
	if answer == nil {
		s.Sent++

		return nil
	}

	named := fmt.Errorf("idemddb: message %s to %q: %w", m.ID(s.Record.Tx), m.To, answer)
	wasParked := !contains(s.Record.Outbox, m.Index)

	// An operator may have given a wrong address, so that its answer does not park what the sweep would send.
	if !wasParked && (s.Operator || !panicerror.IsAnswer(answer, ErrUnsendable)) {
		s.Left = append(s.Left, m)

		return named
	}

	m.Cause = record.CauseOf(answer)
	s.Parked = append(s.Parked, m)

	if wasParked {
		return named
	}

	s.Unsendable = append(s.Unsendable, named)

	return nil
}
