package lambdawrap

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
)

// message is one record of the event on its way: planned, worked on, answered.
type message struct {
	events.SQSMessage

	index       int // in the batch
	key         string
	fingerprint string
	group       string // of a FIFO queue; "" on a standard queue
	fifo        bool
	unplanned   error // why there is no key

	// The answer, written by the one goroutine that has the message.
	failed  bool
	seconds int32 // until it comes back, where Options.Visibility says so
}

// hidden tells whether the message's next delivery is to be shaped.
func (m *message) hidden() bool { return m.failed && m.seconds > 0 }

// lane is what must be worked on in order: the messages of one key, or of a FIFO group and all groups that share a key with
// it. Lanes go side by side.
type lane struct {
	messages []*message            // those that are left
	known    map[[2]string]outcome // :: key and fingerprint → how it ended in this batch
	blocked  map[string]int32      // :: FIFO group one of whose messages failed → seconds until that one comes back
}

// plan finds each message's key.
func (w *wrapper) plan(event events.SQSEvent) []*message {
	messages := make([]*message, len(event.Records))

	for i, record := range event.Records {
		m := &message{SQSMessage: record, index: i, failed: true} // until proven done
		// By the queue's name: fair queues have message groups on standard queues, without an order.
		if m.fifo = strings.HasSuffix(record.EventSourceARN, ".fifo"); m.fifo {
			m.group = record.Attributes["MessageGroupId"]
		}

		m.unplanned = recovered(func() (err error) {
			if w.store.Disabled() {
				m.key = strconv.Itoa(i) // no two are one piece of work

				return nil
			}

			if m.key, err = w.opts.Key(record); err != nil || w.opts.Fingerprint == nil {
				return err
			}

			m.fingerprint, err = w.opts.Fingerprint(record)

			return err
		})
		messages[i] = m
	}

	return messages
}

// lanes deals the messages out, each lane in the order of the batch, the lanes in the order of their first messages.
func lanes(messages []*message) []*lane {
	var (
		dealt   [][]*message
		byKey   = map[string]int{} // :: key → lane
		byGroup = map[string]int{} // :: FIFO group → lane
	)

	for _, m := range messages {
		n, shared := byKey[m.key]
		shared = shared && m.unplanned == nil
		at, follows := byGroup[m.group]
		follows = follows && m.fifo

		switch {
		case shared && follows && n != at:
			n = merge(dealt, min(at, n), max(at, n), byKey, byGroup)
		case shared:
		case follows:
			n = at
		default:
			n = len(dealt)
			dealt = append(dealt, nil)
		}

		dealt[n] = append(dealt[n], m)

		if m.unplanned == nil {
			byKey[m.key] = n
		}

		if m.fifo {
			byGroup[m.group] = n
		}
	}

	made := make([]*lane, 0, len(dealt))

	for _, left := range dealt {
		if len(left) > 0 {
			made = append(made, &lane{messages: left, known: map[[2]string]outcome{}, blocked: map[string]int32{}})
		}
	}

	return made
}

// merge moves one lane's messages into another, in the order of the batch: two groups share a key.
func merge(dealt [][]*message, into, from int, maps ...map[string]int) int {
	dealt[into] = append(dealt[into], dealt[from]...)
	slices.SortFunc(dealt[into], func(a, b *message) int { return cmp.Compare(a.index, b.index) })
	dealt[from] = nil

	for _, lanes := range maps {
		for name, n := range lanes {
			if n == from {
				lanes[name] = into
			}
		}
	}

	return into
}

// head answers for the first message of the lane if it need not be worked on: one before it in its FIFO group failed, it has no
// key, or its key ended in this batch.
func (l *lane) head() (outcome, bool) {
	m := l.messages[0]

	if seconds, ok := l.blocked[m.group]; ok && m.fifo {
		return outcome{err: errBlocked, seconds: seconds}, true
	}

	if m.unplanned != nil {
		return outcome{err: m.unplanned}, true
	}

	o, ok := l.known[m.same()]

	return o, ok
}

// done takes the first message from the lane, with its outcome.
func (l *lane) done(o outcome) {
	m := l.messages[0]
	l.messages = l.messages[1:]

	if m.unplanned == nil && !errors.Is(o.err, errBlocked) {
		l.known[m.same()] = o
	}

	if m.fifo && m.failed {
		l.blocked[m.group] = m.seconds
	}
}

// same is what two messages have in common that are one piece of work.
func (m *message) same() [2]string { return [2]string{m.key, m.fingerprint} }

// answer reports what must come back. SQS takes an empty id for success or for total failure, depending on who reads it.
func answer(messages []*message) (events.SQSEventResponse, error) {
	response := events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{}} // null would do, but says less
	reported := map[string]bool{}

	for _, m := range messages {
		switch {
		case !m.failed || reported[m.MessageId] && m.MessageId != "":
		case m.MessageId == "":
			return events.SQSEventResponse{}, errors.New("lambdawrap: a message without messageId failed: the whole batch must come back")
		default:
			reported[m.MessageId] = true
			response.BatchItemFailures = append(response.BatchItemFailures, events.SQSBatchItemFailure{ItemIdentifier: m.MessageId})
		}
	}

	return response, nil
}
