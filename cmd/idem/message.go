package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// ofMessages finds the records of the messages in a file.
func (f *finder) ofMessages(ctx context.Context, d *desk) ([]found, error) {
	pick, err := f.keyFunc()
	if err != nil {
		return nil, err
	}

	messages, err := f.app.messages(f.message)
	if err != nil {
		return nil, err
	}

	var (
		all  []found
		errs []error
	)

	for _, m := range messages {
		key, err := pick(m)
		if err != nil {
			errs = append(errs, fmt.Errorf("message %q: %w", m.MessageId, err))

			continue
		}

		some, err := f.look(ctx, d, []spelling{{key, "the key of message " + m.MessageId}})
		all, errs = append(all, some...), append(errs, err)
	}

	return all, errors.Join(errs...)
}

func (f *finder) keyFunc() (lambdawrap.KeyFunc, error) {
	attribute, isAttribute := strings.CutPrefix(f.keyOf, "attribute:")

	switch {
	case len(f.paths) > 0 && f.keyOf != "":
		return nil, errors.New("--path and --key: give one of them, as the function's Options.Key")
	case len(f.paths) > 0:
		pick, err := lambdawrap.Body(f.paths...)
		if err != nil {
			return nil, fmt.Errorf("--path: %w", err)
		}

		return pick, nil
	case f.keyOf == "" || f.keyOf == "message-id":
		return lambdawrap.MessageID, nil
	case f.keyOf == "deduplication-id":
		return lambdawrap.DeduplicationID, nil
	case isAttribute && attribute != "":
		return lambdawrap.Attribute(attribute), nil
	default:
		return nil, fmt.Errorf("--key %q: must be message-id, deduplication-id or attribute:NAME", f.keyOf)
	}
}

const maxMessageFile = 16 << 20

// messages reads an SQS event, one record of it, or a message as aws sqs receive-message prints it.
func (a *app) messages(file string) ([]events.SQSMessage, error) {
	in := a.in

	if file != "-" {
		opened, err := os.Open(file) //nolint:gosec // the operator names the file
		if err != nil {
			return nil, fmt.Errorf("--message: %w", err)
		}
		defer opened.Close() //nolint:errcheck // it was only read

		in = opened
	}

	content, err := io.ReadAll(io.LimitReader(in, maxMessageFile))
	if err != nil {
		return nil, fmt.Errorf("--message: %w", err)
	}

	var event struct {
		events.SQSEvent

		Messages []received `json:"Messages"`
	}
	if err := json.Unmarshal(content, &event); err != nil {
		return nil, fmt.Errorf("--message: %w", err)
	}

	for _, m := range event.Messages {
		event.Records = append(event.Records, m.message())
	}

	if len(event.Records) > 0 {
		return event.Records, nil
	}

	var m events.SQSMessage
	if err := json.Unmarshal(content, &m); err != nil {
		return nil, fmt.Errorf("--message: %w", err)
	}

	if m.MessageId == "" && m.Body == "" {
		return nil, errors.New("--message: must hold an SQS event (Records), the output of aws sqs receive-message (Messages), or one message")
	}

	return []events.SQSMessage{m}, nil
}

// received is a message as aws sqs receive-message prints it. It lacks the ARN of its queue.
type received struct {
	MessageID         string                       `json:"MessageId"` //nolint:tagliatelle // AWS's name
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
	m := events.SQSMessage{MessageId: r.MessageID, Body: r.Body, Attributes: r.Attributes, MessageAttributes: map[string]events.SQSMessageAttribute{}}
	for name, value := range r.MessageAttributes {
		m.MessageAttributes[name] = events.SQSMessageAttribute{StringValue: value.StringValue, BinaryValue: value.BinaryValue, DataType: value.DataType}
	}

	return m
}
