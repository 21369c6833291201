package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// sendFunc is a Sender that calls a function.
type sendFunc func(ms []idemddb.Message) []error

func (f sendFunc) Send(_ context.Context, _ string, ms []idemddb.Message) []error { return f(ms) }

// sendingBy are the options of a Store whose answers wait for the Sender.
func sendingBy(send sendFunc) *idemddb.Options {
	return &idemddb.Options{Senders: map[string]idemddb.Sender{"bank": send}, RedeliverUnsent: true}
}

var oneMessage = idemddb.Effects{Messages: []idemddb.Message{{To: "bank", Body: "b"}}}

func TestAPanicOfASenderHasItsStack(t *testing.T) {
	t.Parallel()

	s, _, events := observed(t, sendingBy(func([]idemddb.Message) []error { explode(); return nil }))
	err := claim(t, s, "k").CompleteWith(t.Context(), nil, oneMessage)

	is(t, err, idemddb.ErrUnsent)
	isExplosion(t, "error", err)
	isExplosion(t, "event", events.only(t, idemddb.KindUnsent).Err)
}

// After a panic of Put, or an error that cannot be read, the key is completed without its result, as after any other error, and
// one of Get fails the replay.
func TestAPanicOfResultsHasItsStack(t *testing.T) {
	t.Parallel()

	for who, failure := range map[string]func() error{
		"idemddb_test.explode": func() error { explode(); return nil },
		"(*nilError).Error":    func() error { return (*nilError)(nil) },
	} {
		kept := &shelf{OnPut: func(context.Context) error { return failure() }}
		s, db, events := observed(t, &idemddb.Options{Results: kept})

		err := claim(t, s, "put").Complete(t.Context(), large("a"))
		is(t, err, idemddb.ErrTooLarge)
		hasStack(t, "error of Put", err, who)
		hasStack(t, "event of Put", events.only(t, idemddb.KindCompleted).Err, who)

		if it := recordOf(db, "put"); textOf(it, "st") != "COMPLETED" || !strings.Contains(err.Error(), "Options.Results: it panicked: ") {
			t.Errorf("got %v, and the record is%s", err, show(it))
		}

		kept.OnPut, kept.OnGet = nil, failure

		must(t, claim(t, s, "get").Complete(t.Context(), large("a")))

		_, rec, err := s.Claim(t.Context(), "get", nil)
		hasStack(t, "error of Get", err, who)
		hasStack(t, "event of Get", events.only(t, idemddb.KindReplayed).Err, who)

		if rec != nil || !strings.Contains(err.Error(), "Options.Results: it panicked: ") {
			t.Errorf("got %+v, %v, want an error", rec, err)
		}
	}
}

// explosive is a value that cannot be encoded or decoded.
type explosive struct{}

func (explosive) MarshalJSON() ([]byte, error) { explode(); return nil, nil }

func (*explosive) UnmarshalJSON([]byte) error { explode(); return nil }

func TestAPanicOfMarshalJSONHasItsStack(t *testing.T) {
	t.Parallel()

	s, _, events := observed(t, nil)
	_, err := idemddb.Do(t.Context(), s, "k", nil, func(context.Context) (explosive, error) { return explosive{}, nil })

	must(t, err)
	isExplosion(t, "event", events.only(t, idemddb.KindCompleted).Err)
}

// Nothing is lost of a panic that goes on to the caller.
func TestAPanicOfUnmarshalJSONGoesOnToTheCaller(t *testing.T) {
	t.Parallel()

	s, _ := newStore(t, nil)
	must(t, claim(t, s, "k").Complete(t.Context(), []byte(`{}`)))

	v := recovered(func() {
		_, _ = idemddb.Do(t.Context(), s, "k", nil, func(context.Context) (explosive, error) { return explosive{}, nil })
	})
	if v != errBoom {
		t.Errorf("recovered %v, want the panic itself", v)
	}
}

// The work did not succeed, and an error that cannot be read says no more than a panic.
func TestAPanicOfEffectsRefusedHasItsStackAndReleasesTheKey(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		refused func(*idemddb.EffectError) error
		who     string // panicked
	}{
		"a panic":                      {func(*idemddb.EffectError) error { explode(); return nil }, "idemddb_test.explode"},
		"an error that cannot be read": {func(*idemddb.EffectError) error { return (*nilError)(nil) }, "(*nilError).Error"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothWays(t, nil, func(f *fixture, opts *idemddb.ClaimOptions) {
				must(f, claim(f, f.store, "other").CompleteWith(f.Context(), nil, items(onlyOnce("a"))))

				effects := items(onlyOnce("a"))
				effects.Refused = c.refused

				_, err := f.do(opts, staging("", effects))
				is(f, err, idemddb.ErrEffectRefused)

				hasStack(f, "error", err, c.who)

				if !strings.Contains(err.Error(), "Effects.Refused panicked: ") {
					f.Errorf("%v is without the panic", err)
				}

				if it := recordOf(f.db, "k"); textOf(it, "st") != "INPROGRESS" || numberOf(f, it, "lease") != 0 || numberOf(f, it, "att") != 1 {
					f.Errorf("the record is%s", show(it))
				}

				claim(f, f.store, "k")
			})
		})
	}
}

