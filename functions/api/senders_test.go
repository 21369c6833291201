package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// front is the API with this sender, put together as wire does it, but without a network.
type front struct {
	*testing.T
	http.Handler

	log, measured stand.Output
}

func newFront(t *testing.T, target string, s stand.Sender) *front {
	t.Helper()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""), idemddbtest.CreateTable("accounts", ""))
	audited.DB(t, db, nil, audit.Options{})

	f := &front{T: t}
	metrics := lambdawrap.NewMetrics(&f.measured, "Payments")

	store, err := idemddb.New(db, "records", "api", &idemddb.Options{
		Observe: metrics.Observe, Senders: map[string]idemddb.Sender{target: s},
	})
	if err != nil {
		t.Fatal(err)
	}

	a := &api{table: "accounts"}
	f.Handler = metrics.MeasureHTTP(lambdawrap.HTTP(store, http.HandlerFunc(a.accept), &lambdawrap.HTTPOptions{
		Caller: func(*http.Request) (string, error) { return "somebody", nil }, Required: true, Optimistic: true,
		Logger: slog.New(slog.NewJSONHandler(&f.log, nil)),
	}))

	return f
}

// post sends a payment and returns the status of the answer.
func (f *front) post(key string) int {
	r := httptest.NewRequestWithContext(f.Context(), http.MethodPost, "/payments", strings.NewReader(`{"account":"`+key+`","amount":1250}`))
	r.Header.Set("Idempotency-Key", key)

	recorder := httptest.NewRecorder()
	f.ServeHTTP(recorder, r)

	return recorder.Code
}

func TestAFailingQueueHasALineAndAMetricForEachPayment(t *testing.T) {
	t.Parallel()

	down := errors.New("the queue is down")
	f := newFront(t, ledger.Accepted, func(context.Context, string) error { return down })

	for i := range 3 {
		if status := f.post(fmt.Sprint("k-", i)); status != http.StatusAccepted {
			t.Errorf("status %d: the payment is accepted, and the relay passes it on", status)
		}
	}

	lines := f.log.Lines()
	if len(lines) != 3 || f.measured.Sum(t, "Unsent") != 3 {
		t.Errorf("%d lines, Unsent %v, want 3:\n%s", len(lines), f.measured.Sum(t, "Unsent"), &f.log)
	}

	for i, line := range lines {
		key := record.KeyHash(fmt.Sprintf(`#["somebody","k-%d"]`, i))
		for _, want := range []string{`"level":"WARN"`, `"outcome":"unsent"`, down.Error(), key, `to \"payments\"`} {
			if !strings.Contains(line, want) {
				t.Errorf("the line lacks %s: %s", want, line)
			}
		}

		if strings.Contains(line, "amount") {
			t.Errorf("the line has the body: %s", line)
		}
	}
}

// A process that serves several requests at a time leaves the message of the slow one to the relay, and no other.
func TestAQueueThatIsSlowOnceGetsTheOtherPayments(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFront(t, ledger.Accepted, func(ctx context.Context, body string) error {
			if strings.Contains(body, "slow") {
				<-ctx.Done()

				return ctx.Err()
			}

			<-time.After(5 * time.Millisecond)

			return nil
		})

		var all sync.WaitGroup

		all.Go(func() { f.post("slow") })
		synctest.Wait() // its message leaves alone

		for client := range 4 {
			all.Go(func() {
				for i := range 100 {
					f.post(fmt.Sprint("k-", client, "-", i))
					<-time.After(50 * time.Millisecond)
				}
			})
		}

		all.Wait()

		if got := f.measured.Sum(t, "Unsent"); got != 1 {
			t.Errorf("%v of 401 messages are left, want the one that was slow", got)
		}
	})
}

// It would be accepted and never be passed on.
func TestATargetThatHasNoEntryIsAnErrorOfTheRequest(t *testing.T) {
	t.Parallel()

	f := newFront(t, "payment", stand.Takes)

	if status := f.post("k"); status != http.StatusInternalServerError {
		t.Errorf("status %d", status)
	}

	if lines := f.log.Lines(`"level":"ERROR"`, `Message.To: \"payments\" is no entry of Options.Senders`); len(lines) != 1 {
		t.Errorf("%d lines:\n%s", len(lines), &f.log)
	}

	if got := f.measured.Sum(t, "NotDone"); got != 1 {
		t.Errorf("Failures is %v", got)
	}
}
