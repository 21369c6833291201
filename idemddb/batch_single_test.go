package idemddb_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// refusal is what a client answers shared requests with as long as there is an error.
type refusal struct {
	err   error
	delay time.Duration
	calls atomic.Int64
}

// refusingBubble runs check with a client that refuses shared requests.
func refusingBubble(t *testing.T, code string, check func(*fixture, *refusal)) {
	t.Helper()

	r := &refusal{err: &smithy.GenericAPIError{Code: code}}

	bubbleAround(t, nil, around.Before(func(*dynamodb.BatchExecuteStatementInput) error {
		r.calls.Add(1)

		if r.delay > 0 {
			<-time.After(r.delay)
		}

		return r.err
	}), func(f *fixture) { check(f, r) })
}

// isShared demands that writes share requests now, or that they do not, and the number of events that said so.
func (f *fixture) isShared(want bool, events int) {
	f.Helper()

	if got := f.batch.Ahead() > 0; got != want || f.events.count(idemddb.KindUnshared) != events {
		f.Errorf("shared: %t, %d events; want %t, %d", got, f.events.count(idemddb.KindUnshared), want, events)
	}
}

var tenSingle = slices.Repeat([]string{"UpdateItem"}, 10)

// The role may be given the right meanwhile, as while a deployment propagates.
func TestSharedRequestsThatWereDeniedAreTriedAgainAfterFiveMinutes(t *testing.T) {
	t.Parallel()
	refusingBubble(t, "AccessDeniedException", func(f *fixture, r *refusal) {
		won(f.T, f.claimAll(2, false))

		for minutes := range 12 {
			if minutes == 7 {
				r.err = nil
			}

			before := r.calls.Load()
			won(f.T, claimIn(f.Context(), f.store.Batch(), []string{fmt.Sprint(minutes, "a"), fmt.Sprint(minutes, "b")}, false))

			// They were denied before minute 0, and are denied again at minute 6, because five minutes are over then.
			if n := r.calls.Load() - before; n != map[bool]int64{true: 1}[minutes == 6] {
				f.Errorf("minute %d: %d shared requests", minutes, n)
			}

			<-time.After(time.Minute)
		}

		f.isShared(true, 2)
		f.requests()
		won(f.T, claimIn(f.Context(), f.store.Batch(), []string{"a", "b"}, false))
		f.want("INSERT×2")
	})
}

// Another request may succeed, unless this one is denied or not supported.
func TestASharedRequestThatIsRefusedIsReplacedBySingleOnes(t *testing.T) {
	t.Parallel()

	for code, isShared := range map[string]bool{
		"AccessDeniedException": false, "UnknownOperationException": false,
		"ValidationException": true, "ExpiredTokenException": true, "ResourceNotFoundException": true, "SomethingNew": true,
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			refusingBubble(t, code, func(f *fixture, r *refusal) {
				var claims []*idemddb.Claim

				f.takes(0, func() { claims = won(f.T, f.claimAll(10, false)) })
				f.want(tenSingle...)
				f.takes(0, func() { f.complete(claims...) })
				f.want(tenSingle...)

				calls, events := int64(1), 1 // from then on no request is shared, and one event says so
				if isShared {
					calls, events = 2, 0
				}

				f.isShared(isShared, events)

				if n := r.calls.Load(); n != calls {
					f.Errorf("%d shared requests, want %d", n, calls)
				}

				f.replayed(10)
				f.isIdle()
			})
		})
	}
}

func TestAStatementThatIsDeniedTurnsSharedRequestsOff(t *testing.T) {
	t.Parallel()

	for _, verb := range []string{"INSERT", "UPDATE"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				f.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
					if r.Operation == verb {
						return idemddbtest.AccessDenied
					}

					return idemddbtest.None
				})

				var claims []*idemddb.Claim

				f.takes(0, func() { claims = won(f.T, f.claimAll(10, false)) })
				f.takes(0, func() { f.complete(claims...) })
				f.isShared(false, 1)

				if n := f.events.count(idemddb.KindRetried); n != 0 {
					f.Errorf("%d events %s, want none", n, idemddb.KindRetried)
				}

				f.replayed(10)
			})
		})
	}
}

