package engine_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/internal/engine"
)

func TestAnInvocationInsideOfAWorkIsOfThatWork(t *testing.T) {
	t.Parallel()

	ctx := engine.With(engine.Inside(t.Context(), "outer"), &engine.Invocation{})
	if got := engine.Of(ctx).Work; got != "outer" {
		t.Errorf("got the work %v, want the one around it", got)
	}
}

func TestAWriteThatSettlesIsSentForOneLeaseIfNothingElseIsSaid(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		_, p, cancel := engine.SettleContext(t.Context(), time.Minute)
		defer cancel()

		if left := time.Until(p.End); left != time.Minute {
			t.Errorf("it is sent for %v, want a minute", left)
		}
	})
}

// After a claim that had no answer for as long as it was tried, each later one makes one try, until DynamoDB answers one.
func TestPatience(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, _ := engineOn(&client{})
		g := e.NewGroup()

		want := func(g *engine.Group, ctx context.Context, patience time.Duration) int {
			t.Helper()

			end, answers := g.Patience(ctx, time.Minute)
			if got := time.Until(end); got != patience {
				t.Errorf("a claim is tried for %v, want %v", got, patience)
			}

			return answers
		}

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		want(nil, t.Context(), time.Minute)
		want(nil, ctx, time.Second)

		answers := want(g, t.Context(), time.Minute)
		g.Answered(false, answers)
		g.Answered(true, want(g, t.Context(), 0))
		g.Answered(false, answers) // of a claim that began before
		want(g, t.Context(), time.Minute)
	})
}

// Nothing more is written when the answer of an invocation is due, until its deadline. Work that ends after that, because nothing
// has ended its process, is written down all the same.
func TestAWriteThatSettlesIsSentAfterADeadlineThatEndedNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()

		for name, c := range map[string]struct {
			times engine.Times
			want  time.Duration
		}{
			"before the answer":   {engine.Times{Deadline: now.Add(4 * time.Second), SettleBy: now.Add(3 * time.Second)}, 3 * time.Second},
			"before the deadline": {engine.Times{Deadline: now.Add(time.Second), SettleBy: now.Add(-time.Second)}, -time.Second},
			"after the deadline":  {engine.Times{Deadline: now, SettleBy: now.Add(-time.Second)}, 2 * time.Second},
			"without a deadline":  {engine.Times{SettleBy: now.Add(-time.Second)}, 2 * time.Second},
		} {
			_, p, cancel := engine.SettleContext(engine.With(t.Context(), &engine.Invocation{Times: &c.times}), time.Minute)
			cancel()

			if left := p.End.Sub(now); left != c.want {
				t.Errorf("%s: it is sent for %v, want %v", name, left, c.want)
			}
		}
	})
}
