package idemddb_test

import (
	"context"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// denied lets BatchExecuteStatement meet an error.
type denied struct {
	*idemddbtest.DB

	err   error
	calls atomic.Int64
}

func (d *denied) BatchExecuteStatement(
	context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	d.calls.Add(1)

	return nil, d.err
}

func TestANoToGroupsTurnsThemOffAndEverythingGoesAlone(t *testing.T) {
	t.Parallel()

	for name, err := range map[string]error{
		"access denied":     &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "PartiQLInsert"},
		"unknown operation": &smithy.GenericAPIError{Code: "UnknownOperationException"},
	} {
		t.Run("claims: "+name, func(t *testing.T) {
			t.Parallel()

			var d *denied

			bubbleOn(t, nil, func(db *idemddbtest.DB) idemddb.DynamoDB {
				d = &denied{DB: db, err: err}

				return d
			}, func(p *party) {
				var claims []*idemddb.Claim

				p.takes(0, func() { claims = claimsIn(p.T, p.ask(10, false)) })
				p.want(slices.Repeat([]string{"UpdateItem"}, 10)...)
				p.complete(claims...)
				p.want(slices.Repeat([]string{"UpdateItem"}, 10)...)

				if d.calls.Load() != 1 || p.events.count(idemddb.Ungrouped) != 1 || p.store.Grouped() {
					p.Errorf("%d calls, %d events, grouped: %t; want 1, 1, false", d.calls.Load(), p.events.count(idemddb.Ungrouped), p.store.Grouped())
				}

				p.replayed(10)
			})
		})
	}
}

// What another call may change leaves groups on.
func TestACallThatIsRefusedForAnotherReasonGoesAloneThisTime(t *testing.T) {
	t.Parallel()

	for _, code := range []string{"ValidationException", "ExpiredTokenException", "ResourceNotFoundException", "SomethingNew"} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()

			var d *denied

			bubbleOn(t, nil, func(db *idemddbtest.DB) idemddb.DynamoDB {
				d = &denied{DB: db, err: &smithy.GenericAPIError{Code: code}}

				return d
			}, func(p *party) {
				var claims []*idemddb.Claim

				p.takes(0, func() { claims = claimsIn(p.T, p.ask(10, false)) })
				p.takes(0, func() { p.complete(claims...) })

				if d.calls.Load() != 2 || p.events.count(idemddb.Ungrouped) != 0 || !p.store.Grouped() {
					p.Errorf("%d calls, %d events, grouped: %t; want 2, 0, true", d.calls.Load(), p.events.count(idemddb.Ungrouped), p.store.Grouped())
				}

				p.replayed(10)
				p.lastDoesNotWait()
			})
		})
	}
}

func TestATableThatIsGivenAsAnARNIsToldOnce(t *testing.T) {
	t.Parallel()

	log := &eventLog{kinds: map[idemddb.Kind]int{}}

	s, err := idemddb.New(idemddbtest.New(nil), "arn:aws:dynamodb:eu-central-1:123456789012:table/records", "test", &idemddb.Options{Observe: log.observe})
	if err != nil {
		t.Fatal(err)
	}

	if s.Grouped() || log.count(idemddb.Ungrouped) != 1 {
		t.Errorf("grouped: %t, %d events", s.Grouped(), log.count(idemddb.Ungrouped))
	}
}

func TestADeniedCallOfManyGroupsOfClaimsIsMadeOnce(t *testing.T) {
	t.Parallel()

	var d *denied

	bubbleOn(t, nil, func(db *idemddbtest.DB) idemddb.DynamoDB {
		d = &denied{DB: db, err: &smithy.GenericAPIError{Code: "AccessDeniedException"}}

		return d
	}, func(p *party) {
		claimsIn(p.T, p.ask(100, false))

		if n := d.calls.Load(); n != 1 {
			p.Errorf("%d calls, want 1: what was denied is denied again", n)
		}
	})
}

func TestAccessDeniedOfACompletionTurnsGroupsOff(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(10)
		p.db.Inject(idemddbtest.AccessDenied)
		p.takes(0, func() { p.complete(claims...) })
		p.want(append([]string{"UPDATE×10"}, slices.Repeat([]string{"UpdateItem"}, 10)...)...)

		if p.store.Grouped() || p.events.count(idemddb.Ungrouped) != 1 {
			p.Errorf("grouped: %t, %d events", p.store.Grouped(), p.events.count(idemddb.Ungrouped))
		}

		p.replayed(10)
	})
}

func TestAccessDeniedOfStatementsTurnsGroupsOff(t *testing.T) {
	t.Parallel()

	for _, verb := range []string{"INSERT", "UPDATE"} {
		t.Run(verb, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(p *party) {
				p.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
					if r.Operation == verb {
						return idemddbtest.AccessDenied
					}

					return idemddbtest.None
				})

				var claims []*idemddb.Claim

				p.takes(0, func() { claims = claimsIn(p.T, p.ask(10, false)) })
				p.takes(0, func() { p.complete(claims...) })

				if p.store.Grouped() || p.events.count(idemddb.Ungrouped) != 1 || p.events.count(idemddb.Retried) != 0 {
					p.Errorf("grouped: %t, events: %v", p.store.Grouped(), p.events.kinds)
				}

				p.replayed(10)
			})
		})
	}
}

