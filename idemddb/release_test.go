package idemddb_test

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

func TestADeferredReleaseOfASettledClaimDoesNothing(t *testing.T) {
	t.Parallel()

	kinds := map[string]idemddb.Kind{
		"complete": idemddb.KindCompleted, "release": idemddb.KindReleased, "unused": idemddb.KindReleased, "fail": idemddb.KindFailed,
	}

	for verb, settle := range settlements {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, db, events := observed(t, nil)
				c := claim(t, s, "k")
				must(t, settle(t.Context(), c))

				before := recordOf(db, "k")
				must(t, c.Release(t.Context(), errors.New("deferred")), c.ReleaseUnused(t.Context()))

				if after := recordOf(db, "k"); !reflect.DeepEqual(after, before) {
					t.Errorf("the record was%s, and is%s", show(before), show(after))
				}

				if n := len(db.Requests()); n != 2 {
					t.Errorf("%d requests, want 2", n)
				}

				events.want(t, idemddb.KindClaimed, kinds[verb])

				if c.Settled() != kinds[verb] {
					t.Errorf("settled as %q, want %q", c.Settled(), kinds[verb])
				}
			})
		})
	}
}

// The work is done, and its record is perhaps written: the key must not be given to another worker.
func TestAReleaseAfterACompletionWithAnUnknownOutcomeDoesNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, nil)
		c := claim(t, s, "k")
		db.Intercept(always(idemddbtest.LostRequest))
		is(t, c.Complete(t.Context(), nil), idemddb.ErrUnrecorded)
		db.Intercept(nil)
		db.ResetRequests()
		must(t, c.Release(t.Context(), nil))

		if n := len(db.Requests()); n != 0 {
			t.Errorf("%d requests, want none", n)
		}
	})
}

// A completion was not answered, the bank knows of no payment, and an operator releases the key so that the work runs. The
// completion that arrives then must not say that the work is done: the next delivery would be answered, and nobody would pay.
func TestALateSettlementDoesNotEndAKeyThatWasReleased(t *testing.T) {
	t.Parallel()

	for name, settle := range map[string]func(context.Context, *idemddb.Claim) error{
		"complete with a result": settlements["complete"],
		"complete without one":   func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, nil) },
		"fail":                   settlements["fail"],
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s, db := newStore(t, nil)
				c := claim(t, s, "k")

				db.Intercept(always(idemddbtest.LateRequest))

				if err := settle(t.Context(), c); err == nil || errors.Is(err, idemddb.ErrFenced) {
					t.Fatalf("got %v, want an error that says nothing of the record", err)
				}

				db.Intercept(nil)

				records, err := operate.New(s, db)
				must(t, err)

				seen, err := records.Look(t.Context(), "k")
				must(t, err, records.Release(t.Context(), seen, "anna", "the bank knows of no payment"))

				if len(db.Deliver()) == 0 {
					t.Error("nothing was late")
				}

				if next := claim(t, s, "k"); next.Fence() != c.Fence()+1 || next.Attempt() != 2 {
					t.Errorf("fencing token %d after %d, attempt %d: want the next of both", next.Fence(), c.Fence(), next.Attempt())
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
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, nil)
		c := claim(t, s, "k")

		records, err := operate.New(s, db)
		must(t, err)

		seen, err := records.Look(t.Context(), "k")
		must(t, err, records.Release(t.Context(), seen, "anna", "its function is gone"))
		is(t, c.Extend(t.Context()), idemddb.ErrFenced)

		must(t, c.Release(t.Context(), errors.New("bank closed")))

		if next := claim(t, s, "k"); next.Attempt() != 2 {
			t.Errorf("attempt %d, want 2", next.Attempt())
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
