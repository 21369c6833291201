package idemddb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// targetTime is the longest time for sending to one target behind a completion: the answer should not wait longer for it.
const targetTime = 2 * time.Second

// sendNow sends the messages of a record that this process has just completed. What does not get through is left to the sweep. If
// there is none (Options.Unswept), it returns ErrUnsent.
func (s *Store) sendNow(ctx context.Context, b *Batch, key, partition string, rec *storedRecord) error {
	ctx, p, cancel := s.settleContext(ctx)
	defer cancel()

	left, err := s.deliver(ctx, b, key, partition, rec, p)
	if left == 0 && err == nil {
		return nil
	}

	s.observe(ctx, Event{Kind: Unsent, Key: key, Err: err})

	if s.opts.Unswept {
		return keyError("send", key, errors.Join(ErrUnsent, err))
	}

	return nil
}

// Delivery is what became of the messages of one record.
type Delivery struct {
	Key                string // as stored: behind the namespace, perhaps as a digest
	Sent, Left, Parked int    // messages
}

// SendStored sends the messages of a record that was read from the table, and removes them from the record. With parked, it sends the
// parked messages, too. It is for outbox.Sweep and operators; two senders at a time do no harm, because the ids stay the same. An
// error means that messages are left, or that their removal was not written.
func (s *Store) SendStored(ctx context.Context, stored map[string]types.AttributeValue, parked bool) (Delivery, error) {
	pk, ok := stored[s.opts.PartitionKey].(*types.AttributeValueMemberS)
	if !ok || !strings.HasPrefix(pk.Value, s.namespace+"#") {
		return Delivery{}, fmt.Errorf("idemddb: send: %w: the item is no record of namespace %q", ErrCorrupt, s.namespace)
	}

	key := strings.TrimPrefix(pk.Value, s.namespace+"#")

	rec, err := s.decode(stored)
	if err != nil {
		return Delivery{Key: key}, keyError("send", key, err)
	}

	before := len(rec.Parked)

	if parked {
		for _, m := range rec.Parked {
			rec.Outbox = append(rec.Outbox, m.storedMessage)
		}

		rec.Parked, rec.fromParked = nil, true
	}

	if len(rec.Outbox) == 0 {
		return Delivery{Key: key, Parked: before}, nil
	}

	total := len(rec.Outbox)

	ctx, p, cancel := s.settleContext(ctx)
	defer cancel()

	left, err := s.deliver(ctx, nil, key, pk.Value, rec, p)
	done := Delivery{Key: key, Left: left, Parked: len(rec.Parked)}
	done.Sent = total - left - (done.Parked - before)

	return done, err
}

// deliver sends the messages in rec.Outbox and writes down what is left. It moves those that can never be sent to rec.Parked.
func (s *Store) deliver(ctx context.Context, b *Batch, key, partition string, rec *storedRecord, p policy) (left int, err error) {
	answers := s.sendAll(ctx, rec)

	var open []storedMessage

	isOld := s.opts.Now().Sub(time.UnixMilli(rec.Done)) > maxUnsent

	for i, m := range rec.Outbox {
		switch answer := answers[i]; {
		case answer == nil:
		case errors.Is(answer, ErrUnsendable) || isOld && !errors.Is(answer, errNoSender):
			rec.Parked = append(rec.Parked, parkedMessage{m, errorText(answer)})
			s.observe(ctx, Event{Kind: Parked, Key: key, Err: fmt.Errorf("idemddb: message %s to %q: %w", messageID(rec.Tx, m.Index), m.To, answer)})
		default:
			open, err = append(open, m), errors.Join(err, fmt.Errorf("idemddb: message %s to %q: %w", messageID(rec.Tx, m.Index), m.To, answer))
		}
	}

	if len(open) == len(rec.Outbox) {
		return len(open), err // nothing has changed
	}

	if removed := s.removeSent(ctx, b, key, partition, rec, open, p); removed != nil {
		return len(open), errors.Join(err, removed)
	}

	if len(open) == 0 && len(rec.Parked) == 0 {
		s.observe(ctx, Event{Kind: Sent, Key: key})
	}

	return len(open), err
}

// sendAll sends the messages of a record, target by target, and returns an answer for each message.
func (s *Store) sendAll(ctx context.Context, rec *storedRecord) []error {
	answers := make([]error, len(rec.Outbox))
	byTarget := map[string][]int{}

	for i, m := range rec.Outbox {
		answers[i] = errNoSender
		if s.opts.Senders[m.To] != nil {
			byTarget[m.To] = append(byTarget[m.To], i)
		}
	}

	for target, indexes := range byTarget {
		messages := make([]StoredMessage, len(indexes))
		for i, at := range indexes {
			messages[i] = rec.Outbox[at].public(rec.Tx)
		}

		for i, answer := range s.sendTo(ctx, target, messages) {
			answers[indexes[i]] = answer
		}
	}

	return answers
}

// sendTo calls a user's Sender, whose panic and whose wrong number of answers are errors.
func (s *Store) sendTo(ctx context.Context, target string, messages []StoredMessage) (answers []error) {
	ctx, cancel := context.WithTimeout(ctx, targetTime)
	defer cancel()

	failed := func(err error) []error {
		all := make([]error, len(messages))
		for i := range all {
			all[i] = err
		}

		return all
	}

	defer func() {
		if v := recover(); v != nil {
			answers = failed(fmt.Errorf("the sender panicked: %v", v))
		}
	}()

	answers = s.opts.Senders[target].Send(ctx, target, messages)
	if len(answers) != len(messages) {
		return failed(fmt.Errorf("the sender gave %d answers for %d messages", len(answers), len(messages)))
	}

	return answers
}

// removeSent writes the messages that are left into the record. The record gets its end back when none is left, and none is parked. If
// another sender was faster, there is nothing to do.
func (s *Store) removeSent(ctx context.Context, b *Batch, key, partition string, rec *storedRecord, open []storedMessage, p policy) error {
	condition := condUnsent
	if rec.fromParked {
		condition = condParked
	}

	_, err := s.fenced(ctx, b, key, p, func() write {
		values := item{":own": stringValue(*rec.Token), ":tx": stringValue(rec.Tx), ":completed": completedValue}
		update := updateSent

		switch {
		case len(open) > 0 && len(rec.Parked) > 0:
			update = updateLeft + updateSetParked
		case len(open) > 0 && rec.fromParked:
			update = updateLeft + updateDropParked
		case len(open) > 0:
			update = updateLeft
		case len(rec.Parked) > 0:
			update = updateParked
		}

		if len(open) > 0 {
			values[":outbox"] = marshal(open)
		}

		if len(rec.Parked) > 0 {
			values[":parked"] = marshal(rec.Parked)
		}

		if update == updateSent {
			// The record stays until tomorrow at least, so that a late twin of the completing write finds it.
			values[":exp"] = numberValue(max(rec.Ends, s.opts.Now().Add(24*time.Hour).Unix()))
		}

		return write{partition, condition, update, values}
	})
	if errors.Is(err, ErrFenced) && !errors.Is(err, ErrCorrupt) {
		return nil
	}

	return err
}

func marshal(v any) types.AttributeValue {
	value, err := attributevalue.Marshal(v)
	if err != nil {
		panic(err) // never: texts and numbers
	}

	return value
}
