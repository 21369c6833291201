package lambdawrap_test

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// unreadable keeps results and does not give them back.
type unreadable struct{ gets atomic.Int64 }

func (*unreadable) Put(context.Context, string, []byte) error { return nil }

func (u *unreadable) Get(context.Context, string) ([]byte, error) {
	u.gets.Add(1)

	return nil, errors.New("denied")
}

// A message needs no result: that it cannot be read now must not bring the message back.
func TestADuplicateOfAMessageDoesNotReadALargeResult(t *testing.T) {
	t.Parallel()

	for name, optimistic := range map[string]bool{"claimed": false, "optimistic": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			for _, way := range ways {
				if optimistic && way.name == "Batch" {
					continue // where Optimistic is an error
				}

				t.Run(way.name, func(t *testing.T) {
					t.Parallel()

					kept := &unreadable{}

					bubble(t, &idemddb.Options{Results: kept}, func(h *harness) {
						if err := claim(h, h.store, "k").Complete(h.Context(), make([]byte, 40_000)); err != nil {
							h.Fatal(err)
						}

						h.opts.Optimistic = optimistic
						h.check(way.wrap(h, staged), batch("m1 k"), nil, map[bool][]string{true: {"m1"}}[optimistic])
						h.equal("reads", kept.gets.Load(), int64(0))
					})
				})
			}
		})
	}
}

// staged has no effect but what it stages.
func staged(ctx context.Context, _ events.SQSMessage) error {
	return idemddb.Stage(ctx, idemddb.Effects{})
}
