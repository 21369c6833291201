package audited_test

import (
	"testing"

	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// TestNoHistoryBreaksARule has every change of random histories judged: of workers with differing clocks, of senders and of
// operators, who act while the requests of others are on their way. Late tries, an operator between a worker's writes, two
// senders, give-ups, releases from -1 and records made anew look wrong now and then, and are right.
func TestNoHistoryBreaksARule(t *testing.T) {
	t.Parallel()

	limit := 500

	switch {
	case testing.Short():
		limit = 25
	case around.HasRaceDetector(): // ten times as slow
		limit = 150
	}

	for name, isSingle := range map[string]bool{"alone": true, "in shared requests": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			explore(t, limit, isSingle, nil, func(h *history) bool { return h.changes.Err() == nil })
		})
	}
}
