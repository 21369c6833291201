package idemddb_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/record"
)

// bothWays are Do with a claim and without one.
var bothWays = map[string]*idemddb.ClaimOptions{"claimed": nil, "optimistic": optimistic}

// inBothWays runs check for Do with a claim and without one.
func inBothWays(t *testing.T, opts *idemddb.Options, check func(f *fixture, opts *idemddb.ClaimOptions)) {
	t.Helper()

	for name, way := range bothWays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, opts, func(f *fixture) { check(f, way) })
		})
	}
}

// staging returns work that stages effects and returns a value.
func staging(value string, e idemddb.Effects) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) { return value, idemddb.Stage(ctx, e) }
}

func (f *fixture) do(opts *idemddb.ClaimOptions, work func(context.Context) (string, error)) (string, error) {
	return idemddb.Do(f.Context(), f.store, "k", opts, work)
}

func TestDoDropsWhatFailedWorkHasStaged(t *testing.T) {
	t.Parallel()

	cause := errors.New("bank closed")

	for name, c := range map[string]struct {
		end     func() error
		panics  any
		wantErr error
	}{
		"error":  {end: func() error { return cause }, wantErr: cause},
		"panic":  {end: func() error { panic(cause) }, panics: cause},
		"goexit": {end: func() error { runtime.Goexit(); return nil }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothWays(t, nil, func(f *fixture, opts *idemddb.ClaimOptions) {
				var err error

				panicked := onItsOwn(func() {
					_, err = f.do(opts, func(ctx context.Context) (string, error) {
						must(f, idemddb.Stage(ctx, items(counted("a"))))

						return "", c.end()
					})
				})
				if !errors.Is(err, c.wantErr) || panicked != c.panics {
					f.Errorf("got error %v, panic %v", err, panicked)
				}

				happened(f, f.db, "a", 0)

				it := recordOf(f.db, "k")
				if textOf(it, "st") != "INPROGRESS" || numberOf(f, it, "lease") != 0 || numberOf(f, it, "att") != 1 || textOf(it, "err") == "" {
					f.Errorf("the record is%s", show(it))
				}

				if opts == nil {
					f.events.want(f, idemddb.KindClaimed, idemddb.KindReleased)
				}

				value, err := f.do(opts, staging("second", items(counted("a"))))
				if must(f, err); value != "second" {
					f.Errorf("got %q", value)
				}

				happened(f, f.db, "a", 1)
			})
		})
	}
}

func TestDoReturnsWhatARefusedEffectMeans(t *testing.T) {
	t.Parallel()

	again, never := errors.New("balance too low now"), permanentError{errors.New("account closed")}

	for name, c := range map[string]struct {
		refused func(*idemddb.EffectError) error
		want    error
		state   string

		fault idemddbtest.Fault // of the other item, whose condition is not what refuses it
	}{
		"permanent":        {func(*idemddb.EffectError) error { return never }, never, "FAILED", ""},
		"plain":            {func(*idemddb.EffectError) error { return again }, again, "INPROGRESS", ""},
		"nothing":          {func(*idemddb.EffectError) error { return nil }, idemddb.ErrEffectRefused, "INPROGRESS", ""},
		"no Refused":       {nil, idemddb.ErrEffectRefused, "INPROGRESS", ""},
		"the effect again": {func(e *idemddb.EffectError) error { return e }, idemddb.ErrEffectRefused, "INPROGRESS", ""},
		"another reason":   {func(*idemddb.EffectError) error { return never }, idemddb.ErrEffectRefused, "INPROGRESS", "ValidationError"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothWays(t, nil, func(f *fixture, opts *idemddb.ClaimOptions) {
				must(f, claim(f, f.store, "other").CompleteWith(f.Context(), nil, items(onlyOnce("a"))))
				f.db.InterceptParts(func(_ context.Context, part idemddbtest.Request) idemddbtest.Fault {
					if record.TextOf(part.Key["pk"]) == "effect b" {
						return c.fault
					}

					return idemddbtest.None
				})

				_, err := f.do(opts, staging("", idemddb.Effects{
					Items: []types.TransactWriteItem{counted("b"), onlyOnce("a")}, Refused: c.refused,
				}))
				is(f, err, c.want)
				happened(f, f.db, "b", 0)

				if _, isPanic := errors.AsType[*panicerror.Error](err); isPanic {
					f.Errorf("got %v, want no panic", err)
				}

				if it := recordOf(f.db, "k"); textOf(it, "st") != c.state || numberOf(f, it, "att") != 1 {
					f.Errorf("the record is%s", show(it))
				}
			})
		})
	}
}

