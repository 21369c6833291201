package handwritten_test

import (
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/bench/handwritten"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestPaymentsAddsEachPaymentOnce(t *testing.T) {
	t.Parallel()

	for _, announces := range []bool{false, true} {
		t.Run(fmt.Sprint("announces ", announces), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { payTenThreeTimes(t, announces) })
		})
	}
}

// payTenThreeTimes lets three workers have the same ten payments, so that they meet at the account and at the records.
func payTenThreeTimes(t *testing.T, announces bool) {
	t.Helper()

	db := idemddbtest.New(&idemddbtest.Options{TransactionTime: func() time.Duration { return 4 * time.Millisecond }})

	for _, table := range []string{"records", "ledger"} {
		if _, err := db.CreateTable(t.Context(), idemddbtest.CreateTable(table, "")); err != nil {
			t.Fatal(err)
		}
	}

	event := events.SQSEvent{Records: []events.SQSMessage{{MessageId: "none", Body: `{"paymentId":"p"}`}}}
	for i := range 10 {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: fmt.Sprint("m-", i), Body: fmt.Sprintf(`{"paymentId":"p-%d","account":"a","amount":10}`, i),
		})
	}

	var (
		workers sync.WaitGroup
		ended   = make(chan string, 100)
	)

	for range 3 {
		invoke := handwritten.Payments(db.Client(), handwritten.PaymentTables{Records: "records", Ledger: "ledger", Announces: announces},
			func(m events.SQSMessage) { ended <- m.MessageId })

		workers.Go(func() {
			response, err := invoke(t.Context(), event)
			if diff := cmp.Diff([]events.SQSBatchItemFailure{{ItemIdentifier: "none"}}, response.BatchItemFailures); err != nil || diff != "" {
				t.Error(err, diff)
			}
		})
	}

	workers.Wait()

	account := db.Item("ledger", map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "account#a"}})
	if got, _ := account["balance"].(*types.AttributeValueMemberN); got == nil || got.Value != "100" || len(db.Items("ledger")) != 11 || len(ended) != 30 {
		t.Errorf("balance %v, %d items, %d messages ended; want 100, 11, 30", got, len(db.Items("ledger")), len(ended))
	}

	updates := 0

	for _, r := range db.Requests() {
		if r.Operation == "UpdateItem" {
			updates++
		}
	}

	if want := map[bool]int{true: 10}[announces]; updates != want {
		t.Errorf("%d removals of announcements, want %d", updates, want)
	}

	for _, record := range db.Items("records") {
		if record["outbox"] != nil {
			t.Errorf("the record %v still has its announcement", record["pk"])
		}
	}
}
