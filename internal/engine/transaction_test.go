package engine_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/dbitem"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// answer is what DynamoDB answers to one transaction.
type answer func() (*dynamodb.TransactWriteItemsOutput, error)

func committed() (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{ConsumedCapacity: make([]types.ConsumedCapacity, 1)}, nil
}

func empty() (*dynamodb.TransactWriteItemsOutput, error) {
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

func noAnswer() (*dynamodb.TransactWriteItemsOutput, error) {
	return nil, errors.New("connection reset")
}

func refuses(code string) answer {
	return func() (*dynamodb.TransactWriteItemsOutput, error) {
		return nil, &smithy.GenericAPIError{Code: code, Message: "as the test says"}
	}
}

func cancels(codes ...string) answer {
	return func() (*dynamodb.TransactWriteItemsOutput, error) {
		e := &types.TransactionCanceledException{}
		for _, code := range codes {
			e.CancellationReasons = append(e.CancellationReasons, types.CancellationReason{Code: &code})
		}

		return nil, e
	}
}

// client gives these answers to transactions, and then commits. It keeps their tokens and sizes.
type client struct {
	mu      sync.Mutex
	answers []answer
	tokens  []string
	sizes   []int
	takes   time.Duration
}

func (c *client) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	c.mu.Lock()
	c.tokens = append(c.tokens, *in.ClientRequestToken)
	c.sizes = append(c.sizes, len(in.TransactItems))
	n := len(c.tokens)
	c.mu.Unlock()

	select {
	case <-time.After(c.takes):
	case <-ctx.Done():
		return nil, ctx.Err()
	}

	if n <= len(c.answers) {
		return c.answers[n-1]()
	}

	return committed()
}

func (*client) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, errors.New("not asked for here")
}

func (*client) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, errors.New("not asked for here")
}

// joint is a write of a record and its effects.
type joint struct {
	part    protocol.Part
	answers []protocol.Outcome
	last    protocol.Answer
}

func (*joint) Look() (none types.BatchStatementRequest) { return none }
func (*joint) HasEnded(protocol.Item) bool              { return false }

func (j *joint) Part() protocol.Part {
	part := j.part
	j.part.Token = ""

	return part
}

func (j *joint) Read(a protocol.Answer) (protocol.Step, error) {
	j.answers, j.last = append(j.answers, a.Outcome), a

	switch a.Outcome {
	case protocol.Applied, protocol.Refused, protocol.EffectRefused:
		return protocol.Done, nil
	default:
		return protocol.Again, a.Err
	}
}

type told struct {
	mu        sync.Mutex
	retries   []string
	conflicts []string
}

func engineOn(c *client) (*engine.Engine, *told) {
	t := &told{}

	return engine.New(engine.Config{
		API: c, Transactor: c,
		Retried: func(_ context.Context, key string, _ error) {
			t.mu.Lock()
			defer t.mu.Unlock()

			t.retries = append(t.retries, key)
		},
		Conflict: func(_ context.Context, key string, _ error) {
			t.mu.Lock()
			defer t.mu.Unlock()

			t.conflicts = append(t.conflicts, key)
		},
	}), t
}

// writeOf returns the write of a key, for up to 10 s.
func writeOf(key string, j *joint, keys ...string) engine.Write {
	items := make([]planner.Item, len(keys))
	for i := range keys {
		items[i].Key = keys[i]
	}

	return engine.Write{
		Operation: j, Key: key, Record: key, Joint: &planner.Joint{Items: items},
		Policy: planner.Policy{End: time.Now().Add(10 * time.Second), Pause: time.Second},
	}
}

var two = make([]types.TransactWriteItem, 2)

