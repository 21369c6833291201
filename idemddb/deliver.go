package idemddb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/retry"
)

const (
	// unsentAfter is how old a completion is at least before another process than the completing one sends its messages.
	unsentAfter = 10 * time.Second

	// maxUnsent is how long a message that is not sent is tried again, before it is parked.
	maxUnsent = 7 * 24 * time.Hour
)

// Delivery is what became of the messages of one record.
type Delivery struct {
	Key                string // as stored: behind the namespace, perhaps as a digest
	Sent, Left, Parked int    // messages: sent now, to be sent later, and parked
}

// SendStored sends the messages of a record that was read from the table, and removes them from the record. With parked, it also sends
// messages that are parked or unsent for too long; a parked message that cannot be sent stays parked. It is for outbox.Sweep and operators;
// two senders at a time do no harm, because the ids stay the same. An error means that messages are left, or that their removal was not
// written.
func (s *Store) SendStored(ctx context.Context, stored map[string]types.AttributeValue, parked bool) (Delivery, error) {
	partition := record.TextOf(stored[s.opts.PartitionKey])

	key, ok := strings.CutPrefix(partition, s.namespace+"#")
	if !ok {
		return Delivery{}, fmt.Errorf("idemddb: send: %w: the item is no record of namespace %q", ErrCorrupt, s.namespace)
	}

	rec, err := s.decode(stored)
	if err != nil {
		return Delivery{Key: key}, fmt.Errorf("idemddb: send of key %s: %w", record.StoredKeyHash(key), err)
	}

	d := &delivering{store: s, key: key, partition: partition, rec: rec, operator: parked}
	err = d.run(ctx)

	return Delivery{Key: key, Sent: d.sent, Left: len(d.left), Parked: len(d.parked)}, err
}

// sendNow sends the messages of a completed record. Messages that do not get through stay in the record.
func (s *Store) sendNow(ctx context.Context, b *Batch, key, partition string, rec *record.Stored) error {
	d := &delivering{store: s, batch: b, key: key, partition: partition, rec: rec}
	if err := d.run(ctx); err != nil {
		return s.unsent(ctx, key, err)
	}

	return nil
}

// sendLeft sends the messages of a completed record that its own process has not sent for a while. If they must be sent before the key is
// answered, the error of sending them is the answer.
func (a *acquisition) sendLeft(ctx context.Context, b *Batch) {
	var err error

	if s := a.store; s.opts.Now().Sub(time.UnixMilli(a.unsentRecord.Done)) < unsentAfter {
		err = s.unsent(ctx, a.key, nil)
	} else {
		err = s.sendNow(ctx, b, a.key, a.partition, a.unsentRecord)
	}

	if err != nil {
		a.record, a.err = nil, err
	}
}

// unsent leaves the messages of a completed record to the sweep. err says why they are not sent; nil if the completing process probably
// sends them just now. If there is no sweep (Options.Unswept), unsent returns ErrUnsent.
func (s *Store) unsent(ctx context.Context, key string, err error) error {
	s.opts.Observe(ctx, Event{Kind: Unsent, Key: key, Err: err})

	if s.opts.Unswept {
		return keyError("send", key, errors.Join(ErrUnsent, err))
	}

	return nil
}

// delivering is one sending of the messages of a record.
type delivering struct {
	store          *Store
	batch          *Batch // nil for none
	key, partition string
	rec            *record.Stored // as it was read
	operator       bool           // parked messages, too

	sent   int
	left   []record.Message // in the outbox
	parked []record.Message
}

// run sends the messages and writes down what is left of them. Its error says what is left and why.
func (d *delivering) run(ctx context.Context) error {
	ctx, p, cancel := d.store.settleContext(ctx)
	defer cancel()

	messages := d.messages()
	err := d.read(ctx, messages, d.send(ctx, messages))

	if d.sent == 0 && len(d.left) == len(d.rec.Outbox) {
		return err // nothing has changed
	}

	if removed := d.remove(ctx, p); removed != nil {
		return errors.Join(err, removed)
	}

	if len(d.left)+len(d.parked) == 0 {
		d.store.opts.Observe(ctx, Event{Kind: Sent, Key: d.key})
	}

	return err
}