// After what went alone there is nothing left that others would wait for.
func TestWhatWentAloneIsNotAwaited(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(p *party) {
		claims := p.claims(3)
		p.db.InterceptStatements(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if textOf(r.Key, "pk") == "test#0" {
				return idemddbtest.LostRequest // refused as not valid
			}

			return idemddbtest.None
		})
		p.complete(claims...)
		p.want("UPDATE×3", "UpdateItem")
		p.lastDoesNotWait()
	})
}

// narrow hides everything that a Store does not need.
type narrow struct{ idemddb.DynamoDB }

func TestAClientThatHidesTheMethodIsToldOnceAndSingleIsNot(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name   string
		single bool
		hidden bool
		events int
	}{
		{"a client that hides the method", false, true, 1},
		{"Options.Single", true, false, 0},
		{"both", true, true, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			bubbleOn(t, &idemddb.Options{Single: c.single}, func(db *idemddbtest.DB) idemddb.DynamoDB {
				if c.hidden {
					return narrow{db}
				}

				return db
			}, func(p *party) {
				if n := p.events.count(idemddb.Ungrouped); n != c.events || p.store.Grouped() {
					p.Errorf("%d events, grouped: %t", n, p.store.Grouped())
				}

				claims := claimsIn(p.T, p.ask(10, false))
				p.want(slices.Repeat([]string{"UpdateItem"}, 10)...)
				p.takes(0, func() { p.complete(claims...) })
				p.want(slices.Repeat([]string{"UpdateItem"}, 10)...)
				p.replayed(10)

				if n := p.events.count(idemddb.Ungrouped); n != c.events {
					p.Errorf("%d events", n)
				}
			})
		})
	}
}

// exploding is a client that panics for as long as it is armed.
type exploding struct {
	*idemddbtest.DB

	armed atomic.Bool
}

func (e *exploding) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	if e.armed.Load() {
		panic("boom")
	}

	return e.DB.BatchExecuteStatement(ctx, in, opts...)
}

func (e *exploding) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	if e.armed.Load() {
		panic("boom")
	}

	return e.DB.UpdateItem(ctx, in, opts...)
}

func TestAPanicOfTheClientReachesItsCallersAndTheGroupGoesOn(t *testing.T) {
	t.Parallel()

	var client *exploding

	bubbleOn(t, nil, func(db *idemddbtest.DB) idemddb.DynamoDB {
		client = &exploding{DB: db}

		return client
	}, func(p *party) {
		panics := func(what string, code func()) {
			p.Helper()

			defer func() {
				if v := recover(); v != "boom" {
					p.Errorf("%s: recovered %v, want the client's panic", what, v)
				}
			}()

			code()
		}

		client.armed.Store(true)
		panics("claim", func() { p.ask(5, false) })
		client.armed.Store(false)

		claims := claimsIn(p.T, p.ask(5, false))

		client.armed.Store(true)
		atOnce(claims, func(c *idemddb.Claim) error {
			panics("complete", func() { _ = c.Complete(p.Context(), nil) })

			return nil
		})
		panics("complete alone", func() { _ = claims[0].Complete(p.Context(), nil) })
		client.armed.Store(false)
		p.complete(claims...)
		p.lastDoesNotWait()
	})
}

// In a process of its own: a panic in a goroutine that nobody can recover would end this one.
func TestAPanicOfTheClientReachesWhoClaimsALoneKey(t *testing.T) {
	t.Parallel()

	if !isChild(t) {
		return
	}

	_, db := newStore(t, nil)
	client := &exploding{DB: db}
	client.armed.Store(true)

	for name, opts := range map[string]*idemddb.Options{"a lone key": nil, "Options.Single": {Single: true}} {
		s, err := idemddb.New(client, "records", "test", opts)
		if err != nil {
			t.Fatal(err)
		}

		func() {
			defer func() {
				if v := recover(); v != "boom" {
					t.Errorf("%s: recovered %v, want the client's panic", name, v)
				}
			}()

			s.Group().Claim(t.Context(), numbered(1, false))
		}()
	}
}

// isChild runs the test in a process of its own, and tells it that it is that one.
func isChild(t *testing.T) bool {
	t.Helper()

	const env = "IDEMDDB_CHILD"
	if os.Getenv(env) == t.Name() {
		return true
	}

	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
	cmd.Env = append(os.Environ(), env+"="+t.Name())

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %.1000s", err, out)
	}

	return false
}

// quitting is a client that ends the goroutine that calls it.
type quitting struct{ *idemddbtest.DB }

func (quitting) UpdateItem(
	context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	runtime.Goexit()

	return nil, nil //nolint:nilnil // never
}

// Such as a fake of a test that calls Fatal.
func TestAClientThatEndsItsGoroutineLeavesNoAnswerEmpty(t *testing.T) {
	t.Parallel()
	bubbleOn(t, &idemddb.Options{Single: true}, func(db *idemddbtest.DB) idemddb.DynamoDB { return quitting{db} }, func(p *party) {
		done := make(chan []idemddb.ClaimAnswer, 1)

		go func() {
			defer close(done)

			defer func() { recover() }() // a panic would do, too

			done <- p.group.Claim(p.Context(), numbered(2, false))
		}()

		for _, a := range <-done {
			if a.Claim == nil && a.Record == nil && a.Err == nil {
				p.Error("an answer that is none")
			}
		}
	})
}
