package main

import (
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
)

// The tests of wire set the environment, so they do not run in parallel.

func TestWireRunsAPayment(t *testing.T) {
	var (
		mu      sync.Mutex
		updates = map[string][]string{} // the targets and expressions sent to each table
	)

	dynamo := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var in struct{ TableName, UpdateExpression string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}

		mu.Lock()
		defer mu.Unlock()

		updates[in.TableName] = append(updates[in.TableName], in.UpdateExpression)

		w.Header().Set("Content-Type", "application/x-amz-json-1.0")

		if _, err := fmt.Fprint(w, "{}"); err != nil {
			t.Error(err)
		}
	}))
	defer dynamo.Close()

	setEnv(t, map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": dynamo.URL, "PAUSE_MS": "1", "AWS_CA_BUNDLE": certificate(t)})

	handler, err := wire(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	got, err := handler(t.Context(), events.SQSEvent{Records: []events.SQSMessage{
		{MessageId: "m-1", EventSourceARN: "arn:aws:sqs:eu-west-1:1:payments", Body: `{"paymentId":"p-1","account":"a-1","amount":1250}`},
		{MessageId: "m-2", EventSourceARN: "arn:aws:sqs:eu-west-1:1:payments", Body: `{"account":"a-1","paymentId":"p-1","amount":1250.0}`},
		{MessageId: "m-3", EventSourceARN: "arn:aws:sqs:eu-west-1:1:payments", Body: `{"account":"a-1","amount":1250}`},
	}})
	if err != nil {
		t.Fatal(err)
	}

	want := []events.SQSBatchItemFailure{{ItemIdentifier: "m-3"}}
	if diff := cmp.Diff(want, got.BatchItemFailures); diff != "" {
		t.Errorf("failures (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]string{"ADD balance :amount, payments :one"}, updates["accounts"]); diff != "" {
		t.Errorf("updates of the ledger (-want +got):\n%s", diff)
	}

	if len(updates["records"]) == 0 {
		t.Error("nothing was sent to the table of records")
	}
}

func TestWireNamesWhatIsMissing(t *testing.T) {
	for name, test := range map[string]struct {
		env  map[string]string
		want []string
	}{
		"no table of records":              {map[string]string{"TABLE_NAME": ""}, []string{"TABLE_NAME"}},
		"no table of accounts":             {map[string]string{"LEDGER_TABLE": ""}, []string{"LEDGER_TABLE"}},
		"neither, and a pause that is not": {map[string]string{"TABLE_NAME": "", "LEDGER_TABLE": "", "PAUSE_MS": "x"}, []string{"TABLE_NAME", "LEDGER_TABLE", "PAUSE_MS"}},
		"a negative pause":                 {map[string]string{"PAUSE_MS": "-1"}, []string{"PAUSE_MS", `"-1"`}},
		"a pause that is not whole":        {map[string]string{"PAUSE_MS": "1.5"}, []string{"PAUSE_MS"}},
		"a pause beyond reason":            {map[string]string{"PAUSE_MS": "9223372036854775807"}, []string{"PAUSE_MS"}},
	} {
		t.Run(name, func(t *testing.T) {
			setEnv(t, test.env)

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

func setEnv(t *testing.T, env map[string]string) {
	t.Helper()

	for name, value := range map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_CONFIG_FILE": "none",
		"AWS_SHARED_CREDENTIALS_FILE": "none", "AWS_CA_BUNDLE": "", "TABLE_NAME": "records", "LEDGER_TABLE": "accounts", "PAUSE_MS": "",
	} {
		t.Setenv(name, value)
	}

	for name, value := range env {
		t.Setenv(name, value)
	}
}