// Where a record decides what an earlier try has done, a token only saves a try. Where none does, the token alone keeps the
// effects from being written twice.
func TestWhichTokenIsSentAgain(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		answer answer
		same   bool
	}{
		"no answer":                   {noAnswer, true},
		"throttled":                   {refuses("ThrottlingException"), true},
		"in progress":                 {refuses("TransactionInProgressException"), true},
		"an answer without content":   {empty, false},
		"cancelled":                   {cancels("None", "None", "TransactionConflict"), false},
		"it belongs to another input": {refuses("IdempotentParameterMismatchException"), false},
	} {
		for kind, record := range map[string]*types.TransactWriteItem{"with a record": {}, "without a record": nil} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					db := &client{answers: []answer{c.answer}}
					e, _ := engineOn(db)

					j := &joint{part: protocol.Part{Record: record, Effects: two, Token: "first"}}
					if record == nil {
						j.part.Effects = make([]types.TransactWriteItem, 3) // as many items as the cancellation has reasons
					}

					w := writeOf("k", j, "a", "b", "c")
					w.Joint.IsUnrecorded, w.IsAlone = record == nil, record == nil

					if err := e.Send(t.Context(), w); err != nil {
						t.Fatal(err)
					}

					if want := c.same || record == nil; db.tokens[0] != "first" || (db.tokens[1] == "first") != want {
						t.Errorf("tokens: %q", db.tokens)
					}
				})
			})
		}
	}
}

// What a transaction without an answer has written is told by its records, under a new token, after it was sent twice.
func TestATransactionIsSentOnceMoreAsItWas(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &client{answers: []answer{noAnswer, noAnswer, noAnswer}}
		e, told := engineOn(db)

		if err := e.Send(t.Context(), writeOf("k", &joint{part: protocol.Part{Record: &types.TransactWriteItem{}, Token: "first"}})); err != nil {
			t.Fatal(err)
		}

		if tok := db.tokens; len(tok) != 4 || tok[1] != "first" || tok[2] == "first" || tok[3] != tok[2] || len(told.retries) != 3 {
			t.Errorf("tokens %q, retries %q", tok, told.retries)
		}

		db.tokens = nil
		together(t, e, writeOf("1", recorded()), writeOf("2", recorded()))

		if tok := db.tokens; len(tok) < 2 || tok[0] == "" || tok[1] != tok[0] {
			t.Errorf("tokens of a transaction of two writes: %q", tok)
		}
	})
}

// The sum of the two numbers has more digits than DynamoDB holds.
func TestAnAdditionThatDoesNotFitIntoASumTravelsAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &client{}
		e, _ := engineOn(db)

		var writes []engine.Write

		for _, number := range []string{"1", "1e100"} {
			n, err := dbitem.ParseNumber(number)
			if err != nil {
				t.Fatal(err)
			}

			j := recorded()
			j.part.Adds = []protocol.Addition{{Item: "sum", Values: map[string]*dbitem.Number{"n": n}}}
			w := writeOf(number, j)
			w.Joint.Items = []planner.Item{{Key: "sum", As: "+"}}
			writes = append(writes, w)
		}

		if errs := together(t, e, writes...); errs[0] != nil || errs[1] != nil || !slices.Equal(db.sizes, []int{2, 2}) {
			t.Errorf("errors %v, transactions of %v items, want two of a record and a sum", errs, db.sizes)
		}
	})
}

func TestATransactionInProgressIsAskedForUntilItEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &client{answers: slices.Repeat([]answer{refuses("TransactionInProgressException")}, 5)}
		e, _ := engineOn(db)

		if err := e.Send(t.Context(), writeOf("k", &joint{part: protocol.Part{Record: &types.TransactWriteItem{}, Token: "first"}})); err != nil {
			t.Fatal(err)
		}

		if !slices.Equal(db.tokens, slices.Repeat([]string{"first"}, 6)) {
			t.Errorf("tokens %q", db.tokens)
		}
	})
}

// together sends the writes so that they share a transaction: each waits for the others. It returns their errors.
func together(t *testing.T, e *engine.Engine, writes ...engine.Write) []error {
	t.Helper()

	return togetherUntil(t.Context(), e, writes...)
}

