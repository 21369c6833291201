package outbox

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// EventBridgeAPI is what [EventBridge] needs of EventBridge; *eventbridge.Client fits. It must be safe for concurrent use.
type EventBridgeAPI interface {
	PutEvents(context.Context, *eventbridge.PutEventsInput, ...func(*eventbridge.Options)) (*eventbridge.PutEventsOutput, error)
}

// maxEventBytes is below 1 MB, which one request must not reach.
const maxEventBytes = 1_000_000 - 1

// sequenceResource is what the Sequence follows in an event's resources, as the id follows delivery.IDResource. Rules match on
// these prefixes: {"resources": [{"prefix": "idemddb:"}]}.
const sequenceResource = "idemddb-sequence:"

var errEventAttributes = fmt.Errorf("%w: an event has no message attributes; put them into the body", ErrPermanent)

// EventBridge returns a sender of one kind of event to an event bus, given by its name or its ARN. The account's default bus has
// the name "default". Every event has the same source and detail-type, so that a program with several kinds of events has a
// sender for each; naming their entries in Options.Senders after the detail-type makes Message.To the kind of the event.
//
// Message.Body is the event's detail and must be a JSON object. Requests hold at most 10 events and less than 1 MB.
//
// An event has no attributes. The id travels in its resources as "idemddb:" and the id, and a Sequence as "idemddb-sequence:" and
// the number. EventBridge gives every sending a new event id, so that the event id is no key for a receiver. A message with
// Attributes is permanently refused. Group is not sent, and there is no order.
//
// EventBridge's success means that it accepted an event, and not that a rule matched it or that a target received it. It also
// accepts events for a bus that does not exist. A rule's target needs a dead-letter queue of its own, or an event that cannot be
// delivered is lost after 24 hours.
//
// The function needs events:PutEvents on the bus.
//
// An empty bus, source or detailType is an error for every message, and not a permanent one. EventBridge panics for a nil api,
// also for a nil pointer.
func EventBridge(api EventBridgeAPI, bus, source, detailType string) idemddb.Sender {
	if panicerror.IsNil(api) {
		panic("outbox: EventBridge: api: must not be nil")
	}

	b := &eventBus{api: api, bus: bus, source: source, detailType: detailType}

	return &sender{invalid: b.check(), maxBytes: maxEventBytes, size: b.size, request: b.request}
}

type eventBus struct {
	api                     EventBridgeAPI
	bus, source, detailType string
}

func (b *eventBus) check() error {
	switch {
	case b.bus == "":
		return errors.New(`bus: must not be empty; the account's default event bus has the name "default"`)
	case b.source == "":
		return errors.New("source: must not be empty")
	case b.detailType == "":
		return errors.New("detailType: must not be empty")
	default:
		return nil
	}
}

func (b *eventBus) request(ctx context.Context, ms []idemddb.Message) ([]error, error) {
	answers := make([]error, len(ms))

	entries, places := b.entries(ms, answers)
	if len(entries) == 0 {
		return answers, nil
	}

	out, err := b.api.PutEvents(ctx, &eventbridge.PutEventsInput{Entries: entries})
	if err != nil {
		return nil, err
	}

	// The answers have no ids. If there is one more or one less, nobody can tell whose they are.
	if len(out.Entries) == len(places) {
		for n, i := range places {
			answers[i] = eventAnswer(out.Entries[n])
		}
	}

	return answers, nil
}

// entries returns the entries of the request and their places in ms. A message with attributes has no entry, because an event has
// no attributes: its answer is errEventAttributes. The answer of each other message is errNoAnswer until EventBridge has
// answered.
func (b *eventBus) entries(ms []idemddb.Message, answers []error) (entries []types.PutEventsRequestEntry, places []int) {
	for i, m := range ms {
		if answers[i] = errNoAnswer; len(m.Attributes) > 0 {
			answers[i] = errEventAttributes
			continue
		}

		entries = append(entries, b.entry(m))
		places = append(places, i)
	}

	return entries, places
}

// eventAnswer takes an event for accepted if EventBridge gave it an id.
func eventAnswer(e types.PutEventsResultEntry) error {
	switch {
	case aws.ToString(e.ErrorCode) != "":
		return newEntryError(e.ErrorCode, e.ErrorMessage, isRefusal(*e.ErrorCode)) // only the code says whose fault it is
	case aws.ToString(e.EventId) == "":
		return errNoAnswer
	default:
		return nil
	}
}

func (b *eventBus) entry(m idemddb.Message) types.PutEventsRequestEntry {
	return types.PutEventsRequestEntry{
		EventBusName: aws.String(b.bus), Source: aws.String(b.source), DetailType: aws.String(b.detailType),
		Detail: aws.String(m.Body), Resources: resources(m),
	}
}

func resources(m idemddb.Message) []string {
	rs := []string{delivery.IDResource + m.ID}
	if m.Sequence != 0 {
		rs = append(rs, sequenceResource+strconv.FormatInt(m.Sequence, 10))
	}

	return rs
}

// size is what EventBridge counts of an event without a time of its own.
func (b *eventBus) size(m idemddb.Message) int {
	size := len(b.source) + len(b.detailType) + len(m.Body)
	for _, r := range resources(m) {
		size += len(r)
	}

	return size
}
