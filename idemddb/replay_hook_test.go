package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
)

// The hook sees each replay, no first run and no call that is refused. What it makes of the result is the answer of this call
// alone.
func TestOnReplayMayReplaceTheResult(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]*idemddb.Options{"from the table": nil, "from memory": {Cache: 10}} {
		s, _ := newStore(t, opts)
		calls := 0
		with := &idemddb.ClaimOptions{OnReplay: func(_ context.Context, rec *idemddb.Record) error {
			calls++
			rec.Result = fmt.Appendf(nil, `"%d of %s"`, calls, rec.Key)

			return nil
		}}

		claim(t, s, "held")

		_, err := idemddb.Do(t.Context(), s, "held", with, func(context.Context) (string, error) { return "", nil })
		is(t, err, idemddb.ErrInProgress)

		for i, want := range []string{"first", "1 of k", "2 of k"} {
			got, err := idemddb.Do(t.Context(), s, "k", with, func(context.Context) (string, error) { return "first", nil })
			if got != want || err != nil {
				t.Errorf("%s, call %d: %q, %v, want %q", name, i, got, err, want)
			}
		}

		if rec := replay(t, s, "k"); string(rec.Result) != `"first"` {
			t.Errorf("%s: Claim answers %s", name, rec.Result)
		}
	}
}

// A run whose key was taken over and completed by another worker is answered with that worker's record: a replay, too.
func TestOnReplaySeesTheRecordOfTheWorkerThatTookTheKeyOver(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		for key, stale := range map[string]error{"fresh": nil, "stale": errors.New("the receipt is stale")} {
			seen := ""
			with := &idemddb.ClaimOptions{OnReplay: func(_ context.Context, rec *idemddb.Record) error {
				seen = string(rec.Result)

				return stale
			}}

			got, err := idemddb.Do(f.Context(), f.store, key, with, func(context.Context) (string, error) {
				other := claim(f, ahead(f, f.db), key)
				must(f, other.Complete(context.Background(), []byte(`"theirs"`)))

				return "mine", nil
			})
			if !errors.Is(err, stale) || err == nil && got != "theirs" || seen != `"theirs"` {
				f.Errorf("%s: got %q, %v; the hook saw %s", key, got, err, seen)
			}
		}
	})
}

// Work that panics or ends its goroutine has an ending as well. A panic of the hook changes nothing of what is written.
func TestOnEndingIsCalledOnceAlsoForWorkThatPanics(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		var kinds []idemddb.Kind

		with := &idemddb.ClaimOptions{OnEnding: func(_ context.Context, e idemddb.Ending) {
			if kinds = append(kinds, e.Kind); e.Kind == idemddb.KindCompleted {
				panic("a hook")
			}
		}}

		for _, work := range []func() string{
			func() string { panic("boom") },
			func() string { runtime.Goexit(); return "" },
			func() string { return "done" },
			func() string { return "again" },
		} {
			onItsOwn(func() {
				_, _ = idemddb.Do(f.Context(), f.store, "k", with, func(context.Context) (string, error) { return work(), nil })
			})
		}

		want := []idemddb.Kind{idemddb.KindReleased, idemddb.KindReleased, idemddb.KindCompleted, idemddb.KindReplayed}
		if !slices.Equal(kinds, want) {
			f.Errorf("the endings were %v, want %v", kinds, want)
		}
	})
}

func TestAMismatchHasTheRecordOfTheOtherInputWithoutItsResult(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]*idemddb.Options{"from the table": nil, "from memory": {Cache: 10}} {
		s, _ := newStore(t, opts)
		c := granted(t)(s.Claim(t.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "a"}))

		ask := func() *idemddb.MismatchError {
			_, _, err := s.Claim(t.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "b"})
			mismatch, ok := errors.AsType[*idemddb.MismatchError](err)
			if !ok || !errors.Is(err, idemddb.ErrMismatch) || mismatch.Key != "k" {
				t.Fatalf("%s: %v", name, err)
			}

			return mismatch
		}

		if e := ask(); e.Record != nil {
			t.Errorf("%s, in progress: %+v", name, e.Record)
		}

		must(t, c.Complete(t.Context(), []byte("secret")))

		if e := ask(); e.Record == nil || e.Record.Result != nil || e.Record.Fence != c.Fence() || e.Record.CompletedAt.IsZero() {
			t.Errorf("%s, completed: %+v", name, e.Record)
		}

		_, rec, err := s.Claim(t.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "a"})
		if err != nil || string(rec.Result) != "secret" {
			t.Errorf("%s: the record of its own input: %v, %v", name, rec, err)
		}
	}
}

func TestAResultThatTheHookMakesIsTheResultThatTheCallerNeeds(t *testing.T) {
	t.Parallel()

	bubble(t, &idemddb.Options{Results: &shelf{OnPut: func(context.Context) error { return errClosed }}}, func(f *fixture) {
		is(f, claim(f, f.store, "key").Complete(f.Context(), large("a")), idemddb.ErrTooLarge)

		with := &idemddb.ClaimOptions{NeedResult: true, OnReplay: func(_ context.Context, rec *idemddb.Record) error {
			rec.Result = []byte(`"made"`)

			return nil
		}}

		rec, err := idemddb.Run(f.Context(), f.store, "key", with, func(context.Context, *idemddb.Claim) ([]byte, error) { return nil, nil })
		if err != nil || string(rec.Result) != `"made"` {
			f.Errorf("Run returns %v, %v", rec, err)
		}

		if got, err := idemddb.Do(f.Context(), f.store, "key", with, func(context.Context) (string, error) { return "", nil }); err != nil || got != "made" {
			f.Errorf("Do returns %q, %v", got, err)
		}
	})
}
