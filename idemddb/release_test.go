package idemddb_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

func TestADeferredReleaseOfASettledClaimDoesNothing(t *testing.T) {
	t.Parallel()

	kinds := map[string]idemddb.Kind{
		"complete": idemddb.KindCompleted, "release": idemddb.KindReleased, "unused": idemddb.KindReleased, "fail": idemddb.KindFailed,
	}

	for verb, settle := range settlements {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				c := claim(f, f.store, "k")
				must(f, settle(f.Context(), c))
				f.requests()
				must(f, c.Release(f.Context(), errors.New("deferred")), c.ReleaseUnused(f.Context()))
				f.want()
				f.events.want(f, idemddb.KindClaimed, kinds[verb])

				if c.Settled() != kinds[verb] {
					f.Errorf("settled as %q, want %q", c.Settled(), kinds[verb])
				}
			})
		})
	}
}

// accountError is an error type whose nil pointer panics, as most do.
type accountError struct{ id string }

func (e *accountError) Error() string { return "no account " + e.id }

func TestACauseThatIsATypedNilIsKeptAsItsType(t *testing.T) {
	t.Parallel()

	var typedNil *accountError

	for name, settle := range map[string]func(context.Context, *idemddb.Claim) error{
		"release": func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, typedNil) },
		"fail":    func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, typedNil) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				c := claim(f, f.store, "k")
				must(f, settle(f.Context(), c))

				if text := textOf(f.record("k"), "err"); !strings.Contains(text, "*idemddb_test.accountError") {
					f.Errorf("err is %q, want the type", text)
				}
			})
		})
	}
}

// An operator has released the key, and the renewal has found that out. The key is free, as the worker wants it: that is no
// error.
func TestAReleaseAfterAnOperatorsReleaseIsNoError(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		c := claim(f, f.store, "k")
		f.edit("k", map[string]types.AttributeValue{"lease": number(0)})
		is(f, c.Extend(f.Context()), idemddb.ErrFenced)
		must(f, c.Release(f.Context(), errClosed))

		if next := claim(f, f.store, "k"); next.Attempt() != 2 {
			f.Errorf("attempt %d, want 2", next.Attempt())
		}
	})
}

func TestAClaimAndItsRecordSayHowItWasSettled(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)

	written := claim(t, s, "written")
	must(t, written.CompleteWith(t.Context(), nil, items(counted("a"))))

	if written.Settled() != idemddb.KindCompleted {
		t.Errorf("settled as %q, want %q", written.Settled(), idemddb.KindCompleted)
	}

	failed := claim(t, s, "failed")
	must(t, failed.Fail(t.Context(), nil))

	if cause := textOf(recordOf(db, "failed"), "err"); cause != "no cause given" {
		t.Errorf("got cause %q", cause)
	}
}
