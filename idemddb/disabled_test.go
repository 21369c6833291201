package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestADisabledStoreSendsNothingAndLetsAllWorkRun(t *testing.T) {
	for _, value := range []string{"1", "true"} {
		t.Setenv("IDEMDDB_DISABLED", value)

		var (
			kinds []idemddb.Kind
			sent  []string
			kept  = &shelf{}
		)

		s, db := newStore(t, &idemddb.Options{
			Cache: 10, Observe: func(_ context.Context, e idemddb.Event) { kinds = append(kinds, e.Kind) }, Results: kept,
			Codec: &vault{onSeal: func(context.Context, idemddb.Sealed) error { return errDenied }}, // nothing is stored, so nothing is sealed
			Senders: map[string]idemddb.Sender{"bank": sendFunc(func(ms []idemddb.Message) []error {
				sent = append(sent, ms[0].Body)

				return accepted(ms)
			})},
		})
		t.Setenv("IDEMDDB_DISABLED", "") // New alone reads the variable

		runs := 0
		for range 2 {
			got, err := idemddb.Do(t.Context(), s, "k", nil, func(ctx context.Context) (string, error) {
				runs++

				if c, ok := idemddb.FromContext(ctx); !ok || c.Attempt() != 1 {
					t.Error("no claim in the context")
				}

				return fmt.Sprintf("%s %d", large("a"), runs), nil
			})
			if err != nil || !strings.HasSuffix(got, fmt.Sprint(" ", runs)) {
				t.Errorf("got %.5q…, %v, want the value of run %d", got, err, runs)
			}
		}

		for _, key := range []string{"", "a\xff"} { // keys are not even checked
			c := claim(t, s, key)
			if err := errors.Join(
				c.Extend(t.Context()), c.CompleteWith(t.Context(), large("a"), oneMessage), c.Release(t.Context(), nil), c.ReleaseUnused(t.Context()),
				c.Fail(t.Context(), nil), s.Reopen(t.Context(), key),
			); err != nil {
				t.Error(err)
			}
		}

		if len(kept.Names()) != 0 || !slices.Equal(sent, []string{"b", "b"}) {
			t.Errorf("%d results are kept, and %q was sent", len(kept.Names()), sent)
		}

		if runs != 2 || len(db.Requests()) != 0 || len(kinds) != 1 || kinds[0] != idemddb.KindDisabled {
			t.Errorf("%q: %d runs, %d requests, events %v", value, runs, len(db.Requests()), kinds)
		}
	}
}

// Its claim does not end: nobody takes it over. No key is in use, and none is read.
func TestADisabledStoreCommitsWithinWorkWhoseLeaseIsOver(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")

	var events eventLog

	now := time.Now()
	s, db := newStore(t, &idemddb.Options{Observe: events.observe, Now: func() time.Time { return now }, Trace: func(context.Context) string {
		t.Error("asked for the trace")

		return ""
	}})

	_, err := s.Commit(t.Context(), "first", nil, nil, idemddb.Effects{})
	must(t, err)
	events.want(t, idemddb.KindDisabled)

	c := claim(t, s, "")

	work, stop := c.Keep(t.Context())
	defer stop()

	_, err = s.Commit(work, "", nil, nil, items(counted("a")))
	must(t, err)
	happened(t, db, "a", 1)

	if now = now.Add(time.Hour); !c.Held() {
		t.Error("the claim is not held any more")
	}
}

// The effects of a claim are written once, as with a record, and what the code settles by itself is settled.
func TestADisabledStoreWritesWhatAClaimHasStagedOnce(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")

	s, db := newStore(t, nil)
	c := claim(t, s, "k")
	must(t, c.CompleteWith(t.Context(), nil, items(counted("a"))), c.Complete(t.Context(), nil))
	happened(t, db, "a", 1)

	work := func(code func(context.Context, *idemddb.Claim) error) error {
		_, err := idemddb.Do(t.Context(), s, "k", nil, func(ctx context.Context) (int, error) {
			own, _ := idemddb.FromContext(ctx)

			return 1, code(ctx, own)
		})

		return err
	}

	begun := beginWork(t, s, "k", nil)
	must(t, begun.Claim().CompleteWith(t.Context(), nil, items(counted("b"))))

	if e := begun.Settle(t.Context(), nil, errClosed); e.Kind != idemddb.KindCompleted || !e.BySelf {
		t.Errorf("got %+v, want a claim that the code has completed", e)
	}

	happened(t, db, "b", 1)

	must(t, work(func(ctx context.Context, own *idemddb.Claim) error {
		must(t, idemddb.Stage(ctx, items(counted("c"))), own.Fail(ctx, errClosed))
		is(t, idemddb.Stage(ctx, items(counted("c"))), idemddb.ErrFenced)

		return nil
	}))
	happened(t, db, "c", 0)

	must(t, work(func(ctx context.Context, own *idemddb.Claim) error {
		is(t, own.CompleteWith(ctx, nil, items(onlyOnce("a"), counted("c"))), idemddb.ErrEffectRefused)

		return idemddb.Stage(ctx, items(counted("d")))
	}))
	happened(t, db, "c", 0)
	happened(t, db, "d", 1)

	must(t, work(func(ctx context.Context, _ *idemddb.Claim) error {
		return idemddb.Stage(ctx, plusAll(plus("sum", "3"), plus("sum", "4")))
	}))
	happened(t, db, "sum", 7)
}

func TestADisabledStoreSaysNothingOfSharedRequests(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "1")

	var events eventLog

	_, err := idemddb.New(newDB(t), "arn:aws:dynamodb:eu-central-1:123456789012:table/records", "test", &idemddb.Options{Observe: events.observe})
	must(t, err)
	events.want(t)
}

func TestAnotherValueOfTheSwitchIsAnError(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "yes")

	if _, err := idemddb.New(idemddbtest.New(nil), "t", "n", nil); err == nil || !strings.Contains(err.Error(), "IDEMDDB_DISABLED") {
		t.Errorf("got %v, want the variable named", err)
	}
}
