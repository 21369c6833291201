package idemddb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// unsentAfter is the least age of a completion whose messages a duplicate sends. Until then the completing process sends them.
const unsentAfter = 10 * time.Second

// SendStored sends the messages of a record that was read from the table, and removes them from the record. With parked, it also
// sends messages that are parked or unsent for too long, and parks none: what cannot be sent stays as it is. It is for
// outbox.Sweep and operators; two senders at a time do no harm, because the ids stay the same. An error means that messages are
// left, or that their removal was not written. For a record that cannot be read, and for an item that is no record of the
// namespace, it is ErrCorrupt, with nothing sent.
func (s *Store) SendStored(ctx context.Context, stored map[string]types.AttributeValue, parked bool) (delivery.Report, error) {
	s.mustExist()

	partition := record.TextOf(stored[s.opts.PartitionKey])

	key, ok := strings.CutPrefix(partition, s.namespace+"#")
	if !ok {
		return delivery.Report{}, fmt.Errorf("idemddb: send: %w: the item is no record of namespace %q", ErrCorrupt, s.namespace)
	}

	rec, err := record.Read(stored, s.opts.TTLAttribute)
	if err != nil {
		return delivery.Report{Key: key}, fmt.Errorf("idemddb: send of key %s: %w", record.StoredKeyHash(key), err)
	}

	d := s.newDelivering(nil, key, partition, rec)
	d.Operator = parked
	err = errors.Join(d.run(ctx)...)

	return delivery.Report{Key: key, Sent: d.Sent, Left: len(d.Left), Parked: len(d.Parked)}, err
}

// errYoung says why a duplicate does not send the messages of a record. A caller gets it only with Options.RedeliverUnsent.
var errYoung = fmt.Errorf("the record was completed less than %v ago: its own worker sends them", unsentAfter)

// delivering is one sending of the messages of a record.
type delivering struct {
	delivery.Sending

	store          *Store
	group          *engine.Group // nil for none
	key, partition string
}

// newDelivering returns the sending of the messages of a completed record, which has not begun.
func (s *Store) newDelivering(group *engine.Group, key, partition string, rec *record.Stored) *delivering {
	return &delivering{
		Sending: delivery.Sending{Record: rec, Open: s.sealer.opener(partition)}, store: s, group: group, key: key, partition: partition,
	}
}

// deliver sends the messages and removes them from the record. Those that do not get through stay in the record.
func (d *delivering) deliver(ctx context.Context) error { return d.leave(d.run(ctx)...) }

// deliverLeft delivers if the record's own process has had time for it and has not. If the messages must be sent before the key
// is answered, the error of sending them is the answer.
func (d *delivering) deliverLeft(ctx context.Context) error {
	switch s := d.store; {
	case s.opts.Now().Sub(time.UnixMilli(d.Record.Done)) >= unsentAfter:
		return d.deliver(ctx)
	case s.opts.RedeliverUnsent:
		s.observe(ctx, Event{Kind: KindUnsent, Key: d.key, Err: errYoung})

		return d.leave(errYoung)
	default:
		return nil
	}
}

// leave returns ErrUnsent with the causes for which messages are not sent. It returns nil if there are none, or if the sweep
// sends them, without Options.RedeliverUnsent.
func (d *delivering) leave(causes ...error) error {
	if len(causes) == 0 || !d.store.opts.RedeliverUnsent {
		return nil
	}

	return keyError("send", d.key, errors.Join(ErrUnsent, errors.Join(causes...)))
}

// run sends the messages and writes down what is left of them. It returns why each of those is left, and the error of writing it
// down.
func (d *delivering) run(ctx context.Context) (left []error) {
	ctx, p, cancel := engine.SettleContext(ctx, d.store.opts.Lease)
	defer cancel()

	left = d.Send(ctx, &d.store.targets)

	for _, unsendable := range d.Unsendable {
		d.store.observe(ctx, Event{Kind: KindParked, Key: d.key, Err: unsendable})
	}

	if d.Sent > 0 || len(d.Left) < len(d.Record.Outbox) {
		if err := d.remove(ctx, p); err != nil {
			left = append(left, keyError("removal of messages", d.key, err))
		}
	}

	for _, cause := range left {
		d.store.observe(ctx, Event{Kind: KindUnsent, Key: d.key, Err: cause})
	}

	return left
}

// remove writes what is left into the record. If the condition is false, another sender has sent all.
func (d *delivering) remove(ctx context.Context, p planner.Policy) error {
	s := d.store
	left := &protocol.Removal{
		Record: d.Record, OfParked: d.Operator && len(d.Record.Parked) > 0, Left: d.Left, Parked: d.Parked,
	}

	_, err := s.fenced(ctx, engine.Write{
		Policy: p, Key: d.key, Record: d.partition, Group: d.group, IsRemoval: true,
		IsAlone: !left.IsAll(), // a large write must not delay others
	}, func() protocol.Write { return s.records.Remove(d.partition, left, s.opts.Now()) })
	if errors.Is(err, ErrFenced) && !errors.Is(err, ErrCorrupt) {
		err = nil
	}

	if err == nil && left.IsAll() {
		s.opts.Observe(ctx, Event{Kind: KindSent, Key: d.key})
	}

	return err
}
