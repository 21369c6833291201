package ledger_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// bank is the whole function on a DynamoDB in memory. It is the sender of its own announcements.
type bank struct {
	db       *idemddbtest.DB
	function func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

	announced  []idemddb.Message
	outcome    lambdawrap.Outcome // of the last message
	deadLetter error              // the last one's cause
}

func newBank(t *testing.T) *bank {
	t.Helper()

	b := &bank{db: audited.Tables(t, nil, idemddbtest.CreateTable("records", ""), idemddbtest.CreateTable("accounts", ""))}
	audited.DB(t, b.db, nil, audit.Options{})

	store, err := idemddb.New(b.db, "records", "payments", &idemddb.Options{Senders: map[string]idemddb.Sender{ledger.Captured: b}})
	if err != nil {
		t.Fatal(err)
	}

	accounts, err := ledger.New("accounts", nil)
	if err != nil {
		t.Fatal(err)
	}

	opts := accounts.Options()
	opts.Logger = slog.New(slog.DiscardHandler)
	opts.OnMessage = func(_ context.Context, _ events.SQSMessage, o lambdawrap.Outcome) { b.outcome = o }
	opts.DeadLetter = func(_ context.Context, _ events.SQSMessage, cause error) error {
		b.deadLetter = cause

		return nil
	}
	b.function = lambdawrap.SQS(store, accounts.Pay, opts)

	return b
}

// Send implements idemddb.Sender.
func (b *bank) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	b.announced = append(b.announced, ms...)

	return make([]error, len(ms))
}

// deliver delivers a message and returns its outcome.
func (b *bank) deliver(t *testing.T, receives int, body string) lambdawrap.Outcome {
	t.Helper()

	if _, err := b.function(t.Context(), events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "m-1", EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments", Body: body,
		Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(receives)},
	}}}); err != nil {
		t.Fatal(err)
	}

	return b.outcome
}

// ledger returns the items of the ledger by their key, as texts.
func (b *bank) ledger() map[string]string {
	items := map[string]string{}

	for _, item := range b.db.Items("accounts") {
		var texts []string

		for _, name := range slices.Sorted(maps.Keys(item)) {
			switch v := item[name].(type) {
			case *types.AttributeValueMemberN:
				texts = append(texts, name+" "+v.Value)
			case *types.AttributeValueMemberS:
				if name != "pk" {
					texts = append(texts, name+" "+v.Value)
				}
			default:
				texts = append(texts, name)
			}
		}

		if key, ok := item["pk"].(*types.AttributeValueMemberS); ok {
			items[key.Value] = strings.Join(texts, ", ")
		}
	}

	return items
}

// wantOnce wants the payment p-1 once in its account and in its entry, and all of its announcements under one id.
func (b *bank) wantOnce(t *testing.T) {
	t.Helper()

	want := map[string]string{"account#a-1": "balance 1250, payments 1", "payment#p-1": "account a-1, amount 1250"}
	if diff := cmp.Diff(want, b.ledger()); diff != "" {
		t.Errorf("ledger (-want +got):\n%s", diff)
	}

	ids := map[string]bool{}
	for _, m := range b.announced {
		ids[m.ID] = true
	}

	if len(ids) != 1 {
		t.Errorf("announced under the ids %v, want one", ids)
	}
}

// put puts an item, in DynamoDB's JSON of strings, numbers and truths, into the ledger.
func (b *bank) put(t *testing.T, text string) {
	t.Helper()

	var attributes map[string]struct {
		S, N *string
		BOOL bool
	}
	if err := json.Unmarshal([]byte(text), &attributes); err != nil {
		t.Fatal(err)
	}

	item := map[string]types.AttributeValue{}

	for name, v := range attributes {
		switch {
		case v.S != nil:
			item[name] = &types.AttributeValueMemberS{Value: *v.S}
		case v.N != nil:
			item[name] = &types.AttributeValueMemberN{Value: *v.N}
		default:
			item[name] = &types.AttributeValueMemberBOOL{Value: v.BOOL}
		}
	}

	if _, err := b.db.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String("accounts"), Item: item}); err != nil {
		t.Fatal(err)
	}
}

// forget deletes the record of the payment p-1, as Time to Live does after its retention.
func (b *bank) forget(t *testing.T) {
	t.Helper()

	audited.ByHand(b.db, func() {
		if _, err := b.db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
			TableName: aws.String("records"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "payments#p-1"}},
		}); err != nil {
			t.Fatal(err)
		}
	})

	if records := b.db.Items("records"); len(records) > 0 {
		t.Fatal(fmt.Sprint("records: ", records))
	}
}