// refuseAfterALateTry makes the first transaction late and refuses an effect of the second one. The first is applied after that,
// before what settles the run.
func (f *fixture) refuseAfterALateTry() {
	n := 0
	f.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if r.Operation == "TransactWriteItems" {
			if n++; n == 1 {
				return idemddbtest.LateRequest
			}

			return idemddbtest.None
		}

		if n > 1 { // this request settles the run
			f.db.ForgetTokens()
			f.db.Deliver()
		}

		return idemddbtest.None
	})
	f.db.InterceptParts(func(_ context.Context, part idemddbtest.Request) idemddbtest.Fault {
		if strings.HasPrefix(part.Update, "ADD") && n == 2 && len(f.db.Requests()) < 3 {
			return "ValidationError of the test"
		}

		return idemddbtest.None
	})
}

// exitingValue ends the goroutine that encodes it.
type exitingValue struct{}

func (exitingValue) MarshalJSON() ([]byte, error) { runtime.Goexit(); return nil, nil }

// The work is done, so it must not run again; and a claim that nobody settles would be renewed for ever.
func TestDoKeepsNoValueThatCannotBeEncoded(t *testing.T) {
	t.Parallel()

	for name, value := range map[string]any{"a function": func() {}, "one that ends the goroutine": exitingValue{}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothWays(t, nil, func(f *fixture, opts *idemddb.ClaimOptions) {
				onItsOwn(func() {
					_, _ = idemddb.Do(f.Context(), f.store, "k", opts, func(ctx context.Context) (any, error) {
						return value, idemddb.Stage(ctx, items(counted("a")))
					})
				})

				if it := recordOf(f.db, "k"); textOf(it, "st") != "COMPLETED" {
					f.Errorf("the record is%s", show(it))
				}

				_, err := f.do(opts, staging("again", items(counted("a"))))
				must(f, err)

				_, err = f.do(&idemddb.ClaimOptions{NeedResult: true}, staging("needed", idemddb.Effects{}))
				is(f, err, idemddb.ErrResultOmitted)
				happened(f, f.db, "a", 1)
			})
		})
	}
}

// The second call fails because it sees what the first has done. It is a replay.
func TestDoReplaysACallThatStumblesOverItsOwnFirstRun(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		got, err := f.do(optimistic, func(_ context.Context) (string, error) {
			_, err := f.do(optimistic, staging("first", items(counted("a"))))
			must(f, err)

			return "", permanentError{errors.New("paid already")}
		})
		if got != "first" || err != nil {
			f.Errorf("got %q, %v", got, err)
		}

		if it := recordOf(f.db, "k"); textOf(it, "st") != "COMPLETED" {
			f.Errorf("the record is%s", show(it))
		}

		f.events.want(f, idemddb.KindCompleted)
	})
}

func TestDoWithoutAClaimIsRefusedAsAClaimIs(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claim(f, f.store, "k")

		ended, cancel := context.WithCancel(f.Context())
		cancel()

		if _, err := f.store.Commit(ended, "k", nil, nil, items(counted("a"))); !errors.Is(err, idemddb.ErrInProgress) || errors.Is(err, context.Canceled) {
			f.Errorf("got %v, want only that the key is in progress: nobody waits", err)
		}

		happened(f, f.db, "a", 0)

		_, err := f.do(optimistic, func(ctx context.Context) (string, error) {
			if _, ok := idemddb.FromContext(ctx); ok {
				f.Error("there is a claim")
			}

			return "", errors.New("closed")
		})
		is(f, err, idemddb.ErrInProgress)
	})
}

