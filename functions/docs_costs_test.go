package functions_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The costs on the page are those that the engine in memory counts: write units and requests of a message, alone and in a batch
// of ten.
func TestEffectsPageHasTheCostsThatAreMeasured(t *testing.T) {
	t.Parallel()

	page := readRoot(t, "docs/effects.md")

	staged := func(ctx context.Context, _ *idemddbtest.DB, id string) error {
		return idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{{Put: put(id)}}})
	}
	announced := func(ctx context.Context, db *idemddbtest.DB, id string) error {
		return errors.Join(staged(ctx, db, id), idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: strings.Repeat("x", 1024)}}}))
	}
	ownWrite := func(ctx context.Context, db *idemddbtest.DB, id string) error {
		_, err := db.PutItem(ctx, &dynamodb.PutItemInput{TableName: put(id).TableName, Item: put(id).Item})

		return err
	}

	for _, row := range []struct {
		name       string
		optimistic bool
		work       func(context.Context, *idemddbtest.DB, string) error
		twice      bool // the second delivery is measured
		receives   int  // of that which is measured
	}{
		{"`Optimistic`: one item", true, staged, false, 1},
		{"claim, then one item with the completion", false, staged, false, 1},
		{"claim, own write, completion: not exact", false, ownWrite, false, 1},
		{"a duplicate that is delivered again", true, staged, true, 2},
		{"a duplicate as a new message, `Optimistic`", true, staged, true, 1},
		{"`Optimistic`: one item and one message of 1 KB", true, announced, false, 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				measure := func(messages int) (units, requests string) {
					db := audited.Tables(t, nil, idemddbtest.CreateTable("records", "unsent"), idemddbtest.CreateTable("ledger", ""))
					handler := costsHandler(t, db, row.optimistic, row.work)

					if row.twice {
						deliver(t, handler, messages, 1)
					}

					db.ResetRequests()
					deliver(t, handler, messages, row.receives)

					sum := 0
					for _, r := range db.Requests() {
						sum += r.WriteUnits
					}

					return each(sum, messages), each(len(db.Requests()), messages)
				}

				units, alone := measure(1)
				unitsOfTen, inTen := measure(10)

				// A handler that ends before the last of the ten knows of its claim has a request of its own: that is by chance.
				for range 2 {
					_, again := measure(10)
					inTen = min(inTen, again)
				}

				if units != unitsOfTen {
					t.Errorf("%s WCU alone, and %s in a batch", units, unitsOfTen)
				}

				if want := fmt.Sprintf("| %s | %s | %s | %s |", row.name, units, alone, inTen); !strings.Contains(page, want) {
					t.Errorf("docs/effects.md does not have the row\n%s", want)
				}
			})
		})
	}
}

func each(n, messages int) string {
	return strconv.FormatFloat(float64(n)/float64(messages), 'f', -1, 64)
}

func put(id string) *types.Put {
	return &types.Put{
		TableName: aws.String("ledger"), Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "payment#" + id}},
		ConditionExpression: aws.String("attribute_not_exists(pk)"),
	}
}

func costsHandler(
	t *testing.T, db *idemddbtest.DB, optimistic bool, work func(context.Context, *idemddbtest.DB, string) error,
) func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
	t.Helper()

	store, err := idemddb.New(db, "records", "payments", &idemddb.Options{
		UnsentIndex: "unsent", Senders: map[string]idemddb.Sender{"receipts": stand.Sender(stand.Takes)},
	})
	if err != nil {
		t.Fatal(err)
	}

	key, err := lambdawrap.Body("id")
	if err != nil {
		t.Fatal(err)
	}

	return lambdawrap.SQS(store, func(ctx context.Context, m events.SQSMessage) error { return work(ctx, db, m.MessageId) },
		&lambdawrap.Options{Key: key, Optimistic: optimistic, Logger: slog.New(slog.DiscardHandler)})
}

func deliver(
	t *testing.T, handler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error), messages, receives int,
) {
	t.Helper()

	var batch events.SQSEvent
	for i := range messages {
		batch.Records = append(batch.Records, events.SQSMessage{
			MessageId: strconv.Itoa(i), EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments", Body: fmt.Sprintf(`{"id":"%d"}`, i),
			Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(receives)},
		})
	}

	if response, err := handler(t.Context(), batch); err != nil || len(response.BatchItemFailures) > 0 {
		t.Fatalf("got %v, %v", response, err)
	}
}
