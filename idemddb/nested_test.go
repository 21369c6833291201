package idemddb_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// nestedCalls ask for the key k, and wait for it.
var nestedCalls = map[string]func(context.Context, *fixture) error{
	"Do": func(ctx context.Context, f *fixture) error {
		return f.nestedDo(ctx, &idemddb.ClaimOptions{Wait: time.Minute})
	},
	"optimistic Do": func(ctx context.Context, f *fixture) error {
		return f.nestedDo(ctx, &idemddb.ClaimOptions{Wait: time.Minute, Optimistic: true})
	},
	"Run": func(ctx context.Context, f *fixture) error {
		_, err := idemddb.Run(ctx, f.store, "k", &idemddb.ClaimOptions{Wait: time.Minute}, func(context.Context, *idemddb.Claim) ([]byte, error) {
			f.Error("the work of the nested call ran")

			return nil, nil
		})

		return err
	},
	"Claim": func(ctx context.Context, f *fixture) error {
		_, _, err := f.store.Claim(ctx, "k", &idemddb.ClaimOptions{Wait: time.Minute})

		return err
	},
	"Batch.Claim": func(ctx context.Context, f *fixture) error {
		_, _, err := f.batch.Claim(ctx, "k", &idemddb.ClaimOptions{Wait: time.Minute})

		return err
	},
	"Commit": func(ctx context.Context, f *fixture) error {
		_, err := f.store.Commit(ctx, "k", &idemddb.ClaimOptions{Wait: time.Minute}, nil, idemddb.Effects{})

		return err
	},
}

func (f *fixture) nestedDo(ctx context.Context, opts *idemddb.ClaimOptions) error {
	_, err := idemddb.Do(ctx, f.store, "k", opts, func(context.Context) (string, error) {
		f.Error("the work of the nested call ran")

		return "", nil
	})

	return err
}

// Such a call could only wait for its caller. Without a claim it would complete the key, and what its caller has staged would be
// lost.
func TestANestedCallForTheSameKeyIsRefusedAtOnce(t *testing.T) {
	t.Parallel()

	for name, call := range nestedCalls {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothWays(t, nil, func(f *fixture, opts *idemddb.ClaimOptions) {
				refused := func(ctx context.Context, where string) {
					f.db.ResetRequests()

					var err error

					f.takes(0, func() { err = call(ctx, f) })
					f.want()
					is(f, err, idemddb.ErrInProgress)

					if _, ok := errors.AsType[*idemddb.InProgressError](err); !ok || !strings.Contains(err.Error(), "this context holds it itself") {
						f.Errorf("%s: got %v", where, err)
					}
				}

				got, err := f.do(opts, func(ctx context.Context) (string, error) {
					refused(ctx, "directly")

					_, err := idemddb.Do(ctx, f.store, "another", nil, func(ctx context.Context) (string, error) {
						refused(ctx, "under another key")

						return "", nil
					})
					must(f, err)

					return "value", idemddb.Stage(ctx, items(counted("a")))
				})
				if got != "value" || err != nil {
					f.Errorf("got %q, %v", got, err)
				}

				happened(f, f.db, "a", 1)

				if n := f.events.count(idemddb.KindInProgress); n != 2 {
					f.Errorf("%d events of a key in progress, want 2", n)
				}
			})
		})
	}
}

// The error says for how long, as for any key in progress.
func TestANestedCallSaysHowLongTheKeyIsHeld(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		c := claim(f, f.store, "k")
		ctx, stop := c.Keep(f.Context())

		defer stop()

		_, _, err := f.store.Claim(ctx, "k", nil)
		until := " until " + c.Deadline().UTC().Format(time.RFC3339Nano) + ": "
		if e, ok := errors.AsType[*idemddb.InProgressError](err); !ok || e.Key != "k" || !e.Until.Equal(c.Deadline()) || !strings.Contains(err.Error(), until) {
			f.Errorf("got %+v, %v, want the end of the lease, %v", e, err, c.Deadline())
		}
	})
}

