package main

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/kpl"
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
		"--path": len(e.paths) > 0, "--key": e.keyOf != "", "--caller": e.caller != "", "--aggregated": e.aggregated,
	})
}

// kinesisRecords reads what the key of a record can be made of. aggregated is the function's StreamOptions.Aggregated.
func kinesisRecords(content []byte, aggregated bool) ([]events.KinesisEventRecord, error) {
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

	var records []events.KinesisEventRecord

	for i, r := range event.Records {
		data, err := base64.StdEncoding.DecodeString(r.Kinesis.Data)
		if err != nil {
			return nil, fmt.Errorf("field Records[%d].kinesis.data must be base64: %w", i, err)
		}

		record := events.KinesisEventRecord{
			EventID: r.ID, EventSourceArn: r.ARN, Kinesis: events.KinesisRecord{SequenceNumber: r.Kinesis.SequenceNumber, Data: data},
		}

		if records, err = appendPieces(records, record, aggregated); err != nil {
			return nil, fmt.Errorf("field Records[%d].kinesis.data: %w", i, err)
		}
	}

	return records, nil
}

// appendPieces appends a record, or the user records in it if the Kinesis Producer Library aggregated it and the function opens
// it. The number of a user record ends in its index, as in the function's log.
func appendPieces(records []events.KinesisEventRecord, r events.KinesisEventRecord, aggregated bool) ([]events.KinesisEventRecord, error) {
	if aggregated {
		return append(records, r), nil
	}

	users, err := kpl.Split(r)
	if len(users) == 0 {
		return append(records, r), err
	}

	for i, user := range users {
		user.Kinesis.SequenceNumber += ":" + strconv.Itoa(i)
		records = append(records, user)
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
