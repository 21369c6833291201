// Package stand has what the tests of the functions put around them: their environment, the targets of their messages, and what
// they print.
package stand

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Env sets the variables of all functions, and then these. A test that calls it does not run in parallel.
func Env(t *testing.T, env map[string]string) {
	t.Helper()

	all := map[string]string{
		"AWS_REGION": "eu-west-1", "AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_CONFIG_FILE": "none",
		"AWS_SHARED_CREDENTIALS_FILE": "none", "AWS_CA_BUNDLE": "", "TABLE_NAME": "records", "LEDGER_TABLE": "accounts",
		"CAPTURED_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/1/captured", "PAYMENTS_QUEUE_URL": "https://sqs.eu-west-1.amazonaws.com/1/payments",
		"PAUSE_MS": "", "WORKERS": "", "UNVERIFIED_CALLER": "",
	}
	maps.Copy(all, env)

	for name, value := range all {
		t.Setenv(name, value)
	}
}

// Sender answers each message by itself.
type Sender func(ctx context.Context, body string) error

// Takes takes every message.
func Takes(context.Context, string) error { return nil }

// Send implements [idemddb.Sender].
func (s Sender) Send(ctx context.Context, _ string, ms []idemddb.Message) []error {
	answers := make([]error, len(ms))
	for i, m := range ms {
		answers[i] = s(ctx, m.Body)
	}

	return answers
}

// Output is what a function prints: its log or its metrics.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer], for several goroutines at a time.
func (o *Output) Write(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()

	return o.text.Write(b) //nolint:wrapcheck // a buffer has no errors
}

// Lines are those that have all of these words.
func (o *Output) Lines(words ...string) (found []string) {
	for line := range strings.Lines(o.String()) {
		has := true
		for _, word := range words {
			has = has && strings.Contains(line, word)
		}

		if has {
			found = append(found, line)
		}
	}

	return found
}

// String is all that was printed.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()

	return o.text.String()
}

// Sum adds up a metric.
func (o *Output) Sum(t *testing.T, metric string) (sum float64) {
	t.Helper()

	for _, line := range o.Lines() {
		var members map[string]any
		if err := json.Unmarshal([]byte(line), &members); err != nil {
			t.Fatal(err)
		}

		n, _ := members[metric].(float64)
		sum += n
	}

	return sum
}
