// Package stand has what the tests of the functions put around them: their environment, and the targets of their messages.
package stand

import (
	"context"
	"maps"
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
