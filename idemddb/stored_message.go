package idemddb

import (
	"errors"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/idemddb/go-idemddb/idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/transactitem"
)

const (
	maxGroup             = 128
	maxMessageAttributes = 8

	reservedAttributes = "idemddb-" // the beginning of the names of message attributes that senders add

	// noEnd is the exp of a record with unsent messages: the last second of the year 9999.
	noEnd = 253402300799
)

func publicMessage(m *record.Message, tx string) StoredMessage {
	return StoredMessage{ID: m.ID(tx), Message: Message{
		To: m.To, Body: m.Body, Group: m.Group, Attributes: m.Attributes, Sequence: m.Sequence,
	}}
}

func copyMessages(messages []Message) []Message {
	copies := make([]Message, len(messages))
	for i, m := range messages {
		m.Attributes = maps.Clone(m.Attributes)
		copies[i] = m
	}

	return copies
}

// checkMessages returns an error for messages that no target takes.
func checkMessages(messages []Message) error {
	for i, m := range messages {
		if err := m.check(); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}

	if size := messagesSize(messages); size > maxOutbox {
		return fmt.Errorf("the messages have %d bytes, a record has room for %d", size, maxOutbox)
	}

	return nil
}

func (m *Message) check() error {
	switch {
	case m.To == "" || !utf8.ValidString(m.To):
		return errors.New("Message.To: must be UTF-8 text that is not empty; it names an entry of Options.Senders")
	case m.Body == "" || !utf8.ValidString(m.Body):
		return errors.New("Message.Body: must be UTF-8 text that is not empty; no target takes another one")
	case len(m.Group) > maxGroup || strings.ContainsFunc(m.Group, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("Message.Group: must have at most %d visible ASCII characters", maxGroup)
	case len(m.Attributes) > maxMessageAttributes:
		return fmt.Errorf("Message.Attributes: SQS takes ten, and the library adds two; must have at most %d, has %d",
			maxMessageAttributes, len(m.Attributes))
	default:
		return m.checkAttributes()
	}
}

// checkAttributes returns an error for an attribute that no target takes, or whose name the library keeps for itself.
func (m *Message) checkAttributes() error {
	for name, value := range m.Attributes {
		switch {
		case strings.HasPrefix(name, reservedAttributes):
			return fmt.Errorf("Message.Attributes: %q: names that begin with %q are the library's own", name, reservedAttributes)
		case name == "" || value == "" || !utf8.ValidString(name) || !utf8.ValidString(value):
			return fmt.Errorf("Message.Attributes: %q: name and value must be UTF-8 text that is not empty", name)
		}
	}

	return nil
}

// messagesSize returns about how many bytes of a record the messages take.
func messagesSize(messages []Message) int {
	size := 0

	for _, m := range messages {
		size += len(m.To) + len(m.Body) + len(m.Group) + messageOverhead
		for name, value := range m.Attributes {
			size += len(name) + len(value) + 1
		}
	}

	return size
}

const (
	messageOverhead = 64 + record.MaxCause // bytes of a message's names and numbers in a record, and of its cause if it is parked
	maxOutbox       = transactitem.MaxSize - plainRecord
)