func TestAPanicOfTraceIsAnEventWithItsStack(t *testing.T) {
	t.Parallel()

	failed := errors.New("no such account")

	for name, c := range map[string]struct {
		run  func(context.Context, *idemddb.Store) error
		want idemddb.Kind
	}{
		"claim": {func(ctx context.Context, s *idemddb.Store) error {
			_, _, err := s.Claim(ctx, "k", nil)

			return err
		}, idemddb.KindClaimed},
		"commit": {func(ctx context.Context, s *idemddb.Store) error {
			_, err := s.Commit(ctx, "k", nil, nil, items(counted("e")))

			return err
		}, idemddb.KindCompleted},
		"reject": {func(ctx context.Context, s *idemddb.Store) error {
			_, err := s.Reject(ctx, "k", nil, failed)

			return err
		}, idemddb.KindReleased},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, _, events := observed(t, &idemddb.Options{Trace: func(context.Context) string { explode(); return "" }})
			must(t, c.run(t.Context(), s))
			events.want(t, idemddb.KindPanicked, c.want)

			e := events.only(t, idemddb.KindPanicked)
			if isExplosion(t, "event", e.Err); e.Key != "k" {
				t.Errorf("the event is about key %q", e.Key)
			}
		})
	}
}

// nilError is an error that cannot be read through a nil pointer.
type nilError struct{ inner error }

func (e *nilError) Error() string { return e.inner.Error() }

func (e *nilError) Unwrap() error { return e.inner }

// A panic is no answer, whatever its value says: the message is sent again, and the result is read again.
func TestAPanicIsNoAnswer(t *testing.T) {
	t.Parallel()

	for name, value := range map[string]error{
		"for good":    fmt.Errorf("%w, %w", idemddb.ErrUnsendable, idemddb.ErrResultOmitted),
		"a typed nil": (*nilError)(nil),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			opts := sendingBy(func([]idemddb.Message) []error { panic(value) })
			opts.Results = &shelf{OnGet: func() error { panic(value) }}
			s, db, events := observed(t, opts)

			is(t, claim(t, s, "sent").CompleteWith(t.Context(), nil, oneMessage), idemddb.ErrUnsent)

			if it := recordOf(db, "sent"); it["outbox"] == nil || it["parked"] != nil {
				t.Errorf("the message does not wait for the next try: %s", show(it))
			}

			must(t, claim(t, s, "kept").Complete(t.Context(), large("a")))

			if _, rec, err := s.Claim(t.Context(), "kept", nil); rec != nil || err == nil {
				t.Errorf("got %+v, %v, want an error", rec, err)
			}

			events.want(t, idemddb.KindClaimed, idemddb.KindCompleted, idemddb.KindUnsent, idemddb.KindClaimed, idemddb.KindCompleted, idemddb.KindReplayed)
		})
	}
}

// The other messages of the record are sent.
func TestAnErrorOfASenderThatCannotBeReadLeavesItsMessage(t *testing.T) {
	t.Parallel()

	answers := []error{(*nilError)(nil), nil}
	s, db, events := observed(t, sendingBy(func([]idemddb.Message) []error { return answers }))

	err := claim(t, s, "k").CompleteWith(t.Context(), nil, idemddb.Effects{Messages: []idemddb.Message{
		{To: "bank", Body: "left"}, {To: "bank", Body: "sent"},
	}})
	is(t, err, idemddb.ErrUnsent)

	if !strings.Contains(err.Error(), "an error of the sender panicked: ") {
		t.Errorf("got %v", err)
	}

	left, _ := recordOf(db, "k")["outbox"].(*types.AttributeValueMemberL)
	if left == nil || len(left.Value) != 1 {
		t.Errorf("the record is%s", show(recordOf(db, "k")))
	}

	events.want(t, idemddb.KindClaimed, idemddb.KindCompleted, idemddb.KindUnsent)
}

func TestAKeyIsReleasedWhoseWorkReturnsAnErrorThatCannotBeRead(t *testing.T) {
	t.Parallel()

	bubble(t, nil, func(f *fixture) {
		endings := 0
		opts := &idemddb.ClaimOptions{OnEnding: func(context.Context, idemddb.Ending) { endings++ }}

		if v := recovered(func() {
			_, _ = idemddb.Do(f.Context(), f.store, "key", opts, func(context.Context) (int, error) { return 0, (*nilError)(nil) })
		}); v == nil || endings != 1 {
			f.Errorf("recovered %v, %d endings", v, endings)
		}

		if lease := numberOf(f, recordOf(f.db, "key"), "lease"); lease != 0 {
			f.Errorf("not released: the lease is %d", lease)
		}
	})
}
