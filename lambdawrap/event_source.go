package lambdawrap

import (
	"fmt"

	"github.com/aws/aws-lambda-go/events"
)

// source is an event source whose records a wrapper takes. An event of another source is refused as a whole, before anything runs: the JSON of
// many sources decodes into each other's types, and an answer without failures would mean that their work is done.
type source struct {
	name string // in errors
	id   string // what its records have as their eventSource
	mark string // what tells a record of the source that was built by hand, without an eventSource, from one of another source
}

var (
	sourceSQS      = source{"Amazon SQS", "aws:sqs", "messageId or body"}
	sourceKinesis  = source{"Amazon Kinesis Data Streams", "aws:kinesis", "sequence number"}
	sourceDynamoDB = source{"Amazon DynamoDB Streams", "aws:dynamodb", "sequence number"}
)

// errNoRecords is the error of an event without Records.
func (s source) errNoRecords() error {
	return fmt.Errorf("lambdawrap: the event has no Records: expected an event of %s, is this one of another source or a console test?", s.name)
}

// check refuses a record of another source. A record without an eventSource is one of this source if it is marked.
func (s source) check(i int, eventSource string, isMarked bool) error {
	switch {
	case eventSource != "" && eventSource != s.id:
		return fmt.Errorf("lambdawrap: Records[%d] is of %.100q: expected an event of %s (%q); nothing of the event ran", i, eventSource, s.name, s.id)
	case eventSource == "" && !isMarked:
		return fmt.Errorf("lambdawrap: Records[%d] has no %s and no eventSource: expected an event of %s; nothing of the event ran", i, s.mark, s.name)
	default:
		return nil
	}
}

// checkMessages refuses events of other sources than SQS.
func checkMessages(event events.SQSEvent) error {
	if event.Records == nil {
		return sourceSQS.errNoRecords()
	}

	for i, record := range event.Records {
		if err := sourceSQS.check(i, record.EventSource, record.MessageId != "" || record.Body != ""); err != nil {
			return err
		}
	}

	return nil
}