// togetherUntil does so until ctx ends.
func togetherUntil(ctx context.Context, e *engine.Engine, writes ...engine.Write) []error {
	var all sync.WaitGroup

	group := e.NewGroup()
	errs := make([]error, len(writes))

	for i, w := range writes {
		w.Group, w.Joint.Hold = group, time.Second
		begun := e.Begin(ctx, w)

		all.Go(func() { errs[i] = begun.Wait(ctx) })
	}

	group.Flush()
	all.Wait()

	return errs
}

func recorded() *joint { return &joint{part: protocol.Part{Record: &types.TransactWriteItem{}}} }

// The first is refused, the second meets a conflict, nothing is wrong with the third and the fourth.
func TestEachWriteOfACancelledTransactionGoesItsOwnWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &client{answers: []answer{cancels("ConditionalCheckFailed", "None", "TransactionConflict", "None", "None")}, takes: time.Millisecond}
		e, told := engineOn(db)
		first, second, third, fourth := recorded(), recorded(), recorded(), recorded()
		second.part.Effects = two[:1]

		for i, err := range together(t, e, writeOf("1", first), writeOf("2", second, "hot"), writeOf("3", third), writeOf("4", fourth)) {
			if err != nil {
				t.Errorf("write %d: %v", i, err)
			}
		}

		if !slices.Equal(db.sizes, []int{5, 2, 2}) || !slices.Equal(told.retries, []string{"2"}) || !slices.Equal(told.conflicts, []string{"2"}) {
			t.Errorf("transactions of %v items, retries of %q, conflicts of %q", db.sizes, told.retries, told.conflicts)
		}

		if first.last.Outcome != protocol.Refused || second.last.Outcome != protocol.Applied || third.last.Outcome != protocol.Applied {
			t.Errorf("outcomes: %v, %v, %v", first.answers, second.answers, third.answers)
		}
	})
}

// Nothing in such an answer says what stood in the way, so nothing says that it is out of the way now.
func TestWritesOfATransactionThatWasCancelledForNoReasonPause(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &client{answers: []answer{cancels("None", "None")}, takes: time.Millisecond}
		e, told := engineOn(db)

		if err := errors.Join(together(t, e, writeOf("1", recorded()), writeOf("2", recorded()))...); err != nil {
			t.Error(err)
		}

		if slices.Sort(told.retries); !slices.Equal(told.retries, []string{"1", "2"}) {
			t.Errorf("retries of %q, want of both", told.retries)
		}
	})
}

func TestWhatIsRefusedAsAWholeIsSentAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &client{answers: []answer{refuses("ValidationException"), committed, refuses("ValidationException")}}
		e, _ := engineOn(db)
		errs := together(t, e, writeOf("1", recorded()), writeOf("2", recorded()))

		if (errs[0] == nil) == (errs[1] == nil) || !slices.Equal(db.sizes, []int{2, 1, 1}) {
			t.Errorf("errors %v, transactions of %v items", errs, db.sizes)
		}
	})
}

// Three such answers in a row counted as a commit once, and a proxy that gave them lost ten effects.
func TestAnAnswerWithoutConsumedCapacityNeverProvesACommit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &client{answers: slices.Repeat([]answer{empty}, 1_000)}
		e, _ := engineOn(db)

		j := recorded()
		if err := e.Send(t.Context(), writeOf("k", j)); !errors.Is(err, protocol.ErrNoContent) || slices.Contains(j.answers, protocol.Applied) {
			t.Errorf("the error is %v although no answer has content", err)
		}
	})
}

// stepping is a joint write that asks for this step, whatever the answer is.
type stepping struct {
	*joint

	step   protocol.Step
	isRead func()
}

func (s stepping) Read(a protocol.Answer) (protocol.Step, error) {
	s.isRead()

	return s.step, a.Err
}

