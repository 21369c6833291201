package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

func TestHandleLogsALineAndWritesTheMetrics(t *testing.T) {
	t.Parallel()

	down := errors.New("the queue is down")

	for name, test := range map[string]struct {
		report outbox.Report
		err    error

		failed bool
		level  string
		age    any // of the metric; nil for none
	}{
		"nothing is unsent":  {outbox.Report{}, nil, false, "INFO", 0.0},
		"all was sent":       {outbox.Report{Records: 2, Sent: 3, Oldest: 90 * time.Second}, nil, false, "INFO", 90.0},
		"the target is down": {outbox.Report{Records: 2, Sent: 1, Left: 2, Oldest: time.Hour}, errors.Join(down, down), false, "ERROR", 3600.0},
		"one was parked":     {outbox.Report{Records: 1, Parked: 1, Oldest: time.Minute}, nil, false, "INFO", 60.0},
		"the index could not be read: an age of 0 would be a lie": {outbox.Report{Incomplete: true}, errors.Join(down), true, "ERROR", nil},
		"the time was over": {outbox.Report{Records: 9, Sent: 9, Oldest: time.Hour, Incomplete: true}, nil, true, "ERROR", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			var logged, measured bytes.Buffer

			r := &relay{
				sweep:   func(context.Context) (outbox.Report, error) { return test.report, test.err },
				logger:  slog.New(slog.NewJSONHandler(&logged, nil)),
				metrics: metrics{out: &measured, namespace: "Payments", function: "relay"},
			}

			if err := r.handle(t.Context()); (err != nil) != test.failed {
				t.Errorf("got %v, want an error: %v", err, test.failed)
			}

			line, metric := object(t, &logged), object(t, &measured)
			want := map[string]any{
				"level": test.level, "records": float64(test.report.Records), "sent": float64(test.report.Sent), "left": float64(test.report.Left),
				"parked": float64(test.report.Parked), "oldestSeconds": test.report.Oldest.Seconds(), "incomplete": test.report.Incomplete,
			}

			for _, name := range []string{"time", "msg", "error"} {
				if name == "error" && (line[name] != nil) != (test.level == "ERROR") {
					t.Errorf("error %v in a line of level %s", line[name], test.level)
				}

				delete(line, name)
			}

			if diff := cmp.Diff(want, line); diff != "" {
				t.Errorf("log (-want +got):\n%s", diff)
			}

			wantMetric := map[string]any{
				"Function": "relay", "Sent": float64(test.report.Sent), "Left": float64(test.report.Left), "Parked": float64(test.report.Parked),
			}
			if test.age != nil {
				wantMetric["OldestUnsentSeconds"] = test.age
			}

			delete(metric, "_aws") // functions/template_logs_test.go reads it

			if diff := cmp.Diff(wantMetric, metric); diff != "" {
				t.Errorf("metrics (-want +got):\n%s", diff)
			}
		})
	}
}

func TestHandleKeepsTimeForTheLog(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()

		var out bytes.Buffer

		r := &relay{
			sweep: func(ctx context.Context) (outbox.Report, error) {
				<-ctx.Done()

				return outbox.Report{Incomplete: true}, nil
			},
			logger:  slog.New(slog.DiscardHandler),
			metrics: metrics{out: &out},
		}

		start := time.Now()
		if err := r.handle(ctx); err == nil || ctx.Err() != nil || time.Since(start) != 46*time.Second || out.Len() == 0 {
			t.Errorf("got %v after %v with %d bytes of metrics", err, time.Since(start), out.Len())
		}
	})
}

