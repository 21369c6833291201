package lambdawrap

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/strictjson"
)

// This file holds the envelopes that services of AWS put around a message: SNS, EventBridge and S3.

// SNS is an [EnvelopeFunc] for queues that subscribe to a topic of SNS without raw message delivery: the body is the
// notification's Message, the message attributes are those of the notification, and ID is its MessageId, which stays when SNS
// delivers the notification again. A publisher that publishes again gets a new MessageId; a message that another function staged
// ([idemddb.Stage]) keeps the id that it had, which is then ID.
//
// With raw message delivery there is no envelope, and Options.Envelope must not be set. A body that is no notification is
// [ErrNoKey]: when a topic is switched to raw delivery, each message fails for good, so it is given to Options.DeadLetter.
func SNS(_ context.Context, m events.SQSMessage) ([]Enveloped, error) {
	const name = "SNS"

	members, err := membersOf(m.Body)
	if err != nil {
		return nil, notOpened(name, "%w; a subscription with raw message delivery has no envelope and needs no Options.Envelope", err)
	}

	kind, err := members.text("Type")

	switch {
	case err != nil:
		return nil, notOpened(name, "%w; a subscription with raw message delivery has no envelope and needs no Options.Envelope", err)
	case kind == "SubscriptionConfirmation", kind == "UnsubscribeConfirmation":
		return nil, notOpened(name, "it is a %s; visit its SubscribeURL to confirm or to renew the subscription", kind)
	case kind != "Notification":
		return nil, notOpened(name, "its Type is not Notification")
	}

	id, errID := members.text("MessageId")
	body, errBody := members.text("Message")
	attributes, errAttributes := members.notificationAttributes()

	switch {
	case errors.Join(errID, errBody, errAttributes) != nil:
		return nil, notOpened(name, "%w", errors.Join(errID, errBody, errAttributes))
	case id == "":
		return nil, notOpened(name, "its MessageId is empty")
	}

	staged := ""
	if value := attributes[delivery.IDAttribute].StringValue; value != nil {
		staged = *value
	}

	e := Enveloped{Message: held(m, body, attributes), Name: name, ID: id}

	return []Enveloped{e.orStaged(staged)}, nil
}

// EventBridge is an [EnvelopeFunc] for queues that are the target of a rule of EventBridge: the body is the event's detail, the
// message attributes source, detail-type, time, account and region are those of the event, and ID is the event's id, which stays
// when EventBridge delivers the event again. A producer that puts an event again gives it a new id; a message that another
// function staged ([idemddb.Stage]) keeps the id that it had, which is then ID and the message attribute idemddb-id.
//
// A target with an input path or an input transformer sends something else than the event, and needs no envelope or one of its
// own. A body that is no such event is [ErrNoKey].
func EventBridge(_ context.Context, m events.SQSMessage) ([]Enveloped, error) {
	const name = "EventBridge"

	members, err := membersOf(m.Body)
	if err != nil {
		return nil, notOpened(name, "%w; does its rule send something else than the matched event?", err)
	}

	attributes := map[string]events.SQSMessageAttribute{}
	texts := map[string]string{}

	for _, field := range []string{"id", "source", "detail-type", "time", "account", "region"} {
		text, err := members.text(field)
		if err != nil {
			return nil, notOpened(name, "%w; does its rule send something else than the matched event?", err)
		}

		if texts[field] = text; field != "id" && text != "" {
			attributes[field] = textAttribute(text)
		}
	}

	detail := strings.TrimSpace(string(members["detail"]))

	switch {
	case texts["id"] == "" || texts["source"] == "":
		return nil, notOpened(name, "its id or its source is empty")
	case !strings.HasPrefix(detail, "{"):
		return nil, notOpened(name, "its detail is no object")
	}

	staged := stagedResource(members["resources"])
	if staged != "" {
		attributes[delivery.IDAttribute] = textAttribute(staged)
	}

	e := Enveloped{Message: held(m, detail, attributes), Name: name, ID: texts["id"]}

	return []Enveloped{e.orStaged(staged)}, nil
}

