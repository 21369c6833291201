package audited_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// bench is two workers of one key in a bubble, and the kinds of the changes that they make.
type bench struct {
	*testing.T

	db    *idemddbtest.DB
	kinds []audit.Kind
	sends func(ms []idemddb.Message) []error // nil: all are accepted
}

func newBench(t *testing.T) *bench {
	t.Helper()

	b := &bench{T: t, db: audited.Tables(t, nil, idemddbtest.CreateTable("records", "unsent"))}
	options := audit.Options{ClockSkew: skew, Lease: lease}
	changes := audited.New(t, options)

	b.db.OnChange(func(c idemddbtest.Change) {
		changes.See(c)

		if v := audit.Judge(audit.Change{Before: c.Before, After: c.After, Time: c.Time, ByTimeToLive: c.ByTimeToLive}, options); v.Kind != audit.NoRecord {
			b.kinds = append(b.kinds, v.Kind)
		}
	})

	return b
}

func (b *bench) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	if b.sends == nil {
		return make([]error, len(ms))
	}

	return b.sends(ms)
}

func (b *bench) store(change ...func(*idemddb.Options)) *idemddb.Store {
	b.Helper()

	o := idemddb.Options{Lease: lease, Retention: retention, ClockSkew: skew, Single: true, Senders: map[string]idemddb.Sender{"bank": b}}
	for _, f := range change {
		f(&o)
	}

	s, err := idemddb.New(b.db, "records", "n", &o)
	b.must(err)

	return s
}

func (b *bench) must(err error) {
	b.Helper()

	if err != nil {
		b.Fatal(err)
	}
}

func (b *bench) claim(s *idemddb.Store) *idemddb.Claim {
	b.Helper()

	c, record, err := s.Claim(b.Context(), "k", nil)
	if c == nil {
		b.Fatalf("got %v, %v, want a claim", record, err)
	}

	return c
}

// operator returns an operator, and what the operator sees.
func (b *bench) operator(s *idemddb.Store) (*operate.Records, operate.View) {
	b.Helper()

	records, err := operate.New(s, b.db)
	b.must(err)

	seen, err := records.Look(b.Context(), "k")
	b.must(err)

	return records, seen
}

// rejected is work without a claim that does not succeed.
func (b *bench) rejected(s *idemddb.Store) {
	_, _ = idemddb.Do(b.Context(), s, "k", &idemddb.ClaimOptions{Optimistic: true}, func(context.Context) (string, error) {
		return "", errors.New("closed")
	})
}

func (b *bench) committed(s *idemddb.Store, messages int) {
	b.Helper()

	var e idemddb.Effects
	for i := range messages {
		e.Messages = append(e.Messages, idemddb.Message{To: "bank", Body: fmt.Sprint(i)})
	}

	_, err := s.Commit(b.Context(), "k", nil, nil, e)
	b.must(err)
}

// pastEnd lets the record end, which is tomorrow where it had messages.
func pastEnd() { <-time.After(25 * time.Hour) }

func leaseOver() { <-time.After(lease + skew + time.Millisecond) }