// No further try of it is made, so the answer to the last one says why it is not written.
func TestAWriteWhoseCallerLeavesHasTheErrorOfItsLastTry(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		step     protocol.Step
		own, sum string // the reasons of the first write's own item, and of the one to which two of the writes add
	}{
		"one waits for an item, the others follow at once": {protocol.Again, "TransactionConflict", "None"},
		"two must be sent alone, because of a sum":         {protocol.Again, "None", "ValidationError"},
		"they have another statement":                      {protocol.Other, "None", "None"},
		"they ask to be sent alone":                        {protocol.Single, "None", "None"},
	} {
		synctest.Test(t, func(t *testing.T) {
			db := &client{answers: []answer{cancels("None", c.own, "None", "None", "None", "None", c.sum)}, takes: time.Millisecond}
			e, _ := engineOn(db)

			ctx, leave := context.WithCancel(t.Context())
			defer leave()

			var writes []engine.Write

			for _, key := range []string{"1", "2", "3"} {
				j := recorded()
				j.part.Effects = two[:1]
				w := writeOf(key, j, "own item of "+key)

				if key == "3" { // it is read last
					w.Operation = stepping{j, c.step, leave}
				} else {
					j.part.Adds = []protocol.Addition{{Item: "sum", Values: map[string]*dbitem.Number{}}}
					w.Operation, w.Joint.Items = stepping{j, c.step, func() {}}, append(w.Joint.Items, planner.Item{Key: "sum", As: "+"})
				}

				writes = append(writes, w)
			}

			for i, err := range togetherUntil(ctx, e, writes...) {
				if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "the transaction was cancelled") {
					t.Errorf("%s: write %d: got %v, want why its transaction was cancelled", name, i+1, err)
				}
			}

			if db.sizes[0] != 7 {
				t.Errorf("%s: a transaction of %d items, want all seven", name, db.sizes[0])
			}
		})
	}
}

func TestMissingReasonsAreNoAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := &client{answers: []answer{cancels("ConditionalCheckFailed")}}
		e, _ := engineOn(db)
		j := &joint{part: protocol.Part{Record: &types.TransactWriteItem{}, Effects: two}}

		if err := e.Send(t.Context(), writeOf("k", j, "a", "b")); err != nil {
			t.Error(err)
		}

		if !slices.Equal(j.answers, []protocol.Outcome{protocol.Unknown, protocol.Applied}) {
			t.Errorf("outcomes: %v", j.answers)
		}
	})
}

// Another writer holds the record, or an item whose key the planner does not know, and an item is hot as well. The next tries
// have the write's own growing pauses, not those of the gate, which stay short: what is held may be held for long.
func TestAWriteThatDoesNotOnlyMeetHotItemsHasItsOwnPauses(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		reasons, items []string
		isGated        bool
	}{
		"its record is held":           {[]string{"TransactionConflict", "TransactionConflict"}, []string{"hot"}, false},
		"an item of unknown key is so": {[]string{"None", "TransactionConflict", "TransactionConflict"}, []string{"", "hot"}, false},
		"nothing but a hot item is so": {[]string{"None", "TransactionConflict"}, []string{"hot"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				db := &client{takes: time.Millisecond}
				e, _ := engineOn(db)

				if err := e.Send(t.Context(), writeOf("other", recorded())); err != nil { // T is 1 ms
					t.Fatal(err)
				}

				db.answers = append([]answer{committed}, slices.Repeat([]answer{cancels(c.reasons...)}, 10)...)

				j := recorded()
				j.part.Effects = two[:len(c.items)]
				begun := time.Now()

				if err := e.Send(t.Context(), writeOf("k", j, c.items...)); err != nil {
					t.Fatal(err)
				}

				if took := time.Since(begun); (took < 250*time.Millisecond) != c.isGated { // ten times the gate take 180 ms at most
					t.Errorf("ten tries in %v", took)
				}
			})
		})
	}
}