// S3 is an [EnvelopeFunc] for queues that a bucket notifies: each of the notification's Records is a message, whose body is the
// record, as events.S3EventRecord has it. A notification has no id, and S3 may send it twice; so ID is made of what happened, the
// record's sequencer, the bucket and the object's key. Records of anything but an object that was created or removed have no ID:
// two restores of one object, for example, may have one sequencer. The test event that S3 sends when the notification is set up
// (s3:TestEvent) holds nothing. Any other body is [ErrNoKey].
func S3(_ context.Context, m events.SQSMessage) ([]Enveloped, error) {
	const name = "S3"

	members, err := membersOf(m.Body)
	if err != nil {
		return nil, notOpened(name, "%w", err)
	}

	if event, _ := members.text("Event"); event == "s3:TestEvent" && members["Records"] == nil {
		return nil, nil
	}

	var records []json.RawMessage
	if _ = json.Unmarshal(members["Records"], &records); len(records) == 0 { // what is no list has none
		return nil, notOpened(name, "it has no Records")
	}

	opened := make([]Enveloped, len(records))

	for i, record := range records {
		id, err := objectID(record)
		if err != nil {
			return nil, notOpened(name, "Records[%d] %w", i, err)
		}

		opened[i] = Enveloped{Message: held(m, string(record), nil), Name: name, ID: id}
	}

	return opened, nil
}

// objectID returns what names one record of a notification of S3; "" if it has no sequencer of its own. The object's key stands
// last, because it alone may have a space.
func objectID(record json.RawMessage) (string, error) {
	var r events.S3EventRecord

	switch err := json.Unmarshal(record, &r); {
	case err != nil:
		return "", errors.New("is none of S3")
	case r.EventSource != "aws:s3" || r.EventName == "" || r.S3.Bucket.Name == "" || r.S3.Object.Key == "":
		return "", errors.New("is none of S3, or has no eventName, bucket or key")
	case strings.Contains(r.EventName+r.S3.Object.Sequencer+r.S3.Bucket.Name, " "):
		return "", errors.New("has a space in its eventName, sequencer or bucket")
	case r.S3.Object.Sequencer == "" || !isCreatedOrRemoved(r):
		return "", nil
	}

	return fmt.Sprintf("%s %s %s/%s", r.EventName, r.S3.Object.Sequencer, r.S3.Bucket.Name, r.S3.Object.Key), nil
}

// orStaged returns the message with the id that it had when another function staged it, if there is one: the id of the service
// changes whenever the outbox sends the message again.
func (e Enveloped) orStaged(id string) Enveloped {
	if id != "" {
		e.Name, e.ID = delivery.IDAttribute, id
	}

	return e
}

func stagedResource(resources json.RawMessage) string {
	var all []string
	if json.Unmarshal(resources, &all) != nil {
		return ""
	}

	return delivery.IDInResources(all)
}

// members are those of a JSON object, by their exact names.
type members map[string]json.RawMessage

var errNoObject = errors.New("it is no JSON object")

func membersOf(body string) (m members, err error) {
	if json.Unmarshal([]byte(body), &m) != nil || m == nil {
		return nil, errNoObject
	}

	return m, nil
}

// text returns a member that is a string.
func (m members) text(name string) (string, error) {
	raw, isThere := m[name]
	if !isThere {
		return "", fmt.Errorf("it has no %s", name)
	}

	text, err := strictjson.Text(string(raw))
	if err != nil {
		return "", fmt.Errorf("its %s %w", name, err)
	}

	return text, nil
}

// notificationAttributes returns the MessageAttributes of a notification of SNS.
func (m members) notificationAttributes() (map[string]events.SQSMessageAttribute, error) {
	var attributes map[string]struct {
		Type  json.RawMessage `json:"Type"`
		Value json.RawMessage `json:"Value"`
	}

	if raw := m["MessageAttributes"]; raw != nil && json.Unmarshal(raw, &attributes) != nil {
		return nil, errors.New("its MessageAttributes are none")
	}

	opened := make(map[string]events.SQSMessageAttribute, len(attributes))

	for name, a := range attributes {
		kind, err := strictjson.Text(string(a.Type))
		if err != nil {
			return nil, fmt.Errorf("the type of a message attribute %w", err)
		}

		value, err := strictjson.Text(string(a.Value))
		if err != nil {
			return nil, fmt.Errorf("the value of a message attribute %w", err)
		}

		if opened[name] = (events.SQSMessageAttribute{DataType: kind, StringValue: &value}); kind != "Binary" {
			continue
		}

		binary, err := base64.StdEncoding.DecodeString(value)
		if err != nil {
			return nil, errors.New("a binary message attribute is not in base64")
		}

		opened[name] = events.SQSMessageAttribute{DataType: kind, BinaryValue: binary}
	}

	return opened, nil
}

func textAttribute(text string) events.SQSMessageAttribute {
	return events.SQSMessageAttribute{DataType: "String", StringValue: &text}
}
