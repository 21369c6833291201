package idemddb

import (
	"context"
	"maps"
	"slices"

	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Message is a message that follows from a handler's work. A handler stages it together with its other effects: it is stored in
// the record by the write that completes the key, and it is sent after that write. So it is sent if the work is recorded as done,
// and not otherwise. It is sent at least once, and every sending carries the same id; package outbox says where a receiver finds
// it.
type Message struct {
	// ID is set by the Store for a [Sender], and is the same in every sending. It is unique among all messages of all records. It
	// consists of ASCII letters, digits and hyphens and has at most 128 characters, so that it also serves as MessageDeduplicationId
	// and MessageGroupId. It is ErrBadEffects to stage a message with one.
	ID string

	// To names the target, an entry of Options.Senders. If the entry's Sender is nil, the message stays in the record for another
	// process that has one. A To without an entry is ErrBadEffects. Required.
	To string

	// Body is the message's text. SQS takes a text of XML's characters, SNS takes UTF-8, and EventBridge takes a JSON object.
	// Required.
	Body string

	// Group is the message group of a FIFO queue or FIFO topic. The messages of one record and one group are sent one after the
	// other, and a failure keeps back those behind it. An empty Group means that no message must wait for this one: it is then a
	// group of its own. A standard queue takes Group as the tenant of its fair queue, and a standard topic passes it on to such
	// queues; neither keeps an order by it. EventBridge has no groups, and Group is not sent there.
	Group string

	// Attributes are sent as message attributes of the type String. Names that begin with "idemddb-" belong to this library. SQS
	// takes ten attributes with a message, and two of them may be the library's, so that eight are left. EventBridge has no message
	// attributes: a message that has some cannot be sent there and is parked.
	Attributes map[string]string

	// Sequence is the version of what the message reports, as the caller counts it, for receivers that must ignore an older message
	// that arrives after a newer one. Nothing is sent in the order of Sequence. Zero means that there is none, and none is sent.
	Sequence int64
}

// Sender sends messages to one target. Package outbox has senders for SQS, SNS and EventBridge. A Sender must be safe for
// concurrent use, and two processes may send the same message at the same time: the receiver recognises it by its id.
type Sender interface {
	// Send sends messages and returns one answer for each. They are those of one record, in their order, or of several records that
	// were completed at the same time; then ctx has no values, because it is that of none of them. target is their Message.To, for
	// the text of errors. A nil answer means that the target has accepted the message: it is then removed from the record and is
	// never sent again. An error that wraps [ErrUnsendable] parks the message. After any other error the message stays in the record
	// and is sent again. Send returns when ctx ends, with an error for each message that is not known to be accepted. Nobody waits
	// longer than 100 ms for a Send that does not: its messages stay.
	Send(ctx context.Context, target string, ms []Message) []error
}

func copyMessages(messages []Message) []Message {
	copies := slices.Clone(messages)
	for i := range copies {
		copies[i].Attributes = maps.Clone(copies[i].Attributes)
	}

	return copies
}

// outboxOf returns messages as a record holds them.
func outboxOf(messages []Message) (outbox []record.Message) {
	for i, m := range messages {
		outbox = append(outbox, record.Message{Index: i, Content: record.Content{
			To: m.To, Body: m.Body, Group: m.Group, Attributes: m.Attributes, Sequence: m.Sequence,
		}})
	}

	return outbox
}

// senders are Options.Senders.
type senders map[string]Sender

// names returns the names of the targets, in alphabetical order.
func (all senders) names() []string { return slices.Sorted(maps.Keys(all)) }

// send passes stored messages to the Sender of their target, with their ids.
func (all senders) send(ctx context.Context, target string, stored []delivery.Message) []error {
	sender, named := all[target]

	switch {
	case !named:
		return slices.Repeat([]error{delivery.ErrNotNamed}, len(stored))
	case sender == nil:
		return slices.Repeat([]error{delivery.ErrNoSender}, len(stored))
	}

	messages := make([]Message, len(stored))
	for i, m := range stored {
		messages[i] = Message{
			ID: m.ID, To: m.To, Body: m.Body, Group: m.Group, Sequence: m.Sequence,
			Attributes: maps.Clone(m.Attributes), // the Sender may write into them, and what is left is stored again
		}
	}

	return sender.Send(ctx, target, messages)
}
