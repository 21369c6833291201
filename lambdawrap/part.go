package lambdawrap

import (
	"context"
	"fmt"
	"log/slog"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/schedule"
)

// openEnvelope opens the envelope of a message, and finds the key of each message in it. An error says that it does not open, or
// holds nothing.
func (w *wrapper) openEnvelope(ctx context.Context, m *message) ([]part, error) {
	opened, err := w.opts.Envelope.Open(ctx, m.given)

	switch {
	case err != nil:
		return nil, panicerror.Readable(err)
	case len(opened) == 0:
		return nil, errEmpty
	}

	parts := make([]part, len(opened))

	for i, e := range opened {
		p := &parts[i]
		p.given = clone(e.Message) // several of them may share what they have of the message around them

		number := ""
		if w.disabled {
			number = fmt.Sprintf("%d/%d", m.index, i)
		}

		p.asks, p.noKey = callFind(ctx, number, func(ctx context.Context) (schedule.Work, error) {
			return keyOf(ctx, p.given, w.keyIn(e), w.opts.Fingerprint)
		})
	}

	return parts, nil
}

// keyIn returns the key function for a message that stood in an envelope.
func (w *wrapper) keyIn(e Enveloped) KeyFunc {
	if w.opts.Key != nil {
		return w.opts.Key
	}

	return func(context.Context, events.SQSMessage) (string, error) { return e.Key() }
}

// take makes a message the first one that stood in its envelope, and returns the others as messages of their own, behind it.
func (w *wrapper) take(m *message, parts []part) (others []*message) {
	for i, p := range parts {
		one := m

		if i > 0 {
			one = &message{
				SQSMessage: m.SQSMessage, group: m.group, fifo: m.fifo, unclaimed: m.unclaimed, receives: m.receives, failed: true, // until proven done
				hooks: m.hooks, derived: m.derived, quest: quest{begun: true, ended: true},
				place: m.place,
			}
			one.work = w.workOf(one)
			others = append(others, one)
		}

		one.given, one.asks, one.noKey = p.given, p.asks, p.noKey
		one.id = slog.String("messageId", p.given.MessageId)
	}

	return others
}
