package lambdawrap_test

import (
	"context"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A mapping that is made again, with enhanced fan-out or with a consumer that was registered anew, reads records that another one
// has read before. They are the same work. Another stream has other work, whatever its name begins with.
func TestARecordOfAStreamHasOneKeyWhicheverConsumerReadsIt(t *testing.T) {
	t.Parallel()

	ran := 0
	function := lambdawrap.Kinesis(newHarness(t, nil).store, func(context.Context, events.KinesisEventRecord) error {
		ran++

		return nil
	}, nil)

	for _, c := range []struct {
		arn string
		ran int // so far
	}{
		{kinesisARN, 1},
		{kinesisARN + "/consumer/payments:1540591608", 1},
		{kinesisARN + "/consumer/payments:1702000000", 1},
		{kinesisARN + "-of-others/consumer/payments:1540591608", 2},
		{kinesisARN + "-of-others", 2},
	} {
		record := kinesisRecord(events.SQSMessage{MessageId: "101", Body: "p-1"})
		record.EventSourceArn = c.arn

		response, err := function(t.Context(), events.KinesisEvent{Records: []events.KinesisEventRecord{record}})
		if err != nil || len(response.BatchItemFailures) > 0 || ran != c.ran {
			t.Errorf("%s: %d runs, want %d; %v, %v", c.arn, ran, c.ran, response, err)
		}
	}
}