// messages returns the messages to send, in their order. A message that one sender has parked and another has not is in both lists; it is
// sent once.
func (d *delivering) messages() []record.Message {
	messages := slices.Clone(d.rec.Outbox)

	for _, m := range d.rec.Parked {
		switch {
		case contains(d.rec.Outbox, m.Index):
		case d.operator:
			messages = append(messages, m)
		default:
			d.parked = append(d.parked, m)
		}
	}

	slices.SortFunc(messages, func(a, b record.Message) int { return a.Index - b.Index })

	return messages
}

func contains(messages []record.Message, index int) bool {
	return slices.ContainsFunc(messages, func(m record.Message) bool { return m.Index == index })
}

var errOld = errors.New("unsent for 7 days: its receivers may have forgotten that they have it, as after a restore from a backup")

// send returns an answer for each message. Messages that are unsent for too long are sent only for an operator.
func (d *delivering) send(ctx context.Context, messages []record.Message) []error {
	if !d.operator && d.store.opts.Now().Sub(time.UnixMilli(d.rec.Done)) > maxUnsent {
		return slices.Repeat([]error{fmt.Errorf("%w: %w", ErrUnsendable, errOld)}, len(messages))
	}

	return d.store.sendAll(ctx, d.rec.Tx, messages)
}

// read sorts the messages by their answers.
func (d *delivering) read(ctx context.Context, messages []record.Message, answers []error) (left error) {
	for i, m := range messages {
		if answers[i] == nil {
			d.sent++

			continue
		}

		answer := fmt.Errorf("idemddb: message %s to %q: %w", m.ID(d.rec.Tx), m.To, answers[i])
		wasParked := !contains(d.rec.Outbox, m.Index)

		switch {
		case wasParked:
			m.Cause = errorText(answers[i])
			d.parked = append(d.parked, m)
			left = errors.Join(left, answer)
		case isAnswer(answers[i], ErrUnsendable):
			m.Cause = errorText(answers[i])
			d.parked = append(d.parked, m)
			d.store.opts.Observe(ctx, Event{Kind: Parked, Key: d.key, Err: answer})
		default:
			d.left = append(d.left, m)
			left = errors.Join(left, answer)
		}
	}

	return left
}

// remove writes what is left into the record. The record gets its end back when nothing is left and nothing is parked. All messages of
// the record were in d, so what another sender wrote meanwhile is lost only for messages that are sent. If the condition is false,
// another sender has sent all.
func (d *delivering) remove(ctx context.Context, p retry.Policy) error {
	s, condition, b := d.store, condUnsent, d.batch
	if d.operator && len(d.rec.Parked) > 0 {
		condition = condParked
	}

	if len(d.left)+len(d.parked) > 0 {
		b = nil // a large write must not delay others
	}

	_, err := s.fenced(ctx, b, d.key, p, func() write {
		update, values := d.update()
		values[":own"], values[":tx"], values[":completed"] = record.Text(*d.rec.Token), record.Text(d.rec.Tx), completedValue

		return write{d.partition, condition, update, values}
	})
	if errors.Is(err, ErrFenced) && !errors.Is(err, ErrCorrupt) {
		return nil
	}

	return err
}

func (d *delivering) update() (update string, values item) {
	values = item{}
	if len(d.parked) > 0 {
		values[":parked"] = marshal(d.parked)
	}

	if len(d.left) > 0 {
		values[":outbox"] = marshal(d.left)
		values[":due"] = record.Number(d.rec.Done)
		values[":duens"] = record.Text(record.ShardOf(d.store.namespace, d.partition))
	}

	switch {
	case len(d.left) > 0 && len(d.parked) > 0:
		return updateLeft + updateSetParked, values
	case len(d.left) > 0:
		return updateLeft + updateDropParked, values
	case len(d.parked) > 0:
		return updateParked, values
	default:
		// The record stays until tomorrow at least, so that a late request of the completing write finds it.
		values[":exp"] = record.Number(max(d.rec.Ends, d.store.opts.Now().Add(24*time.Hour).Unix()))

		return updateSent, values
	}
}