// What looks wrong and is right, as the Store writes it.
var right = map[string]struct {
	does  func(b *bench)
	kinds []audit.Kind
}{
	"a try of a claim that arrives after others have claimed the key and released it": {func(b *bench) {
		a, other := b.store(), b.store()

		b.db.Inject(idemddbtest.LateRequest)
		b.must(b.claim(a).Release(b.Context(), nil))
		b.must(b.claim(other).Release(b.Context(), nil))
		<-time.After(time.Minute)
		b.db.Deliver()
		leaseOver()
		b.claim(other)
	}, []audit.Kind{audit.NewClaim, audit.Release, audit.ClaimAgain, audit.Release, audit.ClaimAgain, audit.Takeover}},
	"a completion that arrives late, after its lease": {func(b *bench) {
		c := b.claim(b.store())
		b.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LateRequest })

		ctx, cancel := context.WithTimeout(b.Context(), time.Second)
		defer cancel()

		if err := c.Complete(ctx, nil); err == nil {
			b.Error("a completion that is never answered: no error")
		}

		b.db.Intercept(nil)
		<-time.After(time.Minute)
		b.db.Deliver()
	}, []audit.Kind{audit.NewClaim, audit.Completion}},
	"an operator's release between a worker's claim and its release, which is one from -1": {func(b *bench) {
		s := b.store()
		c := b.claim(s)
		records, seen := b.operator(s)
		b.must(records.Release(b.Context(), seen, "anna", "stuck"))
		b.must(c.Release(b.Context(), errors.New("closed")))
	}, []audit.Kind{audit.NewClaim, audit.OperatorRelease, audit.Release}},
	"a takeover that is given back, the takeover after it, and its release": {func(b *bench) {
		b.claim(b.store())
		leaseOver()
		b.must(b.claim(b.store()).ReleaseUnused(b.Context()))
		b.must(b.claim(b.store()).Release(b.Context(), nil))
	}, []audit.Kind{audit.NewClaim, audit.Takeover, audit.Return, audit.Takeover, audit.Release}},
	"an operator's fail and reopening while the worker is at work": {func(b *bench) {
		s := b.store()
		c := b.claim(s)
		records, seen := b.operator(s)
		b.must(records.Fail(b.Context(), seen, "anna", "wrong"))

		_, seen = b.operator(s)
		b.must(records.Reopen(b.Context(), seen, "anna", "mended"))

		if err := c.Complete(b.Context(), nil); !errors.Is(err, idemddb.ErrFenced) {
			b.Errorf("got %v, want ErrFenced", err)
		}

		b.must(b.claim(s).Complete(b.Context(), nil))
	}, []audit.Kind{audit.NewClaim, audit.OperatorFail, audit.OperatorReopen, audit.ClaimAgain, audit.Completion}},
	"two senders, of which the slower puts back what the faster has removed": {func(b *bench) {
		s := b.store()
		records, seen := (*operate.Records)(nil), operate.View{}
		b.sends = func([]idemddb.Message) []error {
			if records == nil { // the first sender, and while it waits for its answer, an operator's
				records, seen = b.operator(s)
				_, _ = records.Send(b.Context(), seen, "anna", "it waits for long")

				return []error{nil, errors.New("no answer")}
			}

			return []error{errors.New("no answer"), nil}
		}
		b.committed(s, 2)
		b.sends = nil

		_, seen = b.operator(s)
		_, err := records.Send(b.Context(), seen, "anna", "again")
		b.must(err)
	}, []audit.Kind{audit.Commit, audit.Stamp, audit.Removal, audit.Removal, audit.Stamp, audit.Removal}},
	"a key that is given up because its attempts are used up": {func(b *bench) {
		s := b.store(func(o *idemddb.Options) { o.MaxAttempts = 1 })
		b.claim(s)
		leaseOver()
		_, _, _ = s.Claim(b.Context(), "k", nil)
	}, []audit.Kind{audit.NewClaim, audit.GiveUp}},
	"a key that is given up because NoTakeover does not let it be taken over": {func(b *bench) {
		s := b.store(func(o *idemddb.Options) { o.NoTakeover = true })
		b.claim(s)
		leaseOver()
		_, _, _ = s.Claim(b.Context(), "k", nil)
		b.must(s.Reopen(b.Context(), "k"))
		b.claim(s)
	}, []audit.Kind{audit.NewClaim, audit.GiveUp, audit.Reopen, audit.ClaimAgain}},
	"records that are made anew by a claim, a commit and a rejection, from each state": {func(b *bench) {
		s := b.store()
		b.must(b.claim(s).Complete(b.Context(), nil))
		pastEnd()
		b.must(b.claim(s).Fail(b.Context(), errors.New("no such account")))
		pastEnd()
		b.rejected(s)
		pastEnd()
		b.committed(s, 1)
		pastEnd()
		b.claim(s)
		pastEnd()
		b.committed(s, 0)
	}, []audit.Kind{
		audit.NewClaim, audit.Completion, audit.AnewByClaim, audit.Failure, audit.AnewByRejection, audit.AnewByCommit, audit.Removal,
		audit.AnewByClaim, audit.AnewByCommit,
	}},
}

func TestNoRuleIsBrokenByWhatLooksWrongAndIsRight(t *testing.T) {
	t.Parallel()

	for name, c := range right {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				b := newBench(t)

				if c.does(b); !slices.Equal(b.kinds, c.kinds) {
					t.Errorf("got the changes %q, want %q", b.kinds, c.kinds)
				}
			})
		})
	}
}
