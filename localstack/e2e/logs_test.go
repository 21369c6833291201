//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// Each line that the function has logged is JSON, and none has anything of a payment. A message that can never succeed has a line
// for each of its receives, as many as the template says.
func testLogs(t *testing.T, p *pipeline.Pipeline, payloads ...string) {
	t.Helper()

	refusals := map[string][]string{} // outcomes by message

	for _, line := range logLines(t, functionLogs(p)) {
		if word, _, _ := strings.Cut(line, " "); word == "START" || word == "END" || word == "REPORT" { // LocalStack writes these lines
			continue
		}

		var logged struct {
			Message string `json:"messageId"`
			Outcome string `json:"outcome"`
		}
		if err := json.Unmarshal([]byte(line), &logged); err != nil {
			t.Errorf("a line is no JSON: %v: %s", err, line)
		}

		for _, payload := range payloads {
			if strings.Contains(line, payload) {
				t.Errorf("a line has %q of a payment: %s", payload, line)
			}
		}

		if logged.Message != "" {
			refusals[logged.Message] = append(refusals[logged.Message], logged.Outcome)
		}
	}

	poisoned := 0

	for id, outcomes := range refusals {
		if outcomes[0] != "failed" {
			continue
		}

		poisoned++

		if got, want := fmt.Sprint(outcomes), "[failed"+strings.Repeat(" refused", maxReceives-1)+"]"; got != want {
			t.Errorf("message %s: %s, want %s", id, got, want)
		}
	}

	if poisoned == 0 {
		t.Error("the log has no line of a message that can never succeed")
	}
}

// functionLogs is where LocalStack writes the function's lines; it ignores the log group of the template.
func functionLogs(p *pipeline.Pipeline) string { return "/aws/lambda/" + p.FunctionName }