// DynamoDB would not notice it: the work without a claim has no record yet.
func TestANestedCallByAnotherStoreIsRefusedIfTheWorkHasNoClaim(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		other := storeOn(f.T, f.db, nil)

		got, err := f.do(optimistic, func(ctx context.Context) (string, error) {
			must(f, idemddb.Stage(ctx, items(counted("a"))))

			_, err := idemddb.Do(ctx, other, "k", nil, func(context.Context) (string, error) { return "nested", nil })
			is(f, err, idemddb.ErrInProgress)

			return "value", nil
		})
		if got != "value" || err != nil {
			f.Errorf("got %q, %v", got, err)
		}

		happened(f, f.db, "a", 1)
	})
}

// Lambda gives the second try of an asynchronous invocation the request id of the first. And a handler of lambdawrap.Batch has
// the claims of many messages, while its context has none of them.
func TestACallForAKeyOfTheSameInvocationSaysSo(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		in := func(requestID string) context.Context {
			return lambdacontext.NewContext(f.Context(), &lambdacontext.LambdaContext{AwsRequestID: requestID})
		}

		if c, _, err := f.store.Claim(in("r-1"), "k", nil); c == nil {
			f.Fatal(err)
		}

		for requestID, want := range map[string]bool{"r-1": true, "r-2": false, "r": false, "": false} {
			_, _, err := f.store.Claim(in(requestID), "k", nil)
			if !errors.Is(err, idemddb.ErrInProgress) || !strings.Contains(err.Error(), " until ") ||
				strings.Contains(err.Error(), "this invocation holds it itself, by another call or by an earlier try of it") != want {
				f.Errorf("request id %q: got %v, want that it names the invocation: %v", requestID, err, want)
			}
		}
	})
}

// The record answers a nested call if the work does not hold the key: it has settled its claim or lost it, or holds another
// record.
func TestANestedCallForAKeyThatIsNotHeldAsksTheRecord(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		before func(ctx context.Context, f *fixture, c *idemddb.Claim)
		want   string
	}{
		"completed": {func(ctx context.Context, f *fixture, c *idemddb.Claim) { must(f, c.Complete(ctx, []byte(`"mine"`))) }, "mine"},
		"released":  {func(ctx context.Context, f *fixture, c *idemddb.Claim) { must(f, c.Release(ctx, nil)) }, "nested"},
		"lost": {func(ctx context.Context, f *fixture, c *idemddb.Claim) {
			erase(f, f.db, "k")
			is(f, c.Extend(ctx), idemddb.ErrFenced)
		}, "nested"},
		"past its lease": {func(_ context.Context, f *fixture, _ *idemddb.Claim) {
			f.db.Intercept(always(idemddbtest.Throttle))
			<-time.After(time.Hour)
			f.db.Intercept(nil)
		}, "nested"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				own := claim(f, f.store, "k")
				ctx, stop := own.Keep(f.Context())

				defer stop()
				c.before(ctx, f, own)

				got, err := idemddb.Do(context.WithoutCancel(ctx), f.store, "k", nil, func(context.Context) (string, error) { return "nested", nil })
				if got != c.want || err != nil {
					f.Errorf("got %q, %v, want %q", got, err, c.want)
				}
			})
		})
	}

	for name, of := range map[string]struct{ table, namespace string }{
		"in another table": {"others", "test"}, "in another namespace": {"records", "other"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inBothWays(t, nil, func(f *fixture, opts *idemddb.ClaimOptions) {
				db := f.db
				if of.table != "records" {
					db = idemddbtest.New(nil)
					_, err := db.CreateTable(f.Context(), idemddbtest.CreateTable(of.table, ""))
					must(f, err)
				}

				other, err := idemddb.New(db, of.table, of.namespace, nil)
				must(f, err)

				_, err = f.do(opts, func(ctx context.Context) (string, error) {
					got, err := idemddb.Do(ctx, other, "k", nil, func(context.Context) (string, error) { return "nested", nil })
					if got != "nested" {
						f.Errorf("got %q, %v", got, err)
					}

					return "", errors.Join(err, idemddb.Stage(ctx, idemddb.Effects{}))
				})
				must(f, err)
			})
		})
	}
}
