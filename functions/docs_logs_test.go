package functions_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A batch whose messages all end well writes one line, of its metrics. CloudWatch bills it by its bytes.
func TestCostPageHasTheSizeOfALineOfMetrics(t *testing.T) {
	t.Parallel()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))

	var line bytes.Buffer

	name := "idemddb-payments-Payments-Kx3vQ9b2LmZa" // as CloudFormation names a function
	metrics := lambdawrap.NewMetrics(&line, "Payments", map[string]string{"Function": name}, map[string]string{"Function": name, "Version": "17"})

	store, err := idemddb.New(db, "records", "payments", &idemddb.Options{Observe: metrics.Observe})
	if err != nil {
		t.Fatal(err)
	}

	event := events.SQSEvent{}
	for i := range 10 {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: fmt.Sprint("m-", i), EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments", EventSource: "aws:sqs",
		})
	}

	handler := lambdawrap.Measure(metrics, lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error { return nil }, nil))
	if _, err := handler(t.Context(), event); err != nil {
		t.Fatal(err)
	}

	if want := fmt.Sprintf("about %.1f KB", float64(line.Len())/1000); !strings.Contains(readRoot(t, "docs/cost.md"), want) {
		t.Errorf("the line has %d bytes; docs/cost.md does not say %q", line.Len(), want)
	}
}
