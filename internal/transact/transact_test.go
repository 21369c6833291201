package transact_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/transact"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// answer is what DynamoDB answers to one try.
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

// sent is a transaction with the answers that it gets until it is committed, and how often its hooks were called.
type sent struct {
	*transact.Transaction

	answers            []answer
	tokens             []string
	retries, conflicts int
}

// TransactWriteItems gives the next answer.
func (s *sent) TransactWriteItems(
	_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	s.tokens = append(s.tokens, *in.ClientRequestToken)

	if n := len(s.tokens); n <= len(s.answers) {
		return s.answers[n-1]()
	}

	return committed()
}

func transaction(answers ...answer) *sent {
	s := &sent{Transaction: &transact.Transaction{Key: "k", Token: "first"}, answers: answers}
	s.Client = &transact.Client{
		API: s, Retried: func(_ context.Context, key string, _ error) { s.retries += len(key) },
		Conflict: func(_ context.Context, key string) { s.conflicts += len(key) },
	}

	return s
}

// send sends the transaction for up to 10 s.
func (s *sent) send(t *testing.T) error {
	t.Helper()

	return s.Send(t.Context(), planner.Policy{End: time.Now().Add(10 * time.Second), Pause: time.Second})
}

var effects = make([]types.TransactWriteItem, 2)

func TestWhatAnAnswerSaysOfARecordAndItsTwoEffects(t *testing.T) {
	t.Parallel()

	const none, failed, conflict = "None", "ConditionalCheckFailed", "TransactionConflict"

	for name, c := range map[string]struct {
		answers []answer
		want    transact.Part
		tries   int
		unknown bool
	}{
		"committed": {nil, transact.Part{}, 1, false},
		"refused as a single write is": {
			[]answer{func() (*dynamodb.TransactWriteItemsOutput, error) {
				return nil, &types.ConditionalCheckFailedException{}
			}},
			transact.Part{Refusal: &transact.Refusal{Index: -1, Code: "ConditionalCheckFailedException"}}, 1, false,
		},
		"an effect is refused":               {[]answer{cancels(none, "", failed)}, transact.Part{Refusal: &transact.Refusal{Index: 1, Code: failed}}, 1, false},
		"an effect can never be written":     {[]answer{cancels(none, "ValidationError", none)}, transact.Part{Refusal: &transact.Refusal{Code: "ValidationError"}}, 1, false},
		"the record is refused":              {[]answer{cancels(failed, failed, conflict)}, transact.Part{RecordRefused: true}, 1, false},
		"the record can never be written":    {[]answer{cancels("ValidationError", failed, none)}, transact.Part{Refusal: &transact.Refusal{Index: -1, Code: "ValidationError"}}, 1, false},
		"the record may be written later":    {[]answer{cancels("ValidationError", none, conflict)}, transact.Part{}, 2, false},
		"a refused effect beside a conflict": {[]answer{cancels(none, failed, conflict)}, transact.Part{}, 2, false},
		"a reason that nobody knows":         {[]answer{cancels(none, none, "SomethingNew")}, transact.Part{}, 2, false},
		"a reason is missing":                {[]answer{cancels(none, failed)}, transact.Part{}, 2, true},
		"an empty answer":                    {[]answer{empty}, transact.Part{}, 2, true},
		"refused after a try without an answer": {
			[]answer{noAnswer, cancels(none, failed, none)}, transact.Part{Refusal: &transact.Refusal{Code: failed, Unknown: true}}, 2, true,
		},
		"refused after a token of another's": {
			[]answer{refuses("IdempotentParameterMismatchException"), cancels(none, failed, none)},
			transact.Part{Refusal: &transact.Refusal{Code: failed, Unknown: true}}, 2, true,
		},
		"denied": {
			[]answer{refuses("AccessDeniedException")}, transact.Part{Refusal: &transact.Refusal{Index: -1, Code: "AccessDeniedException"}}, 1, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := transaction(c.answers...)
				got := s.Add(&types.TransactWriteItem{}, effects)

				if err := s.send(t); err != nil {
					t.Fatal(err)
				}

				texts := cmpopts.IgnoreFields(transact.Refusal{}, "Message", "Cause")
				if diff := cmp.Diff(&c.want, got, texts, cmpopts.IgnoreUnexported(transact.Part{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}

				if s.IsRefused() != got.IsRefused() || s.Unknown != c.unknown || len(s.tokens) != c.tries || s.retries != c.tries-1 {
					t.Errorf("refused: %t, unknown: %t, tries: %d, retries: %d", s.IsRefused(), s.Unknown, len(s.tokens), s.retries)
				}
			})
		})
	}
}

