package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// piece is a piece of work that an event asks for.
type piece struct {
	name string // as a person knows it
	key  string
	err  error // why it has no key
}

// envelope has the fields by which the kinds of events differ.
type envelope struct {
	Source   string `json:"eventSource"`
	Body     string `json:"body"`
	Message  string `json:"messageId"`
	Messages []received

	Records *[]struct {
		Source string `json:"eventSource"`
	}

	Headers           map[string]string   `json:"headers"`
	MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
}

var errKind = errors.New("must hold an event of SQS, Kinesis or a DynamoDB stream (Records), the output of aws sqs receive-message " +
	"(Messages), one of their messages, or an HTTP request, as an event (headers) or as text")

// pieces returns what an event asks for, each with the key that the function gives it.
func (e *eventFlags) pieces(content []byte) ([]piece, error) {
	whole := append(bytes.Clone(content), "\r\n\r\n"...) // of a request whose end was not copied
	if request, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(whole))); err == nil {
		return e.ofRequest(request)
	}

	var event envelope
	if err := decode(content, &event); err != nil {
		return nil, err
	}

	return e.ofEvent(content, &event)
}

// ofEvent returns what a JSON event asks for. The fields that it has decide its kind.
func (e *eventFlags) ofEvent(content []byte, event *envelope) ([]piece, error) {
	switch {
	case event.Records != nil:
		return e.ofRecords(content, event)
	case event.Source != "":
		return e.pieces(slices.Concat([]byte(`{"Records":[`), content, []byte("]}")))
	case len(event.Messages) > 0:
		return e.ofReceived(event.Messages)
	case len(event.Headers)+len(event.MultiValueHeaders) > 0:
		return e.ofRequest(event.request())
	case event.Message+event.Body != "":
		return e.ofMessage(content)
	default:
		return nil, errKind
	}
}

// ofMessage reads one message of SQS that is given without the event that holds it.
func (e *eventFlags) ofMessage(content []byte) ([]piece, error) {
	var m events.SQSMessage
	if err := decode(content, &m); err != nil {
		return nil, err
	}

	return e.ofMessages([]events.SQSMessage{m})
}

// ofRecords reads an event of a queue or a stream.
func (e *eventFlags) ofRecords(content []byte, event *envelope) ([]piece, error) {
	source, err := event.recordSource()
	if err != nil {
		return nil, err
	}

	switch source {
	case "aws:sqs", "": // a message that somebody wrote by hand may have no source
		return e.ofQueueRecords(content)
	case "aws:kinesis":
		return e.ofKinesisRecords(content)
	case "aws:dynamodb":
		return e.ofChanges(content)
	default:
		return nil, fmt.Errorf("Records[0].eventSource is %q: %w", source, errKind)
	}
}

// recordSource returns the one source of the records, which decides how they are read. It returns an error if there are several,
// or no records.
func (e *envelope) recordSource() (string, error) {
	records := *e.Records
	if len(records) == 0 {
		return "", errors.New("field Records is empty, so it asks for nothing")
	}

	for i, r := range records {
		if r.Source != records[0].Source {
			return "", fmt.Errorf("Records[%d].eventSource is %q, and Records[0].eventSource is %q: an event has one source",
				i, r.Source, records[0].Source)
		}
	}

	return records[0].Source, nil
}

// ofQueueRecords reads an event of SQS.
func (e *eventFlags) ofQueueRecords(content []byte) ([]piece, error) {
	var sqs events.SQSEvent
	if err := decode(content, &sqs); err != nil {
		return nil, err
	}

	return e.ofMessages(sqs.Records)
}

// ofKinesisRecords reads an event of Kinesis. A flag that is not for it is refused before the records are read.
func (e *eventFlags) ofKinesisRecords(content []byte) ([]piece, error) {
	pick, err := e.ofKinesis()
	if err != nil {
		return nil, err
	}

	records, err := kinesisRecords(content, e.aggregated)

	return pieces(records, err, pick, func(r events.KinesisEventRecord) string { return "record " + r.Kinesis.SequenceNumber })
}