// A record that a sweep has begun is ended behind the end of the sweep.
func TestHandleKeepsTimeForTheLogWhileATargetHangs(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))
		audited.DB(t, db, nil, audit.Options{})

		hangs := stand.Sender(func(ctx context.Context, _ string) error { <-ctx.Done(); return ctx.Err() })

		store, err := idemddb.New(db, "records", "payments", &idemddb.Options{Senders: map[string]idemddb.Sender{"captured": hangs}})
		if err != nil {
			t.Fatal(err)
		}

		if _, err := store.Commit(t.Context(), "p-9", nil, nil, idemddb.Effects{Messages: []idemddb.Message{{To: "captured", Body: "b"}}}); err != nil {
			t.Fatal(err)
		}

		<-time.After(2 * time.Minute)

		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Second)
		defer cancel()

		r := &relay{
			sweep: func(ctx context.Context) (outbox.Report, error) {
				end, _ := ctx.Deadline()
				<-time.After(time.Until(end) - time.Millisecond)

				return outbox.Sweep(ctx, store, db)
			},
			logger:  slog.New(slog.DiscardHandler),
			metrics: metrics{out: io.Discard},
		}

		err = r.handle(ctx)
		deadline, _ := ctx.Deadline()

		if left := time.Until(deadline); left < 2*time.Second {
			t.Errorf("handle left %v before the deadline: %v", left, err)
		}
	})
}

// Each sweep waits for the other to begin.
func TestSweepAllAddsUpWhatSweepsSideBySideReport(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var begun sync.WaitGroup

		begun.Add(2)

		denied := errors.New("denied")
		side := func(report outbox.Report, err error) sweep {
			return func(context.Context) (outbox.Report, error) {
				begun.Done()
				begun.Wait()

				return report, err
			}
		}

		got, err := sweepAll(t.Context(), []sweep{
			side(outbox.Report{Records: 10, Sent: 20, Left: 30, Parked: 40, Oldest: time.Hour, Incomplete: true}, denied),
			side(outbox.Report{Records: 1, Sent: 2, Left: 3, Parked: 4, Oldest: time.Minute}, nil),
		})

		want := outbox.Report{Records: 11, Sent: 22, Left: 33, Parked: 44, Oldest: time.Hour, Incomplete: true}
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, denied) {
			t.Errorf("error %v, report (-want +got):\n%s", err, diff)
		}
	})
}

// A target that is down must not hide the error of another namespace, nor make a line of the log that is too long.
func TestSweepAllKeepsTheFirstErrorsOfEachSweep(t *testing.T) {
	t.Parallel()

	ofMany := func(namespace string) sweep {
		return func(context.Context) (outbox.Report, error) {
			var many []error
			for i := range 1000 {
				many = append(many, fmt.Errorf("%s: message %d", namespace, i))
			}

			return outbox.Report{}, errors.Join(many...)
		}
	}

	_, err := sweepAll(t.Context(), []sweep{ofMany("api"), ofMany("payments")})

	want := "api: message 0\napi: message 1\napi: message 2\nand others\n" +
		"payments: message 0\npayments: message 1\npayments: message 2\nand others"
	if got := err.Error(); got != want {
		t.Errorf("got %d bytes: %.300q, want %q", len(got), got, want)
	}
}

func TestShortenKeepsTheFirstErrors(t *testing.T) {
	t.Parallel()

	var many []error
	for i := range 1000 {
		many = append(many, fmt.Errorf("message %d", i))
	}

	if got, want := shorten(errors.Join(many...)).Error(), "message 0\nmessage 1\nmessage 2\nand others"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	if got := shorten(errors.Join(many[:3]...)).Error(); got != "message 0\nmessage 1\nmessage 2" {
		t.Errorf("got %q", got)
	}

	if got := shorten(nil); got != nil {
		t.Errorf("got %v", got)
	}
}

// It sets the environment, so it does not run in parallel.
func TestWireNamesWhatIsMissing(t *testing.T) {
	for _, missing := range []string{"TABLE_NAME", "CAPTURED_QUEUE_URL", "PAYMENTS_QUEUE_URL", ""} {
		stand.Env(t, nil)

		if missing != "" {
			t.Setenv(missing, "")
		}

		handler, err := wire(t.Context())
		if (err == nil) != (missing == "") || (handler == nil) != (missing != "") || err != nil && !strings.Contains(err.Error(), missing) {
			t.Errorf("without %q: got %v", missing, err)
		}
	}
}

func object(t *testing.T, line *bytes.Buffer) (members map[string]any) {
	t.Helper()

	if err := json.Unmarshal(line.Bytes(), &members); err != nil {
		t.Fatalf("%v: %s", err, line)
	}

	return members
}