// Where a record decides what an earlier try has done, a token only saves a try. Where none does, the token alone keeps the effects from
// being written twice.
func TestWhichTokenIsSentAgain(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		answer answer
		same   bool
	}{
		"no answer":                   {noAnswer, true},
		"throttled":                   {refuses("ThrottlingException"), true},
		"an answer without content":   {empty, false},
		"cancelled":                   {cancels("None", "None", "TransactionConflict"), false},
		"it belongs to another input": {refuses("IdempotentParameterMismatchException"), false},
	} {
		for kind, record := range map[string]*types.TransactWriteItem{"with a record": {}, "without a record": nil} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					s := transaction(c.answer)
					if record == nil {
						s.Add(nil, make([]types.TransactWriteItem, 3)) // three items in either case, as many as the cancellation has reasons
					} else {
						s.Add(record, effects)
					}

					if err := s.send(t); err != nil {
						t.Fatal(err)
					}

					if want := c.same || record == nil; s.tokens[0] != "first" || (s.tokens[1] == "first") != want {
						t.Errorf("tokens: %q", s.tokens)
					}
				})
			})
		}
	}
}

// DynamoDB forgets a token ten minutes after its transaction. Without a record, a later try could write the effects again.
func TestWithoutARecordNoTryIsMadeWhenTheTokenMayBeForgotten(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		record *types.TransactWriteItem
		want   time.Duration
	}{
		"without a record": {nil, 10 * time.Minute},
		"with a record":    {&types.TransactWriteItem{}, time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				s := transaction(slices.Repeat([]answer{empty}, 1_000_000)...)
				s.Add(c.record, effects)
				err := s.Send(t.Context(), planner.Policy{End: began.Add(time.Hour), Pause: time.Second})

				if took := time.Since(began); !errors.Is(err, protocol.ErrNoContent) || took > c.want || took < c.want-time.Minute {
					t.Errorf("%v after %v, want it after %v", err, took, c.want)
				}
			})
		})
	}
}

func TestPartsThatAreCancelledTogetherTwiceAreToBeSentAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		conflict := cancels("None", "TransactionConflict")
		s := transaction(conflict, conflict, conflict)
		s.Add(&types.TransactWriteItem{}, nil)
		s.Add(&types.TransactWriteItem{}, nil)

		if err := s.send(t); !errors.Is(err, wire.ErrFinal) || s.Cancels != transact.MaxTogether || s.conflicts != 2 || s.IsRefused() {
			t.Errorf("%v after %d cancellations and %d conflicts", err, s.Cancels, s.conflicts)
		}
	})
}

func TestEachPartHasItsOwnReasons(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := transaction(cancels("None", "None", "None", "ConditionalCheckFailed", "None", "ConditionalCheckFailed"))
		parts := []*transact.Part{
			s.Add(&types.TransactWriteItem{}, effects), s.Add(&types.TransactWriteItem{}, nil), s.Add(nil, effects),
		}

		if err := s.send(t); err != nil {
			t.Fatal(err)
		}

		if parts[0].IsRefused() || !parts[1].RecordRefused || parts[2].Refusal == nil || parts[2].Refusal.Index != 1 {
			t.Errorf("%+v, %+v, %+v", parts[0], parts[1], parts[2])
		}
	})
}

func TestWhatIsRefusedAsAWholeIsNoAnswerToSeveralParts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s := transaction(refuses("ValidationException"))
		s.Add(nil, effects)
		s.Add(nil, effects)

		if err := s.send(t); wire.Code(err) != "ValidationException" || s.IsRefused() {
			t.Errorf("%v", err)
		}
	})
}

// Three such answers in a row counted as a commit once, and a proxy that gave them lost ten effects.
func TestAnAnswerWithoutConsumedCapacityNeverProvesACommit(t *testing.T) {
	t.Parallel()

	for kind, record := range map[string]*types.TransactWriteItem{"with a record": {}, "without a record": nil} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				s := transaction(slices.Repeat([]answer{empty}, 5)...)
				s.Add(record, effects)

				if err := s.send(t); err != nil || len(s.tokens) != 6 || !s.Unknown {
					t.Errorf("%v after %d tries, unknown: %t", err, len(s.tokens), s.Unknown)
				}

				s = transaction(slices.Repeat([]answer{empty}, 1_000)...)
				s.Add(record, effects)

				if err := s.send(t); !errors.Is(err, protocol.ErrNoContent) {
					t.Errorf("the error is %v although no answer has content", err)
				}
			})
		})
	}
}

func TestBetweenIsCalledBeforeEachFurtherTry(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		calls := 0
		s := transaction(noAnswer, noAnswer)
		s.Between = func(context.Context) {
			if calls++; calls != len(s.tokens) {
				t.Errorf("call %d after %d tries", calls, len(s.tokens))
			}
		}

		s.Add(&types.TransactWriteItem{}, effects)

		if err := s.send(t); err != nil || calls != 2 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
}
