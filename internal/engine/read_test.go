package engine_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// looker is a joint write whose record may have ended.
type looker struct{ joint }

func (*looker) Look() types.BatchStatementRequest { return types.BatchStatementRequest{} }

func (*looker) HasEnded(found protocol.Item) bool { return found["ended"] != nil }

func looks() *looker { return &looker{*recorded()} }

// ended is a record whose key has ended, and begun one whose key has not.
var ended, begun = protocol.Item{"ended": &types.AttributeValueMemberBOOL{}}, protocol.Item{"begun": &types.AttributeValueMemberBOOL{}}

// lookedOf writes the record of a key, for up to 10 s.
func lookedOf(key string, l *looker) engine.Write {
	w := writeOf(key, &l.joint)
	w.Operation = l

	return w
}

// read is what DynamoDB answers to one read.
type read func(ctx context.Context) (*dynamodb.BatchExecuteStatementOutput, error)

// reader is a client whose reads have these answers, the last one again and again. It keeps how many records each read is of.
type reader struct {
	*client

	reads []read
	mu    sync.Mutex
	sizes []int
}

func (r *reader) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	r.mu.Lock()
	r.sizes = append(r.sizes, len(in.Statements))
	n := len(r.sizes)
	r.mu.Unlock()

	return r.reads[min(n, len(r.reads))-1](ctx)
}

// finds answers a read with these responses.
func finds(responses ...types.BatchStatementResponse) read {
	return func(context.Context) (*dynamodb.BatchExecuteStatementOutput, error) {
		return &dynamodb.BatchExecuteStatementOutput{Responses: responses}, nil
	}
}

// engineThatReads returns an Engine that has just met a record whose key had ended, so that it reads before its next
// transactions. told are the keys whose callers were told that reads are denied.
func engineThatReads(t *testing.T, reads ...read) (*engine.Engine, *reader, *[]string) {
	t.Helper()

	return engineThatMet(t, ended, reads...)
}

// engineThatMet is engineThatReads for another record that was met.
func engineThatMet(t *testing.T, met protocol.Item, reads ...read) (*engine.Engine, *reader, *[]string) {
	t.Helper()

	r := &reader{client: &client{answers: []answer{func() (*dynamodb.TransactWriteItemsOutput, error) {
		return nil, &types.TransactionCanceledException{CancellationReasons: []types.CancellationReason{{Code: new("ConditionalCheckFailed"), Item: met}}}
	}}, takes: time.Millisecond}, reads: reads}

	var (
		mu   sync.Mutex
		told []string
	)

	nothing := func(context.Context, string, error) {}
	e := engine.New(engine.Config{
		API: r, Transactor: r, Shared: r, Retried: nothing, Conflict: nothing, Unshared: nothing,
		Unread: func(_ context.Context, key string, _ error) {
			mu.Lock()
			defer mu.Unlock()

			told = append(told, key)
		},
	})

	if err := e.Send(t.Context(), lookedOf("met", looks())); err != nil {
		t.Fatal(err)
	}

	r.client.sizes = nil

	return e, r, &told
}

// The first of two writes has its answer from the read, and is not sent, only if the read shows a record whose key has ended.
func TestAReadAnswersAWriteWhoseKeyHasEndedAndNoOther(t *testing.T) {
	t.Parallel()

	code := types.BatchStatementErrorCodeEnumConditionalCheckFailed

	for name, c := range map[string]struct {
		first types.BatchStatementResponse
		want  int
	}{
		"ended":            {types.BatchStatementResponse{Item: ended}, 1},
		"not ended":        {types.BatchStatementResponse{Item: begun}, 2},
		"no record":        {types.BatchStatementResponse{}, 2},
		"no answer to it":  {types.BatchStatementResponse{Error: &types.BatchStatementError{Code: types.BatchStatementErrorCodeEnumThrottlingError}}, 2},
		"no read's answer": {types.BatchStatementResponse{Error: &types.BatchStatementError{Code: code, Item: ended}}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, r, _ := engineThatReads(t, finds(c.first, types.BatchStatementResponse{Item: begun}))
				first, second := looks(), looks()

				if errs := together(t, e, lookedOf("1", first), lookedOf("2", second)); errs[0] != nil || errs[1] != nil {
					t.Error(errs)
				}

				if !slices.Equal(r.client.sizes, []int{c.want}) || !slices.Equal(r.sizes, []int{2}) {
					t.Errorf("transactions of %v items, reads of %v", r.client.sizes, r.sizes)
				}

				want := protocol.Applied
				if c.want == 1 {
					want = protocol.Refused
				}

				if !slices.Equal(first.answers, []protocol.Outcome{want}) || !slices.Equal(second.answers, []protocol.Outcome{protocol.Applied}) {
					t.Errorf("outcomes %v and %v", first.answers, second.answers)
				}
			})
		})
	}
}

