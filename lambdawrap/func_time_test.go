package lambdawrap_test

import (
	"context"
	"testing"
	"time"
)

// Without a Timeout, a process learns from its handlers how long one takes, as it does for the messages of a queue: a claim that
// took more than half of the time leaves enough for a quick handler.
func TestFuncLearnsHowLongItsHandlerTakes(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(h *harness) {
		f := newFunc(h)
		f.opts.Wait = time.Minute
		work := f.wrap(func(ctx context.Context, o order) (paid, error) {
			time.Sleep(10 * time.Millisecond)

			return settleOrder(ctx, o)
		})

		for _, id := range []string{"o-1", "o-2"} {
			ctx, cancel := context.WithTimeout(f.Context(), 3*time.Second) // of which nothing may start after 2 s

			if id == "o-2" {
				held := claim(f, f.store, "o-2")

				time.AfterFunc(1200*time.Millisecond, func() { _ = held.Release(context.Background(), nil) })
			}

			got, err := work(ctx, order{ID: id})
			f.is(got, err, paid{id, 0, []int{}})
			cancel()
		}
	})
}
