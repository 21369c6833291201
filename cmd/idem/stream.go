package main

import (
	"context"
	"encoding/base64"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// ofKinesis returns the key function of records of a stream; --path reads their data.
func (e *eventFlags) ofKinesis() (func(context.Context, events.KinesisEventRecord) (string, error), error) {
	if err := e.refuse("records of Kinesis", map[string]bool{"--key": e.keyOf != "", "--caller": e.caller != ""}); err != nil {
		return nil, err
	}

	if len(e.paths) == 0 {
		return lambdawrap.KinesisRecordID, nil
	}

	pick, err := e.body()
	if err != nil {
		return nil, err
	}

	return func(ctx context.Context, r events.KinesisEventRecord) (string, error) {
		return pick(ctx, events.SQSMessage{Body: string(r.Kinesis.Data)})
	}, nil
}

// ofDynamoDB returns the key function of changes of a table.
func (e *eventFlags) ofDynamoDB() (func(context.Context, events.DynamoDBEventRecord) (string, error), error) {
	return lambdawrap.DynamoDBRecordID, e.refuse("changes of a table, whose key is that of DynamoDBRecordID", map[string]bool{
		"--path": len(e.paths) > 0, "--key": e.keyOf != "", "--caller": e.caller != "",
	})
}

// kinesisRecords reads what the key of a record can be made of.
func kinesisRecords(content []byte) ([]events.KinesisEventRecord, error) {
	var event struct {
		Records []struct {
			ID      string `json:"eventID"`
			ARN     string `json:"eventSourceARN"`
			Kinesis struct {
				SequenceNumber string `json:"sequenceNumber"`
				Data           string `json:"data"`
			} `json:"kinesis"`
		}
	}
	if err := decode(content, &event); err != nil {
		return nil, err
	}

	records := make([]events.KinesisEventRecord, len(event.Records))

	for i, r := range event.Records {
		data, err := base64.StdEncoding.DecodeString(r.Kinesis.Data)
		if err != nil {
			return nil, fmt.Errorf("field Records[%d].kinesis.data must be base64: %w", i, err)
		}

		records[i] = events.KinesisEventRecord{
			EventID: r.ID, EventSourceArn: r.ARN, Kinesis: events.KinesisRecord{SequenceNumber: r.Kinesis.SequenceNumber, Data: data},
		}
	}

	return records, nil
}

// changes reads what the key of a change is made of.
func changes(content []byte) ([]events.DynamoDBEventRecord, error) {
	var event struct {
		Records []struct {
			ID     string `json:"eventID"`
			ARN    string `json:"eventSourceARN"`
			Change struct {
				SequenceNumber string
			} `json:"dynamodb"`
		}
	}
	if err := decode(content, &event); err != nil {
		return nil, err
	}

	records := make([]events.DynamoDBEventRecord, len(event.Records))
	for i, r := range event.Records {
		records[i] = events.DynamoDBEventRecord{
			EventID: r.ID, EventSourceArn: r.ARN, Change: events.DynamoDBStreamRecord{SequenceNumber: r.Change.SequenceNumber},
		}
	}

	return records, nil
}
