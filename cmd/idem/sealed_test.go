package main

import (
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// An operator must learn why nothing is shown, and that idem cannot send the message.
func TestWhatIsSealedIsShownAsThat(t *testing.T) {
	t.Parallel()

	m := operate.Message{ID: "tx-0", To: "receipts", Bytes: 40, Sealed: true}
	v := operate.View{Status: operate.Completed, ResultSealed: true, ResultBytes: 33, Messages: []operate.Message{m}}

	for what, text := range map[string]string{
		"result": resultText(v), "--result": string(shownResult(v)), "message": messageText(m),
		"advice": strings.Join(advice(found{View: v}), " "),
	} {
		if !strings.Contains(text, "Options.Codec") || strings.Contains(text, "idem send") {
			t.Errorf("%s: %q", what, text)
		}
	}

	v.Messages[0].Sealed = false

	if text := strings.Join(advice(found{View: v}), " "); !strings.Contains(text, "idem send") {
		t.Errorf("advice for a message that is not sealed: %q", text)
	}
}