// ofChanges reads an event of a DynamoDB stream. A flag that is not for it is refused before the changes are read.
func (e *eventFlags) ofChanges(content []byte) ([]piece, error) {
	pick, err := e.ofDynamoDB()
	if err != nil {
		return nil, err
	}

	records, err := changes(content)

	return pieces(records, err, pick, func(r events.DynamoDBEventRecord) string { return "change " + r.Change.SequenceNumber })
}

// pieces picks the key of each record, unless the event could not be read.
func pieces[R any](records []R, err error, pick func(context.Context, R) (string, error), name func(R) string) ([]piece, error) {
	all := make([]piece, len(records))
	for i, r := range records {
		key, err := pick(context.Background(), r) // no key function of this package waits for anything
		all[i] = piece{name: name(r), key: key, err: err}
	}

	return all, err
}

func (e *eventFlags) ofReceived(messages []received) ([]piece, error) {
	all := make([]events.SQSMessage, len(messages))
	for i, m := range messages {
		all[i] = m.message()
	}

	return e.ofMessages(all)
}

func (e *eventFlags) ofMessages(messages []events.SQSMessage) ([]piece, error) {
	pick, err := e.ofSQS()
	if err != nil {
		return nil, err
	}

	if len(e.envelopes) > 0 {
		return e.ofEnveloped(messages, pick)
	}

	return pieces(messages, nil, pick, func(m events.SQSMessage) string { return "message " + m.MessageId })
}

// ofRequest reads a request. Its key begins with its caller, which only the function's HTTPOptions.Caller returns.
func (e *eventFlags) ofRequest(r *http.Request) ([]piece, error) {
	if err := e.refuse("HTTP requests, whose key is their header Idempotency-Key", map[string]bool{
		"--path": len(e.paths) > 0, "--key": e.keyOf != "", "--aggregated": e.aggregated,
	}); err != nil {
		return nil, err
	}

	if e.caller == "" {
		return nil, errors.New("--caller: must not be empty for an HTTP request: its key begins with what HTTPOptions.Caller returns for it")
	}

	return pieces([]*http.Request{r}, nil, func(_ context.Context, r *http.Request) (string, error) { return lambdawrap.HTTPKey(e.caller, r) },
		func(*http.Request) string { return "the request" })
}

// request has the headers of an event of API Gateway, a function URL or a load balancer. Where there are lists, they are
// complete.
func (e *envelope) request() *http.Request {
	r := &http.Request{Header: http.Header{}}

	for name, values := range e.MultiValueHeaders {
		for _, value := range values {
			r.Header.Add(name, value)
		}
	}

	if len(e.MultiValueHeaders) == 0 {
		for name, value := range e.Headers {
			r.Header.Add(name, value)
		}
	}

	return r
}

// decode reads JSON. Its errors name the field.
func decode(content []byte, into any) error {
	err := json.Unmarshal(content, into)

	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("field %q must not be a JSON %s (at byte %d)", wrong.Field, wrong.Value, wrong.Offset)
	}

	if wrong, ok := errors.AsType[*json.SyntaxError](err); ok {
		return fmt.Errorf("is neither JSON nor an HTTP request: %w (at byte %d)", wrong, wrong.Offset)
	}

	if err != nil {
		return fmt.Errorf("cannot be read: %w", err)
	}

	return nil
}

// received is a message as aws sqs receive-message prints it. It lacks the ARN of its queue.
type received struct {
	MessageID         string                       `json:"MessageId"` // AWS's name
	Body              string                       `json:"Body"`
	Attributes        map[string]string            `json:"Attributes"`
	MessageAttributes map[string]receivedAttribute `json:"MessageAttributes"`
}

type receivedAttribute struct {
	StringValue *string `json:"StringValue"`
	BinaryValue []byte  `json:"BinaryValue"`
	DataType    string  `json:"DataType"`
}

func (r received) message() events.SQSMessage {
	attributes := map[string]events.SQSMessageAttribute{}
	for name, a := range r.MessageAttributes {
		attributes[name] = events.SQSMessageAttribute{StringValue: a.StringValue, BinaryValue: a.BinaryValue, DataType: a.DataType}
	}

	return events.SQSMessage{MessageId: r.MessageID, Body: r.Body, Attributes: r.Attributes, MessageAttributes: attributes}
}
