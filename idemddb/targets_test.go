package idemddb_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// staged returns the error of each call that takes effects.
func staged(t testing.TB, s *idemddb.Store, e idemddb.Effects) map[string]error {
	t.Helper()

	work := beginWork(t, s, "stage", nil)
	_, errCommit := s.Commit(t.Context(), "commit", nil, nil, e)

	return map[string]error{
		"Stage":        idemddb.Stage(work.Context(t.Context()), e),
		"CompleteWith": claim(t, s, "complete").CompleteWith(t.Context(), nil, e),
		"Commit":       errCommit,
	}
}

// A message whose target nobody knows would stay in its record for ever, and no error would say so.
func TestAMessageToATargetThatIsNotNamedIsRefused(t *testing.T) {
	t.Parallel()

	named := map[string]idemddb.Sender{"receipts": nil, "bank": sendFunc(accepted)}
	e := idemddb.Effects{Messages: []idemddb.Message{{To: "bank", Body: "b"}, {To: "recipts", Body: "secret"}}}

	for name, c := range map[string]struct {
		senders map[string]idemddb.Sender
		want    []string
	}{
		"a typing error": {named, []string{"message 1", `"recipts"`, `["bank" "receipts"]`, "correct the name, or add the entry"}},
		"no Senders":     {map[string]idemddb.Sender{}, []string{"message 0", `"bank"`, "the Store has no Options.Senders", "nil Sender"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, db := newStore(t, &idemddb.Options{Senders: c.senders})

			for call, err := range staged(t, s, e) {
				is(t, err, idemddb.ErrBadEffects)

				for _, want := range c.want {
					if !strings.Contains(err.Error(), want) {
						t.Errorf("%s: got %v, want a text with %q", call, err, want)
					}
				}

				if strings.Contains(err.Error(), "secret") {
					t.Errorf("%s: the body is in the error: %v", call, err)
				}
			}

			if slices.ContainsFunc(db.Requests(), func(r idemddbtest.Request) bool { return r.Operation == "TransactWriteItems" }) {
				t.Error("something was written")
			}
		})
	}
}

func accepted(ms []idemddb.Message) []error { return make([]error, len(ms)) }

// Without a record, no other process would find the message.
func TestADisabledStoreRefusesMessagesThatItCannotSend(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "true")

	s, _ := newStore(t, &idemddb.Options{Senders: map[string]idemddb.Sender{"bank": nil, "receipts": sendFunc(accepted)}})

	for call, err := range staged(t, s, oneMessage) {
		is(t, err, idemddb.ErrBadEffects)

		if !strings.Contains(err.Error(), `message 0: Message.To: "bank"`) || !strings.Contains(err.Error(), "IDEMDDB_DISABLED") {
			t.Errorf("%s: got %v", call, err)
		}
	}

	for call, err := range staged(t, s, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: "b"}}}) {
		if err != nil {
			t.Errorf("%s: %v", call, err)
		}
	}
}

// A program may go on with the map that it gave to New.
func TestNewCopiesSenders(t *testing.T) {
	t.Parallel()

	senders := map[string]idemddb.Sender{"bank": nil}
	s, _ := newStore(t, &idemddb.Options{Senders: senders})
	delete(senders, "bank")

	must(t, claim(t, s, "k").CompleteWith(t.Context(), nil, oneMessage))
}

// Each message that is left is an event, whose error names the message, its target and the cause, and has nothing of its body.
func TestEachMessageThatIsLeftIsAnEvent(t *testing.T) {
	t.Parallel()

	down := errors.New("the bank is down")
	answers := []error{down, nil, down, idemddb.ErrUnsendable}

	s, db, events := observed(t, &idemddb.Options{
		Senders: map[string]idemddb.Sender{"bank": sendFunc(func([]idemddb.Message) []error { return answers })},
	})

	var told []idemddb.Event

	ctx := idemddb.OnUnsent(t.Context(), func(e idemddb.Event) { told = append(told, e) })

	_, err := s.Commit(ctx, "k", nil, nil, idemddb.Effects{Messages: []idemddb.Message{
		{To: "bank", Body: "secret"}, {To: "bank", Body: "secret"}, {To: "bank", Body: "secret"}, {To: "bank", Body: "secret"},
	}})
	must(t, err)

	events.want(t, idemddb.KindCompleted, idemddb.KindParked, idemddb.KindUnsent, idemddb.KindUnsent)

	tx := textOf(recordOf(db, "k"), "tx")

	for i, want := range []string{"-3", "-0", "-2"} {
		e := told[i]
		if e.Key != "k" || !strings.Contains(e.Err.Error(), "message "+tx+want+` to "bank": `) || strings.Contains(e.Err.Error(), "secret") {
			t.Errorf("event %s of key %q: %v, want message %s", e.Kind, e.Key, e.Err, want)
		}
	}

	is(t, told[1].Err, down)
}

// The error of the call says it.
func TestWithoutASweepNobodyElseIsToldOfAnUnsentMessage(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, _, events := observed(t, &idemddb.Options{RedeliverUnsent: true, Senders: map[string]idemddb.Sender{"bank": nil}})
		ctx := idemddb.OnUnsent(t.Context(), func(e idemddb.Event) { t.Errorf("told of %+v", e) })

		_, err := s.Commit(ctx, "k", nil, nil, oneMessage)
		is(t, err, idemddb.ErrUnsent)

		_, _, err = s.Claim(ctx, "k", nil)
		is(t, err, idemddb.ErrUnsent)
		events.want(t, idemddb.KindCompleted, idemddb.KindUnsent, idemddb.KindUnsent, idemddb.KindReplayed)

		<-time.After(10 * time.Second) // from now on a duplicate tries to send it

		_, _, err = s.Claim(ctx, "k", nil)
		is(t, err, idemddb.ErrUnsent)
	})
}

// No redelivery sends a parked message, so the caller is told of it.
func TestWithoutASweepTheCallerIsToldOfAParkedMessage(t *testing.T) {
	t.Parallel()

	var told []idemddb.Kind

	s, _ := newStore(t, sendingBy(func([]idemddb.Message) []error { return []error{idemddb.ErrUnsendable} }))
	ctx := idemddb.OnUnsent(t.Context(), func(e idemddb.Event) { told = append(told, e.Kind) })

	_, err := s.Commit(ctx, "k", nil, nil, oneMessage)
	must(t, err)

	if !slices.Equal(told, []idemddb.Kind{idemddb.KindParked}) {
		t.Errorf("told of %q, want the parked message", told)
	}
}

type pointerSender struct{}

func (*pointerSender) Send(context.Context, string, []idemddb.Message) []error { return nil }
