package lambdawrap_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestBackoffSaysHowLongAFailedMessageStaysHidden(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		backoff  func(int) time.Duration
		receives int
		want     int32
	}{
		"constant":                      {lambdawrap.ConstantBackoff(90 * time.Second), 7, 90},
		"rounded up":                    {lambdawrap.ConstantBackoff(1500 * time.Millisecond), 1, 2},
		"none is a second":              {lambdawrap.ConstantBackoff(0), 1, 1},
		"negative is a second":          {lambdawrap.ConstantBackoff(-1 << 63), 1, 1},
		"longer than SQS takes":         {lambdawrap.ConstantBackoff(1<<63 - 1), 1, 41400},
		"of the receives":               {func(receives int) time.Duration { return time.Duration(receives) * time.Minute }, 3, 180},
		"the default, as a function":    {func(receives int) time.Duration { return lambdawrap.ExponentialBackoff(receives) / 1000 }, 1, 1},
		"more than one default at most": {func(int) time.Duration { return min(lambdawrap.ExponentialBackoff(99), 450*time.Second) }, 1, 450},
	} {
		for _, wrap := range []func(*harness, lambdawrap.Handler) wrapped{(*harness).handle, (*harness).whole} {
			h := newHarness(t, nil)
			q := h.hiding(nil)
			h.opts.Backoff = c.backoff

			h.answered(wrap(h, failingFor("k")), deliveredFor(batch("m1 k"), c.receives), "m1")
			h.equal(name, q.of("m1"), []int32{c.want})
		}
	}
}

func TestABackoffThatPanicsHasTheDefaultPause(t *testing.T) {
	t.Parallel()

	for _, wrap := range []func(*harness, lambdawrap.Handler) wrapped{(*harness).handle, (*harness).whole} {
		h := newHarness(t, nil)
		q := h.hiding(nil)
		h.opts.Backoff = func(int) time.Duration { panic("wrong") }

		h.answered(wrap(h, failingFor("k")), deliveredFor(batch("m1 k"), 1), "m1")
		h.logs("Options.Backoff failed", "level=ERROR")

		if got := q.of("m1"); len(got) != 1 || got[0] < 1 || got[0] > 2 {
			t.Errorf("hidden for %v", got)
		}
	}
}

func TestBackoffNeedsVisibility(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	h.opts.Backoff = lambdawrap.ExponentialBackoff

	_, err := h.handle(func(context.Context, events.SQSMessage) error { return nil })(t.Context(), batch("m1 k"))
	if err == nil || !strings.Contains(err.Error(), "Options.Backoff") {
		t.Errorf("got %v", err)
	}
}
