package idemddb_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// eachWay runs check in a bubble for each way to claim a key.
func eachWay(t *testing.T, opts *idemddb.Options, check func(*fixture, claimer)) {
	t.Helper()

	for name, way := range map[string]func(*fixture) claimer{
		"Store.Claim":              func(f *fixture) claimer { return f.store.Claim },
		"Batch.Claim, alone":       func(f *fixture) claimer { return f.batch.Claim },
		"Batch.Claim, with others": func(f *fixture) claimer { return f.claimWithOthers(false) },
		redeliveredWay:             func(f *fixture) claimer { return f.claimWithOthers(true) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, opts, func(f *fixture) { check(f, way(f)) })
		})
	}
}

const redeliveredWay = "Batch.Claim, redelivered"

// existing returns how many attempts a key has. If it is claimed as redelivered, the key is claimed and released first, so that
// the first statement for it is applied.
func (f *fixture) existing(key string) int {
	if !strings.HasSuffix(f.Name(), strings.ReplaceAll(redeliveredWay, " ", "_")) {
		return 0
	}

	must(f, claim(f, f.store, key).Release(f.Context(), nil))

	return 1
}

type claimer func(context.Context, string, *idemddb.ClaimOptions) (*idemddb.Claim, *idemddb.Record, error)

// claimWithOthers returns a claimer whose requests are shared with a claim of another key.
func (f *fixture) claimWithOthers(redelivered bool) claimer {
	return func(ctx context.Context, key string, opts *idemddb.ClaimOptions) (*idemddb.Claim, *idemddb.Record, error) {
		o := idemddb.ClaimOptions{}
		if opts != nil {
			o = *opts
		}

		o.Redelivered = redelivered
		b := f.store.Batch()
		b.Expect(2)

		other := make(chan struct{})

		go func() {
			defer close(other)

			_, _, _ = b.Claim(ctx, "another key", nil)
		}()

		defer func() { <-other }()

		return b.Claim(ctx, key, &o)
	}
}

func TestEachTryOfAClaimHasThePresentTime(t *testing.T) {
	t.Parallel()

	for name, isHeld := range map[string]bool{"a new key": false, "a key whose lease ends meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eachWay(t, nil, func(f *fixture, claimKey claimer) {
				if isHeld {
					claim(f, f.store, "k")
					<-time.After(30 * time.Second) // a takeover is possible in a second
				}

				f.db.Intercept(faultUntil(3*time.Second, idemddbtest.LostRequest, idemddbtest.LostRequest))

				c := granted(f)(claimKey(f.Context(), "k", nil))
				left := time.Until(f.lease("k"))

				if left > 30*time.Second || left <= 30*time.Second-time.Millisecond || !c.Deadline().Equal(f.lease("k")) || c.Takeover() != isHeld {
					f.Errorf("%v of the lease left, deadline %v, takeover %t; want 30s", left, c.Deadline(), c.Takeover())
				}
			})
		})
	}
}

// A decorator of the client may drop the old item.
func TestATakeoverWithoutItsOldItemIsClaimedByASingleRequest(t *testing.T) {
	t.Parallel()
	bubbleAround(t, nil, around.After(func(out *dynamodb.BatchExecuteStatementOutput) {
		for i := range out.Responses {
			out.Responses[i].Item = nil
		}
	}), func(f *fixture) {
		f.succeed(f.claims(3), func(c *idemddb.Claim) error { return c.Release(f.Context(), nil) })

		for _, c := range won(f, f.claimAll(3, true)) {
			if fence := numberOf(f.T, f.record(c.Key()), "fence"); c.Fence() != fence || c.Attempt() != 2 {
				f.Errorf("fencing token %d, stored %d, attempt %d", c.Fence(), fence, c.Attempt())
			}

			must(f, c.Complete(f.Context(), nil))
		}
	})
}

func TestTheFencingTokenOfARecordPastItsRetentionRisesWithAnyClock(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		first time.Duration // by how much the clock of the first worker is ahead
		want  func(old, now int64) int64
	}{
		"the old token is ahead of the clock": {time.Hour, func(old, _ int64) int64 { return old + 1 }},
		"the clock is ahead of the old token": {0, func(_, now int64) int64 { return now + 1 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{Retention: time.Minute}, func(f *fixture) {
				first := storeOn(f, f.db, &idemddb.Options{
					Retention: time.Minute, Now: func() time.Time { return time.Now().Add(c.first) },
				})
				must(f, claim(f, first, "k").Release(f.Context(), nil))
				f.edit("k", map[string]types.AttributeValue{"exp": number(time.Now().Add(time.Minute).Unix())})

				old := claim(f, f.store, "k")
				must(f, old.Complete(f.Context(), nil))
				<-time.After(2 * time.Minute)

				if got, want := claim(f, f.store, "k").Fence(), c.want(old.Fence(), time.Now().UnixMilli()); got != want {
					f.Errorf("fencing token %d after %d, want %d", got, old.Fence(), want)
				}
			})
		})
	}
}

func TestHashKeysStoresEveryKeyAsItsDigest(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{HashKeys: true}, func(f *fixture) {
		for _, key := range []string{"iban-DE89370400440532013000", "sha256:x", strings.Repeat("k", 2000)} {
			must(f, claim(f, f.store, key).Complete(f.Context(), []byte(key[:5])))

			if rec := replay(f, f.store, key); rec.Key != key || string(rec.Result) != key[:5] {
				f.Errorf("got %+v, want the record of %.10s", rec, key)
			}
		}

		must(f, claim(f, f.store, "failed").Fail(f.Context(), nil), f.store.Reopen(f.Context(), "failed"))
		f.complete(f.claims(3)...)
		f.replayed(3)

		for _, it := range f.db.Items("records") {
			if pk := textOf(it, "pk"); !strings.HasPrefix(pk, "test#sha256:") || len(pk) != len("test#sha256:")+43 {
				f.Errorf("partition key %q, want a digest", pk)
			}
		}

		// Keys that are stored as digests anyway stay where they are.
		plain := storeOn(f, f.db, nil)
		replay(f, plain, "sha256:x")
		claim(f, plain, "iban-DE89370400440532013000")
	})
}
