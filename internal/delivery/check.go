package delivery

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/idemddb/go-idemddb/internal/record"
)

const (
	maxGroup             = 128
	maxMessageAttributes = 8

	reservedAttributes = "idemddb-" // the beginning of the names of message attributes that senders add
	messageOverhead    = 64         // bytes of a message's names and numbers in a record
)

// Check returns an error for messages that no target takes, or that take more bytes than a record has room for.
func Check(messages []record.Message, room int) error {
	for i, m := range messages {
		if err := check(m.Content); err != nil {
			return fmt.Errorf("message %d: %w", i, err)
		}
	}

	if size := Size(messages); size > room {
		return fmt.Errorf("the messages have %d bytes, a record has room for %d", size, room)
	}

	return nil
}

func check(c record.Content) error {
	switch {
	case c.To == "" || !utf8.ValidString(c.To):
		return errors.New("Message.To: must be UTF-8 text that is not empty; it names an entry of Options.Senders")
	case c.Body == "" || !utf8.ValidString(c.Body):
		return errors.New("Message.Body: must be UTF-8 text that is not empty; no target takes another one")
	case len(c.Group) > maxGroup || strings.ContainsFunc(c.Group, func(r rune) bool { return r <= ' ' || r > '~' }):
		return fmt.Errorf("Message.Group: must have at most %d visible ASCII characters", maxGroup)
	case len(c.Attributes) > maxMessageAttributes:
		return fmt.Errorf("Message.Attributes: SQS takes ten, and the library adds two; must have at most %d, has %d",
			maxMessageAttributes, len(c.Attributes))
	}

	for name, value := range c.Attributes {
		switch {
		case strings.HasPrefix(name, reservedAttributes):
			return fmt.Errorf("Message.Attributes: %q: names that begin with %q are the library's own", name, reservedAttributes)
		case name == "" || value == "" || !utf8.ValidString(name) || !utf8.ValidString(value):
			return fmt.Errorf("Message.Attributes: %q: name and value must be UTF-8 text that is not empty", name)
		}
	}

	return nil
}

// Size returns about how many bytes of a record the messages take. It leaves room for the cause of each message that is parked
// later.
func Size(messages []record.Message) (size int) {
	for _, m := range messages {
		size += len(m.To) + messageOverhead + record.MaxCause
		if m.Sealed != nil {
			size += len(m.Sealed)

			continue
		}

		size += len(m.Body) + len(m.Group)
		for name, value := range m.Attributes {
			size += len(name) + len(value) + 1
		}
	}

	return size
}
