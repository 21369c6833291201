package idemddb_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// onlyBatcher is a client that can share requests and cannot write transactions.
type onlyBatcher struct {
	idemddb.DynamoDB
	idemddb.Batcher
}

// onlyTransactor is a client that can write transactions and cannot share requests.
type onlyTransactor struct {
	idemddb.DynamoDB
	idemddb.Transactor
}

// onlyWriter is a client that lacks GetItem, so that every result stays in its record.
type onlyWriter struct {
	idemddb.DynamoDB
	idemddb.Batcher
	idemddb.Transactor
}

func withoutGetItem(db *idemddbtest.DB) idemddb.DynamoDB { return onlyWriter{db, db, db} }

// newWriter is newStore with a client that lacks GetItem.
func newWriter(t testing.TB, opts *idemddb.Options) (*idemddb.Store, *idemddbtest.DB) {
	t.Helper()

	_, db := newStore(t, opts)

	return storeOn(t, withoutGetItem(db), opts), db
}

func TestNewRefusesOptionsThatTheClientCannotServe(t *testing.T) {
	t.Parallel()

	db := newDB(t)
	senders := map[string]idemddb.Sender{"bank": nil}

	for name, c := range map[string]struct {
		api  idemddb.DynamoDB
		opts *idemddb.Options
		want string
	}{
		"Senders and no transactions":    {onlyRequired{db}, &idemddb.Options{Senders: senders}, "idemddb: Options.Senders: "},
		"Senders and shared requests":    {onlyBatcher{db, db}, &idemddb.Options{Senders: senders}, "idemddb: Options.Senders: "},
		"Senders and transactions":       {onlyTransactor{db, db}, &idemddb.Options{Senders: senders}, ""},
		"no Senders and no transactions": {onlyRequired{db}, nil, ""},
	} {
		switch _, err := idemddb.New(c.api, "records", "test", c.opts); {
		case c.want == "" && err != nil:
			t.Errorf("%s: got %v, want a Store", name, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), c.want) || !strings.Contains(err.Error(), "TransactWriteItems")):
			t.Errorf("%s: got %v, want an error that begins with %q and names the method", name, err, c.want)
		}
	}
}

func TestWithoutTransactionsAKeyIsClaimedAndSettledAsEver(t *testing.T) {
	t.Parallel()

	for name, wrap := range map[string]func(*idemddbtest.DB) idemddb.DynamoDB{
		"the two required methods": func(db *idemddbtest.DB) idemddb.DynamoDB { return onlyRequired{db} },
		"shared requests":          func(db *idemddbtest.DB) idemddb.DynamoDB { return onlyBatcher{db, db} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubbleOn(t, nil, wrap, func(f *fixture) {
				got, err := idemddb.Do(f.Context(), f.store, "done", nil, func(ctx context.Context) (int, error) {
					return 7, idemddb.Stage(ctx, idemddb.Effects{}) // says that there is nothing to write
				})
				if got != 7 || err != nil {
					f.Errorf("Do: got %d, %v, want 7", got, err)
				}

				must(f, claim(f, f.store, "completed").CompleteWith(f.Context(), nil, idemddb.Effects{}))
				must(f, claim(f, f.store, "released").Release(f.Context(), nil))
				must(f, claim(f, f.store, "failed").Fail(f.Context(), nil))
				must(f, f.store.Reopen(f.Context(), "failed"))

				if isShared := f.batch.Ahead() > 0; isShared != (name == "shared requests") {
					f.Errorf("requests are shared: %t", isShared)
				}
			})
		})
	}
}

// Each call that writes effects says what is missing. Nothing is sent, and a claim is still held.
func TestWithoutTransactionsEffectsAreRefusedWithTheReason(t *testing.T) {
	t.Parallel()
	bubbleOn(t, nil, func(db *idemddbtest.DB) idemddb.DynamoDB { return onlyRequired{db} }, func(f *fixture) {
		errs := staged(f, f.store, items(counted("x")))
		work := beginWork(f, f.store, "message", nil)
		errs["Stage with a message"] = idemddb.Stage(work.Context(f.Context()), oneMessage)
		_, errs["Commit without effects"] = f.store.Commit(f.Context(), "commit", nil, nil, idemddb.Effects{})
		_, errs["Do with Optimistic"] = f.do(optimistic, func(context.Context) (string, error) {
			f.Error("the work ran")

			return "", nil
		})

		for call, err := range errs {
			if !errors.Is(err, idemddb.ErrBadEffects) || !strings.Contains(err.Error(), "TransactWriteItems") {
				f.Errorf("%s: got %v, want ErrBadEffects and the name of the method", call, err)
			}
		}

		f.want("UpdateItem", "UpdateItem", "UpdateItem") // the claims
		happened(f, f.db, "x", 0)

		if f.record("commit") != nil || f.record("k") != nil || f.lease("complete").Before(time.Now()) {
			f.Errorf("the claim that was not completed is%s", show(f.record("complete")))
		}
	})
}
