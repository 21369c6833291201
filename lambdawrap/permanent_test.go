package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestPermanentFailuresGoToTheHookEachTime(t *testing.T) {
	t.Parallel()

	h := newHarness(t, &idemddb.Options{MaxAttempts: 2})
	cause := errors.New("no such account")

	var dead []string

	h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, err error) error {
		dead = append(dead, fmt.Sprint(m.MessageId, " ", errors.Is(err, cause), " ", errors.Is(err, idemddb.ErrFailed)))

		return nil
	}
	function := h.handle(func(context.Context, events.SQSMessage) error { return lambdawrap.Permanent(cause) })

	h.expect(function, batch("m1 k", "m2 k"), nil, []string{"m1"})
	h.equal("record", h.state("k"), "FAILED")
	h.expect(function, batch("m1 k"), nil, nil)
	h.equal("dead letters", dead, []string{"m1 true false", "m2 true false", "m1 false true"})
}

func TestAttemptsUsedUpArePermanent(t *testing.T) {
	t.Parallel()

	h := newHarness(t, &idemddb.Options{MaxAttempts: 2})
	dead := 0
	h.opts.DeadLetter = func(context.Context, events.SQSMessage, error) error {
		dead++

		return nil
	}
	function := h.handle(func(context.Context, events.SQSMessage) error { return errors.New("bank closed") })

	for range 2 {
		h.expect(function, batch("m1 k"), []string{"m1"}, []string{"m1"})
	}

	h.expect(function, batch("m1 k"), nil, nil)
	h.equal("dead letters", dead, 1)
	h.equal("record", h.state("k"), "FAILED")
}

func TestAnotherInputUnderTheSameKeyIsPermanent(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	h.opts.Key = func(context.Context, events.SQSMessage) (string, error) { return "k", nil }
	h.opts.Fingerprint = func(_ context.Context, m events.SQSMessage) (string, error) { return m.Body, nil }

	var dead []string

	h.opts.DeadLetter = func(_ context.Context, m events.SQSMessage, err error) error {
		dead = append(dead, m.MessageId)

		if !errors.Is(err, idemddb.ErrMismatch) {
			t.Errorf("got %v, want a mismatch", err)
		}

		return nil
	}
	function := h.handle(succeed)
	h.expect(function, batch("m1 a", "m2 b", "m3 a"), nil, []string{"m1"})
	h.expect(function, batch("m4 b"), nil, nil)
	h.equal("dead letters", dead, []string{"m2", "m4"})
}