func TestDisabledEffectsHappenWithoutARecord(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "true")

	var events eventLog

	bank := &bankSender{}
	s, db := newStore(t, &idemddb.Options{Senders: map[string]idemddb.Sender{"bank": bank}, Observe: events.observe})

	for _, name := range []string{"optimistic", "claimed"} {
		for range 2 {
			opts := bothWays[name]
			got, err := idemddb.Do(t.Context(), s, "k", opts, func(ctx context.Context) (string, error) {
				return "v", idemddb.Stage(ctx, idemddb.Effects{
					Items: []types.TransactWriteItem{counted(name)}, Messages: []idemddb.Message{{To: "bank", Body: name}},
				})
			})
			if got != "v" || err != nil {
				t.Errorf("got %q, %v", got, err)
			}
		}

		happened(t, db, name, 2)
		events.want(t, idemddb.KindDisabled)
	}

	if len(bank.ids) != 4 || recordOf(db, "k") != nil {
		t.Errorf("%d messages, record %v", len(bank.ids), recordOf(db, "k"))
	}

	events.want(t, idemddb.KindDisabled)

	never := permanentError{errors.New("no")}
	_, err := idemddb.Do(t.Context(), s, "k", nil, func(ctx context.Context) (string, error) {
		return "", idemddb.Stage(ctx, idemddb.Effects{
			Items: []types.TransactWriteItem{onlyOnce("claimed")}, Refused: func(*idemddb.EffectError) error { return never },
		})
	})
	is(t, err, never)

	bank.err = errors.New("down")
	_, err = idemddb.Do(t.Context(), s, "k", nil, func(ctx context.Context) (string, error) {
		return "", idemddb.Stage(ctx, oneMessage)
	})
	is(t, err, idemddb.ErrUnsent)

	// The effects are not written twice because their message is not sent.
	effects := idemddb.Effects{Items: items(counted("unsent")).Items, Messages: oneMessage.Messages}
	_, err = idemddb.Run(t.Context(), s, "key", nil, func(ctx context.Context, c *idemddb.Claim) ([]byte, error) {
		if is(t, c.CompleteWith(ctx, nil, effects), idemddb.ErrUnsent); c.Held() {
			t.Error("the claim is held after its completion")
		}

		return nil, nil
	})
	must(t, err)
	happened(t, db, "unsent", 1)
}

// bankSender keeps the ids that it is sent.
type bankSender struct {
	mu  sync.Mutex
	err error
	ids []string
}

func (b *bankSender) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	b.mu.Lock()
	defer b.mu.Unlock()

	answers := make([]error, len(ms))

	for i, m := range ms {
		if answers[i] = b.err; b.err == nil {
			b.ids = append(b.ids, m.ID)
		}
	}

	return answers
}

// DynamoDB forgets a token ten minutes after its transaction. Without a record, a later try could write the effects again.
func TestWithoutARecordNoTryIsMadeWhenTheTokenMayBeForgotten(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "true")

	bubble(t, &idemddb.Options{Lease: time.Hour}, func(f *fixture) {
		f.db.Intercept(forTransactions(idemddbtest.EmptyAnswer))

		begun := time.Now()
		_, err := f.store.Commit(f.Context(), "k", nil, nil, items(counted("a")))
		is(f, err, idemddb.ErrUncommitted)

		if took := time.Since(begun); took > 10*time.Minute || took < 9*time.Minute {
			f.Errorf("it was sent for %v, want nearly 10m", took)
		}
	})
}

// Without a record nothing but its token keeps a transaction from being written twice, and a token is of one composition. So a
// transaction is not shared with that of a caller who gives up while it has no answer.
func TestWithoutARecordATransactionIsNotShared(t *testing.T) {
	t.Setenv("IDEMDDB_DISABLED", "true")

	bubble(t, nil, func(f *fixture) {
		begun, isLost := time.Now(), map[string]bool{}

		var mu sync.Mutex

		f.db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			name := record.TextOf(r.Items[0].Key["pk"])
			if name == "effect first" {
				<-time.After(time.Second)

				return idemddbtest.None
			}

			mu.Lock()
			defer mu.Unlock()

			switch {
			case !isLost[name]:
				isLost[name] = true

				return idemddbtest.LostReply
			case time.Since(begun) < 3*time.Second:
				return idemddbtest.LostRequest
			default:
				return idemddbtest.None
			}
		})

		var all sync.WaitGroup

		for _, name := range []string{"first", "hasty", "patient"} { // the other two come while the first one is under way
			ctx := f.Context()
			if name == "hasty" {
				var cancel context.CancelFunc

				ctx, cancel = context.WithTimeout(ctx, time.Second)
				defer cancel()
			}

			all.Go(func() {
				if _, err := f.store.Commit(ctx, name, nil, nil, items(counted(name))); (err != nil) != (name == "hasty") {
					f.Errorf("%s: %v", name, err)
				}
			})
			synctest.Wait()
		}

		all.Wait()

		for _, name := range []string{"first", "hasty", "patient"} {
			happened(f, f.db, name, 1)
		}
	})
}