// A key that another worker holds is no duplicate: it is refused, and the next transaction is not read first.
func TestOnlyARecordWhoseKeyHasEndedCausesReads(t *testing.T) {
	t.Parallel()

	for name, met := range map[string]protocol.Item{"ended": ended, "not ended": begun} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				e, r, _ := engineThatMet(t, met, finds(types.BatchStatementResponse{}, types.BatchStatementResponse{}))
				together(t, e, lookedOf("1", looks()), lookedOf("2", looks()))

				if isRead := len(r.sizes) > 0; isRead != (name == "ended") {
					t.Errorf("reads of %v", r.sizes)
				}
			})
		})
	}
}

func TestAReadThatHangsLeavesTimeForItsTransaction(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, r, _ := engineThatReads(t, func(ctx context.Context) (*dynamodb.BatchExecuteStatementOutput, error) {
			<-ctx.Done()

			return nil, ctx.Err()
		})
		first := looks()

		if errs := together(t, e, lookedOf("1", first), lookedOf("2", looks())); errs[0] != nil || errs[1] != nil {
			t.Error(errs)
		}

		if !slices.Equal(first.answers, []protocol.Outcome{protocol.Applied}) || !slices.Equal(r.client.sizes, []int{2}) {
			t.Errorf("outcomes %v, transactions of %v items", first.answers, r.client.sizes)
		}
	})
}

// The first caller leaves while its record is read, and what is read is not for it any more.
func TestAWriteWhoseCallerLeavesDuringTheReadIsNotSent(t *testing.T) {
	t.Parallel()

	for name, found := range map[string]protocol.Item{"ended": ended, "not ended": begun} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				ctx, leave := context.WithCancel(t.Context())
				defer leave()

				e, r, _ := engineThatReads(t, func(ctx context.Context) (*dynamodb.BatchExecuteStatementOutput, error) {
					leave()
					time.Sleep(time.Millisecond) //nolint:forbidigo // this moves the bubble's clock

					return finds(types.BatchStatementResponse{Item: found}, types.BatchStatementResponse{Item: begun})(ctx)
				})

				group := e.NewGroup()
				first, second := looks(), looks()
				w1, w2 := lookedOf("1", first), lookedOf("2", second)
				w1.Group, w2.Group, w1.Joint.Hold, w2.Joint.Hold = group, group, time.Second, time.Second
				left, stays := e.Begin(ctx, w1), e.Begin(t.Context(), w2)

				var all sync.WaitGroup

				all.Go(func() {
					if err := left.Wait(ctx); !errors.Is(err, context.Canceled) {
						t.Errorf("the first: got %v", err)
					}
				})
				all.Go(func() {
					if err := stays.Wait(t.Context()); err != nil {
						t.Errorf("the second: got %v", err)
					}
				})
				group.Flush()
				all.Wait()

				if len(first.answers) > 0 || !slices.Equal(r.client.sizes, []int{1}) {
					t.Errorf("outcomes %v, transactions of %v items", first.answers, r.client.sizes)
				}
			})
		})
	}
}

// Another write of the first record waits while that record is read. It leaves when the read has answered, although the
// transaction of the second write, which takes a second, is still under way.
func TestARecordThatAReadHasAnsweredIsFreeForTheNextWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e, r, _ := engineThatReads(t, func(ctx context.Context) (*dynamodb.BatchExecuteStatementOutput, error) {
			<-time.After(2 * time.Millisecond)

			return finds(types.BatchStatementResponse{Item: ended}, types.BatchStatementResponse{Item: begun})(ctx)
		})
		r.takes = time.Second
		asked := time.Now()

		var all sync.WaitGroup

		all.Go(func() { together(t, e, lookedOf("1", looks()), lookedOf("2", looks())) })
		all.Go(func() {
			<-time.After(time.Millisecond)

			if err := e.Send(t.Context(), lookedOf("1", looks())); err != nil || time.Since(asked) != 1002*time.Millisecond {
				t.Errorf("answered after %v, %v, want 1.002s: 2 ms of the read, and its own transaction", time.Since(asked), err)
			}
		})
		all.Wait()
	})
}

func TestADenialOfReadsIsAskedForAgainAfterFiveMinutes(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		denied := func(context.Context) (*dynamodb.BatchExecuteStatementOutput, error) {
			return nil, &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "dynamodb:PartiQLSelect"}
		}
		allowed := func(ctx context.Context) (*dynamodb.BatchExecuteStatementOutput, error) {
			<-time.After(20 * time.Millisecond)

			return finds(types.BatchStatementResponse{Item: begun}, types.BatchStatementResponse{Item: begun})(ctx)
		}
		e, r, told := engineThatReads(t, denied, denied, allowed)

		var reads []int

		for range 13 { // two transactions each minute, the second while the first is under way
			var all sync.WaitGroup

			all.Go(func() { together(t, e, lookedOf("1", looks()), lookedOf("2", looks())) })
			all.Go(func() {
				<-time.After(time.Millisecond)
				together(t, e, lookedOf("3", looks()), lookedOf("4", looks()))
			})
			all.Wait()

			reads = append(reads, len(r.sizes))

			<-time.After(time.Minute)
		}

		if want := []int{1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 3, 5, 7}; !slices.Equal(reads, want) {
			t.Errorf("reads %v, want %v", reads, want)
		}

		if len(*told) != 2 {
			t.Errorf("told %q, want two callers", *told)
		}
	})
}
