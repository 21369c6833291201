package contract

import (
	"errors"
	"reflect"
	"strconv"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// The options of the contract's Stores.
const (
	lease     = 10 * time.Second
	retention = time.Hour
	skew      = time.Second
)

// epoch is the time at which each case begins. It is not a whole second, so that the rounding of the TTL attribute is seen.
var epoch = time.Date(2030, 1, 1, 0, 0, 0, int(500*time.Millisecond), time.UTC)

// harness is what a case works with: a clock, and Stores with a namespace of their own.
//
// Methods that demand something end the case with Fatal, as testing wants it: only on the goroutine of the case. Those whose
// comment says so can be called on any goroutine; they report an error and go on.
type harness struct {
	testing.TB
	*idemddbtest.Clock

	engine    Engine
	table     string
	namespace string
	options   idemddb.Options  // the names of the table
	changes   *audited.Changes // of the case; nil if the engine shows none
}

func newHarness(t testing.TB, engine Engine, tab table) *harness {
	t.Helper()

	return &harness{
		TB:        t,
		Clock:     idemddbtest.NewClock(epoch),
		engine:    engine,
		table:     *tab.schema.TableName,
		namespace: "contract-" + strconv.FormatInt(serial.Add(1), 10),
		options:   tab.options,
	}
}

// store returns a Store of the case's namespace; change may set options.
func (h *harness) store(change ...func(*idemddb.Options)) *idemddb.Store {
	h.Helper()

	return h.storeOn(h.engine, change...)
}

// storeOn returns a Store with another way to the engine.
func (h *harness) storeOn(api idemddb.DynamoDB, change ...func(*idemddb.Options)) *idemddb.Store {
	h.Helper()

	o := h.options
	o.Lease, o.Retention, o.ClockSkew, o.Now = lease, retention, skew, h.Now
	o.Senders = map[string]idemddb.Sender{"bank": nil} // another process sends, unless a change says otherwise

	for _, f := range change {
		f(&o)
	}

	s, err := idemddb.New(api, h.table, h.namespace, &o)
	h.must(err)

	return s
}

func noTakeover(o *idemddb.Options) { o.NoTakeover = true }

func maxAttempts(n int) func(*idemddb.Options) { return func(o *idemddb.Options) { o.MaxAttempts = n } }

// by sets the clock of a Store this much ahead.
func (h *harness) by(ahead time.Duration) func(*idemddb.Options) {
	if ahead.Abs() > skew {
		h.changes.OtherClocks()
	}

	return func(o *idemddb.Options) { o.Now = func() time.Time { return h.Now().Add(ahead) } }
}

// endLease moves the clock to when a lease that began now may be taken over.
func (h *harness) endLease() { h.Advance(lease + skew + time.Millisecond) }

// endRetention moves the clock to when a record that was written now answers no more.
func (h *harness) endRetention() { h.Advance(retention + 2*time.Second) }

// claim demands a claim.
func (h *harness) claim(s *idemddb.Store, key string) *idemddb.Claim {
	h.Helper()

	return h.claimWith(s, key, nil)
}

func (h *harness) claimWith(s *idemddb.Store, key string, opts *idemddb.ClaimOptions) *idemddb.Claim {
	h.Helper()

	c, record, err := s.Claim(h.Context(), key, opts)

	return h.won(answer{c, record, err})
}

// replay demands a record.
func (h *harness) replay(s *idemddb.Store, key string) *idemddb.Record {
	h.Helper()

	return h.replayWith(s, key, nil)
}

func (h *harness) replayWith(s *idemddb.Store, key string, opts *idemddb.ClaimOptions) *idemddb.Record {
	h.Helper()

	c, record, err := s.Claim(h.Context(), key, opts)

	return h.replayed(answer{c, record, err})
}

// refuse demands an error and a record that stays as it is.
func (h *harness) refuse(s *idemddb.Store, key string, opts *idemddb.ClaimOptions, want error) error {
	h.Helper()

	var err error

	h.unchanged(key, func() {
		var (
			c      *idemddb.Claim
			record *idemddb.Record
		)

		c, record, err = s.Claim(h.Context(), key, opts)
		if c != nil || record != nil {
			h.Errorf("claim: got claim %v, record %v beside the error %v", c, record, err)
		}
	})
	h.is(err, want)

	return err
}

// won demands that the answer is a claim.
func (h *harness) won(a answer) *idemddb.Claim {
	h.Helper()

	if a.claim == nil || a.record != nil || a.err != nil {
		h.Fatalf("claim: got %s, want a claim", a)
	}

	return a.claim
}

// replayed demands that the answer is a record.
func (h *harness) replayed(a answer) *idemddb.Record {
	h.Helper()

	if a.claim != nil || a.record == nil || a.err != nil {
		h.Fatalf("claim: got %s, want a record", a)
	}

	return a.record
}

// must demands success.
func (h *harness) must(err error) {
	h.Helper()

	if err != nil {
		h.Fatal(err)
	}
}

// check reports an error, on any goroutine.
func (h *harness) check(err error) {
	h.Helper()

	if err != nil {
		h.Error(err)
	}
}

// is demands an error of this kind.
func (h *harness) is(err, want error) {
	h.Helper()

	if !errors.Is(err, want) {
		h.Fatalf("got error %v, want %v", err, want)
	}
}

// as demands an error of this type.
func as[E error](h *harness, err error) E {
	h.Helper()

	e, ok := errors.AsType[E](err)
	if !ok {
		h.Fatalf("got error %v, want a %T", err, e)
	}

	return e
}

// equal compares two values, on any goroutine.
func (h *harness) equal(what string, got, want any) {
	h.Helper()

	if !reflect.DeepEqual(got, want) {
		h.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// isDone is [idemddb.Claim.IsDone], which looks at the error alone.
func isDone(err error) bool { return new(idemddb.Claim).IsDone(err) }
