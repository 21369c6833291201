package lambdawrap_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestJSONRefusesWhatDoesNotDecodeForGood(t *testing.T) {
	t.Parallel()

	type payment struct {
		Amount int64 `json:"amount"`
	}

	for body, want := range map[string]string{
		`{"amount":1}`:                    "",
		`{"amount":"4111"}`:               `field "amount" must be of type int64`,
		`{"amount":1`:                     "it ends early",
		`secret`:                          "not JSON, at byte 1",
		`{"amount":1}{"x":2}`:             "more than one JSON value",
		``:                                "it ends early",
		`{"amount":99999999999999999999}`: `field "amount"`,
	} {
		err := lambdawrap.JSON(func(context.Context, payment) error { return nil })(t.Context(), events.SQSMessage{Body: body})

		switch {
		case want == "" && err != nil:
			t.Errorf("%s: %v", body, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: got %v, want %q", body, err, want)
		case err != nil && (strings.Contains(err.Error(), "4111") || strings.Contains(err.Error(), "secret")):
			t.Errorf("the error shows the body: %v", err)
		}
	}
}

func TestWholeGetsOneMessageAtATime(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	function := h.handle(lambdawrap.Whole(func(_ context.Context, e events.SQSEvent) error {
		if len(e.Records) != 1 || e.Records[0].Body == "k2" {
			return fmt.Errorf("%d records", len(e.Records))
		}

		return nil
	}))
	h.check(function, batch("m1 k1", "m2 k2", "m3 k3"), []string{"m2"}, []string{"m1", "m2", "m3"})
}
