package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// unsent is a relay with these senders, and a table with two announcements that are not sent.
type unsent struct {
	*testing.T

	db            *idemddbtest.DB
	relay         *relay
	events        []idemddb.Kind
	log, measured bytes.Buffer
}

func newUnsent(t *testing.T, senders map[string]idemddb.Sender) *unsent {
	t.Helper()

	u := &unsent{T: t, db: audited.Tables(t, nil, idemddbtest.CreateTable("records", "unsent"))}
	audited.DB(t, u.db, nil, audit.Options{})

	dying := u.store(&idemddb.Options{Senders: map[string]idemddb.Sender{ledger.Captured: nil}})

	for _, key := range []string{"p-1", "p-2"} {
		if _, err := dying.Commit(t.Context(), key, nil, nil, idemddb.Effects{
			Messages: []idemddb.Message{{To: ledger.Captured, Body: "announcement of " + key}},
		}); err != nil {
			t.Fatal(err)
		}
	}

	logger := slog.New(slog.NewJSONHandler(&u.log, nil))
	store := u.store(&idemddb.Options{Senders: senders, UnsentIndex: "unsent", Observe: func(ctx context.Context, e idemddb.Event) {
		u.events = append(u.events, e.Kind)
		logParked(logger)(ctx, e)
	}})
	u.relay = &relay{
		sweep:   func(ctx context.Context) (outbox.Report, error) { return outbox.Sweep(ctx, store, u.db) },
		logger:  logger,
		metrics: metrics{out: &u.measured, namespace: "Payments", function: "relay"},
	}

	return u
}

func (u *unsent) store(o *idemddb.Options) *idemddb.Store {
	u.Helper()

	store, err := idemddb.New(u.db, "records", "payments", o)
	if err != nil {
		u.Fatal(err)
	}

	return store
}

// sweep lets two minutes pass, in which targets that hang are forgotten, and sweeps. It returns the line of the log, what is left
// by the metric, and the events.
func (u *unsent) sweep() (line map[string]any, left any, events []idemddb.Kind) {
	u.Helper()

	<-time.After(2 * time.Minute)
	u.log.Reset()
	u.measured.Reset()

	u.events = nil
	if err := u.relay.handle(u.Context()); err != nil {
		u.Error(err)
	}

	return object(u.T, &u.log), object(u.T, &u.measured)["Left"], u.events
}

// stored is how many messages are in the records.
func (u *unsent) stored() (n int) {
	for _, record := range u.db.Items("records") {
		if left, ok := record["outbox"].(*types.AttributeValueMemberL); ok {
			n += len(left.Value)
		}
	}

	return n
}

// Each sweep says that messages are left, and why. They are never dropped.
func TestEachSweepSaysWhatItCannotSend(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		senders map[string]idemddb.Sender
		want    string
	}{
		"the queue is down": {
			map[string]idemddb.Sender{ledger.Captured: stand.Sender(func(context.Context, string) error { return errors.New("the queue is down") })},
			"the queue is down",
		},
		"no entry names the target":   {map[string]idemddb.Sender{ledger.Accepted: stand.Sender(stand.Takes)}, "this process has no sender for the target"},
		"the entry has no Sender":     {map[string]idemddb.Sender{ledger.Captured: nil}, "this process has no sender for the target"},
		"there are no Senders at all": {nil, "this process has no sender for the target"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				u := newUnsent(t, c.senders)

				for range 3 {
					line, left, events := u.sweep()

					cause, _ := line["error"].(string)
					if line["level"] != "ERROR" || line["left"] != 2.0 || !strings.Contains(cause, `to "payment.captured": `+c.want) || strings.Contains(cause, "announcement of") {
						t.Errorf("the line is %v", line)
					}

					if len(events) != 2 || events[0] != idemddb.KindUnsent || left != 2.0 || u.stored() != 2 {
						t.Errorf("events %v, Left %v, %d in the records, want 2 each", events, left, u.stored())
					}
				}

				u.relay.sweep = func(ctx context.Context) (outbox.Report, error) {
					mended := u.store(&idemddb.Options{UnsentIndex: "unsent", Senders: map[string]idemddb.Sender{ledger.Captured: stand.Sender(stand.Takes)}})

					return outbox.Sweep(ctx, mended, u.db)
				}
				if line, left, _ := u.sweep(); line["sent"] != 2.0 || left != 0.0 || u.stored() != 0 {
					t.Errorf("after it is mended the line is %v", line)
				}
			})
		})
	}
}

// No later sweep looks at it.
func TestAMessageThatIsParkedHasALineWithItsCause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		u := newUnsent(t, map[string]idemddb.Sender{ledger.Captured: stand.Sender(func(context.Context, string) error {
			return fmt.Errorf("%w: there is no such queue", outbox.ErrPermanent)
		})})

		<-time.After(2 * time.Minute)

		if err := u.relay.handle(t.Context()); err != nil {
			t.Error(err)
		}

		for _, want := range []string{"-0 to \\\"payment.captured\\\": ", "there is no such queue", `"parked":2`} {
			if !strings.Contains(u.log.String(), want) {
				t.Errorf("the log lacks %s:\n%s", want, u.log.String())
			}
		}

		if got := strings.Count(u.log.String(), `"level":"ERROR"`); got != 2 || strings.Contains(u.log.String(), "announcement of") {
			t.Errorf("%d lines of ERROR, want one for each message:\n%s", got, u.log.String())
		}
	})
}