// Such a backend does not support what the shared requests need.
func TestTheThirdWrongNumberOfAnswersInARowTurnsSharedRequestsOffForFiveMinutes(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{idemddbtest.EmptyAnswer, idemddbtest.EmptyAnswerApplied, idemddbtest.MissingResponse} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				f.db.Inject(fault, fault, fault)

				claims := won(f.T, f.claimAll(3, false))

				if got := f.requests(); len(got) < 6 || !slices.Equal(got[len(got)-3:], []string{"UpdateItem", "UpdateItem", "UpdateItem"}) {
					f.Errorf("requests: got %q, want at least 3 shared ones and then 3 single ones", got)
				}

				f.isShared(false, 1)
				f.complete(claims...)
				f.want("UpdateItem", "UpdateItem", "UpdateItem")
				f.replayed(3)

				<-time.After(5*time.Minute + 1)

				f.isShared(true, 1)
				f.requests()
				won(f.T, claimIn(f.Context(), f.store.Batch(), []string{"a", "b"}, false))
				f.want("INSERT×2")
			})
		})
	}
}

func TestAWrongNumberOfAnswersIsAnUnknownOutcome(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{idemddbtest.EmptyAnswer, idemddbtest.EmptyAnswerApplied, idemddbtest.MissingResponse} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				for round := range 3 { // a right answer between two wrong ones interrupts the row
					f.db.Inject(fault, fault)

					claims := won(f.T, claimIn(f.Context(), f.batch, []string{fmt.Sprint(round, "a"), fmt.Sprint(round, "b")}, false))

					for _, c := range claims {
						if c.Attempt() != 1 {
							f.Errorf("attempt %d, want 1", c.Attempt())
						}
					}

					f.db.Inject(fault, fault)
					f.complete(claims...)
				}

				f.isShared(true, 0)

				for _, it := range f.db.Items("records") {
					if textOf(it, "st") != "COMPLETED" {
						f.Errorf("a record is left as%s", show(it))
					}
				}
			})
		})
	}
}

// onlyRequired has the methods that a Store demands and no others, as a decorator may.
type onlyRequired struct{ idemddb.DynamoDB }

func TestNewSaysOnceWhyRequestsCannotBeShared(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		opts     idemddb.Options
		required bool
		events   int
	}{
		"a client without the method":                  {idemddb.Options{}, true, 1},
		"Options.Single":                               {idemddb.Options{Single: true}, false, 0},
		"Options.Single, a client without the method":  {idemddb.Options{Single: true}, true, 0},
		"a TTL attribute that PartiQL does not accept": {idemddb.Options{TTLAttribute: "#expires"}, false, 1},
		"the same with a colon":                        {idemddb.Options{TTLAttribute: ":expires"}, false, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubbleOn(t, &c.opts, func(db *idemddbtest.DB) idemddb.DynamoDB {
				if c.required {
					return onlyRequired{db}
				}

				return db
			}, func(f *fixture) {
				f.isShared(false, c.events)

				claims := won(f.T, f.claimAll(10, false))
				f.want(tenSingle...)
				f.takes(0, func() { f.complete(claims...) })
				f.want(tenSingle...)
				f.replayed(10)
				<-time.After(time.Hour)
				f.isShared(false, c.events)
			})
		})
	}
}

func TestWhatPartiQLDoesNotAcceptIsForSingleRequests(t *testing.T) {
	t.Parallel()

	const arn = "arn:aws:dynamodb:eu-central-1:123456789012:table/records"

	for table, opts := range map[string]idemddb.Options{"records": {PartitionKey: "#pk"}, "others": {SortKey: ":sk"}, arn: {}} {
		log := &eventLog{}
		opts.Observe = log.observe

		s, err := idemddb.New(idemddbtest.New(nil), table, "test", &opts)
		if must(t, err); s.Batch().Ahead() != 0 || log.count(idemddb.KindUnshared) != 1 {
			t.Errorf("%s, %+v: ahead %d, events %v", table, opts, s.Batch().Ahead(), log.kinds())
		}
	}
}

func TestASingleRequestForAWriteIsNotWaitedForByOthers(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		claims := f.claims(3)
		f.db.InterceptStatements(forKey("0", idemddbtest.LostRequest)) // the shared request is refused as not valid
		f.complete(claims...)
		f.want("UPDATE×3", "UpdateItem")
		f.isIdle()
	})
}
