package main

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// The tests of wire set the environment, so they do not run in parallel.

func TestWireRunsAPayment(t *testing.T) {
	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""), idemddbtest.CreateTable("accounts", ""))
	audited.DB(t, db, nil, audit.Options{})

	dynamo := httptest.NewServer(db.Handler())
	defer dynamo.Close()

	var announced atomic.Int64

	queue := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("X-Amz-Target") == "AmazonSQS.SendMessageBatch" {
			announced.Add(1)
		}

		w.WriteHeader(http.StatusInternalServerError) // the record keeps the announcement
	}))
	defer queue.Close()

	stand.Env(t, map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": dynamo.URL, "AWS_ENDPOINT_URL_SQS": queue.URL, "PAUSE_MS": "1", "AWS_CA_BUNDLE": certificate(t),
	})

	handler, err := wire(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	first := map[string]string{"ApproximateReceiveCount": "1"}

	got, err := handler(t.Context(), events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m-1", Attributes: first, EventSourceARN: "arn:aws:sqs:eu-west-1:1:payments", Body: `{"paymentId":"p-1","account":"a-1","amount":1250}`},
		{MessageId: "m-2", Attributes: first, EventSourceARN: "arn:aws:sqs:eu-west-1:1:payments", Body: `{"account":"a-1","paymentId":"p-1","amount":1250.0}`},
		{MessageId: "m-3", Attributes: first, EventSourceARN: "arn:aws:sqs:eu-west-1:1:payments", Body: `{"account":"a-1","amount":1250}`},
	}})
	if err != nil {
		t.Fatal(err)
	}

	want := []events.SQSBatchItemFailure{{ItemIdentifier: "m-3"}}
	if diff := cmp.Diff(want, got.BatchItemFailures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}

	if got := len(db.Items("accounts")); got != 2 {
		t.Errorf("the ledger has %d items, want the account and the entry", got)
	}

	if announced.Load() == 0 || len(db.Items("records")) != 1 {
		t.Errorf("%d announcements tried, %d records", announced.Load(), len(db.Items("records")))
	}

	var writes []string
	for _, r := range db.Requests() {
		if r.Operation != "CreateTable" {
			writes = append(writes, r.Operation)
		}
	}

	if diff := cmp.Diff([]string{"TransactWriteItems"}, writes); diff != "" {
		t.Errorf("requests of DynamoDB (-want +got):\n%s", diff)
	}
}

func TestWireNamesWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"no table of records":           {map[string]string{"TABLE_NAME": ""}, []string{"TABLE_NAME"}},
		"no table of accounts":          {map[string]string{"LEDGER_TABLE": ""}, []string{"LEDGER_TABLE"}},
		"no queue of captured payments": {map[string]string{"CAPTURED_QUEUE_URL": ""}, []string{"CAPTURED_QUEUE_URL"}},
		"none, and a pause that is not": {map[string]string{"TABLE_NAME": "", "LEDGER_TABLE": "", "CAPTURED_QUEUE_URL": "", "PAUSE_MS": "x"}, []string{"TABLE_NAME", "LEDGER_TABLE", "CAPTURED_QUEUE_URL", "PAUSE_MS"}},
		"a negative pause":              {map[string]string{"PAUSE_MS": "-1"}, []string{"PAUSE_MS", `"-1"`}},
		"a pause that is not whole":     {map[string]string{"PAUSE_MS": "1.5"}, []string{"PAUSE_MS"}},
		"no workers":                    {map[string]string{"WORKERS": "0"}, []string{"WORKERS", `"0"`}},
		"more workers than messages":    {map[string]string{"WORKERS": "10001"}, []string{"WORKERS"}},
		"workers that are no number":    {map[string]string{"WORKERS": "all"}, []string{"WORKERS"}},
		"a pause beyond reason":         {map[string]string{"PAUSE_MS": "9223372036854775807"}, []string{"PAUSE_MS"}},
	} {
		t.Run(name, func(t *testing.T) {
			stand.Env(t, test.env)

			handler, err := wire(t.Context())
			if handler != nil || err == nil {
				t.Fatal("wire accepts it")
			}

			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not name %s", err, want)
				}
			}
		})
	}
}

func TestWorkersAreFromOneToTheLargestBatch(t *testing.T) {
	for text, want := range map[string]int{"": 0, "1": 1, "10000": 10_000} {
		stand.Env(t, map[string]string{"WORKERS": text})

		if env, err := ledger.ReadEnv(); err != nil || env.Workers != want {
			t.Errorf("WORKERS=%s: got %d, %v; want %d", text, env.Workers, err, want)
		}
	}
}

// certificate writes some certificate authority to a file.
func certificate(t *testing.T) string {
	t.Helper()

	server := httptest.NewTLSServer(nil)
	defer server.Close()

	file := filepath.Join(t.TempDir(), "ca.pem")
	block := pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}

	if err := os.WriteFile(file, pem.EncodeToMemory(&block), 0o600); err != nil {
		t.Fatal(err)
	}

	return file
}
