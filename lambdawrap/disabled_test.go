package lambdawrap_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

func TestTheSwitchTurnsEveryWrapperOffAndTakesOnlyTrueAnd1(t *testing.T) {
	for value, on := range map[string]bool{"true": false, "1": false, "false": true, "0": true, "": true} {
		for _, way := range ways {
			t.Run(value+", "+way.name, func(t *testing.T) {
				t.Setenv("IDEMDDB_DISABLED", value)

				h := newHarness(t, nil)
				function := way.wrap(h, failing(always(), "bad"))
				event := batch("m1 k1", "m2 k1", "m3 bad")

				if on {
					h.check(function, event, []string{"m3"}, []string{"m1", "m3"})
					h.equal("warnings", h.log.Len() > 0 && strings.Contains(h.log.String(), "IDEMDDB_DISABLED"), false)
					h.equal("requests are made", len(h.db.Requests()) > 0, true)

					return
				}

				for range 2 {
					h.check(function, event, []string{"m3"}, []string{"m1", "m2", "m3"})
				}

				h.equal("warnings", strings.Count(h.log.String(), "IDEMDDB_DISABLED"), 1)
				h.equal("requests", len(h.db.Requests()), 0)
			})
		}
	}
}

func TestSwitchedOffEveryDeliveryRunsWithoutKeysAndRequests(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")

	h := newHarness(t, nil)
	h.opts.Key = func(context.Context, events.SQSMessage) (string, error) { panic("asked for a key") }
	function := h.handle(func(_ context.Context, m events.SQSMessage) error {
		if m.Body == "bad" {
			return errors.New("bank closed")
		}

		return nil
	})

	for range 2 {
		h.check(function, batch("m1 k", "m2 k", "m3 bad"), []string{"m3"}, []string{"m1", "m2", "m3"})
	}

	h.check(function, batch("m1 bad a", "m2 k a", "m3 k b"), []string{"m1", "m2"}, []string{"m1", "m3"})
	h.equal("requests", len(h.db.Requests()), 0)
	h.equal("warnings", strings.Count(h.log.String(), "IDEMDDB_DISABLED"), 1)
}
