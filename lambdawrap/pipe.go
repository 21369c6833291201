package lambdawrap

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
)

// PipeEvent are the events whose records Amazon EventBridge Pipes can send.
type PipeEvent interface {
	events.SQSEvent | events.KinesisEvent | events.DynamoDBEvent
}

// PipeFunc is a function that is the target of a pipe. lambda.Start takes it as a lambda.Handler.
type PipeFunc func(ctx context.Context, payload []byte) ([]byte, error)

// Invoke calls the function, whose errors [Pipe] describes. It makes PipeFunc a lambda.Handler.
func (f PipeFunc) Invoke(ctx context.Context, payload []byte) ([]byte, error) { return f(ctx, payload) }

// Pipe makes the function of [SQS], [Batch], [Kinesis] or [DynamoDBStream], or what [Measure] makes of it, one for the target of
// a pipe of Amazon EventBridge Pipes:
//
//	lambda.Start(lambdawrap.Pipe(lambdawrap.SQS(store, handle, nil)))
//
// A pipe sends the records as a JSON array, also one record alone, and those of Kinesis in a form of their own. It reads the
// answer of a target that it invokes with REQUEST_RESPONSE, which is the default, and sends again what the answer names: messages
// of SQS by their id, and records of a stream by their event's id. AWS does not say whether a pipe goes on from the first record
// of a stream that is named or repeats those that are named alone. So the answer names the first record that failed and all
// behind it; those that are done are answered from their records.
//
// An enrichment and an input template must leave the records as they are. What is no array, or has records of another source, is
// an error, and nothing ran. Any other error is that of the function, or says, after the batch was worked on, that a record
// failed which has no eventID by which the answer could name it. Pipe panics for a nil function.
func Pipe[E PipeEvent, R any, F ~func(context.Context, E) (R, error)](f F) PipeFunc {
	if f == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	return func(ctx context.Context, payload []byte) ([]byte, error) {
		event, err := readPipe[E](payload)
		if err != nil {
			return nil, err
		}

		response, err := f(ctx, event)
		if err != nil {
			return nil, err
		}

		answer, err := pipeAnswer(event, response)
		if err != nil {
			return nil, err
		}

		return json.Marshal(answer)
	}
}

// readPipe reads the array of a pipe.
func readPipe[E PipeEvent](payload []byte) (event E, err error) {
	if !isArray(payload) {
		return event, errors.New("lambdawrap: Pipe: the payload is no array of records, and nothing ran; " +
			"an event source mapping sends an event: give lambda.Start the function without Pipe")
	}

	switch e := any(&event).(type) {
	case *events.SQSEvent:
		err = json.Unmarshal(payload, &e.Records)
	case *events.DynamoDBEvent:
		err = json.Unmarshal(payload, &e.Records)
	case *events.KinesisEvent:
		e.Records, err = readPipeOfKinesis(payload)
	}

	if err != nil {
		return event, fmt.Errorf("lambdawrap: Pipe: the records cannot be read: %w", err)
	}

	return event, nil
}

// readPipeOfKinesis reads records whose members of Kinesis stand beside those of the event. A mapping puts them into a member of
// its own.
func readPipeOfKinesis(payload []byte) ([]events.KinesisEventRecord, error) {
	var of []events.KinesisEventRecord
	if err := json.Unmarshal(payload, &of); err != nil {
		return nil, err //nolint:wrapcheck // readPipe says what it is about
	}

	var flat []events.KinesisRecord
	if err := json.Unmarshal(payload, &flat); err != nil {
		return nil, err //nolint:wrapcheck // as above
	}

	for i := range of {
		if of[i].Kinesis.SequenceNumber == "" {
			of[i].Kinesis = flat[i]
		}
	}

	return of, nil
}

// pipeAnswer returns the answer for a pipe.
func pipeAnswer(event, response any) (any, error) {
	var numbers, ids []string

	switch e := event.(type) {
	case events.KinesisEvent:
		for _, r := range e.Records {
			numbers, ids = append(numbers, r.Kinesis.SequenceNumber), append(ids, r.EventID)
		}
	case events.DynamoDBEvent:
		for _, r := range e.Records {
			numbers, ids = append(numbers, r.Change.SequenceNumber), append(ids, r.EventID)
		}
	}

	switch r := response.(type) {
	case events.KinesisEventResponse:
		if len(r.BatchItemFailures) > 0 {
			return pipeFailures(numbers, ids, r.BatchItemFailures[0].ItemIdentifier)
		}
	case events.DynamoDBEventResponse:
		if len(r.BatchItemFailures) > 0 {
			return pipeFailures(numbers, ids, r.BatchItemFailures[0].ItemIdentifier)
		}
	}

	return response, nil // ids of messages are the same to a pipe
}

// pipeFailures names the record with the lowest number that failed, and all behind it.
func pipeFailures(numbers, ids []string, lowest string) (response events.KinesisEventResponse, err error) {
	for i, number := range numbers {
		switch {
		case isLower(number, lowest):
		case ids[i] == "":
			return response, errors.New("lambdawrap: a record without eventID failed, so the whole batch must come back")
		default:
			response.BatchItemFailures = append(response.BatchItemFailures, events.KinesisBatchItemFailure{ItemIdentifier: ids[i]})
		}
	}

	return response, nil
}

// isArray reports whether JSON is an array, if it is JSON at all.
func isArray(payload []byte) bool {
	return bytes.HasPrefix(bytes.TrimLeft(payload, " \t\r\n"), []byte("["))
}
