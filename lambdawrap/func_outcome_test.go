package lambdawrap_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// endingCase is the work of one key, and the outcome that it has with a claim.
type endingCase struct {
	before func(*funcHarness) // nil for nothing
	work   func(context.Context, *funcHarness) error
	want   lambdawrap.Outcome
}

// byAnother makes another worker complete the key, with a result of so many bytes.
func byAnother(size int, opts *idemddb.ClaimOptions) func(*funcHarness) {
	return func(f *funcHarness) {
		c, _, err := f.store.Claim(f.Context(), "o-1", opts)
		f.equal("claim", err, nil)
		f.equal("completion", c.Complete(f.Context(), []byte(`{"ID":"`+strings.Repeat("x", size)+`"}`)), nil)
	}
}

// fails makes the requests of an operation fail, or all of them for "".
func fails(f *funcHarness, operation string, fault idemddbtest.Fault) {
	f.db.Intercept(faultFor(func(r idemddbtest.Request) bool { return operation == "" || r.Operation == operation }, fault))
}

// takesOver lets another worker claim the key twice while the work runs, so that its fencing token is higher.
func takesOver(f *funcHarness) *idemddb.Claim {
	f.drop("o-1")
	f.equal("release", claim(f, f.store, "o-1").Release(f.Context(), nil), nil)

	return claim(f, f.store, "o-1")
}

func stagesACount(ctx context.Context, _ *funcHarness) error {
	return counting(ctx, events.SQSMessage{Body: "o-1"})
}

// stagesAFalseCondition returns work that stages an item whose condition is false.
func stagesAFalseCondition(refused func(*idemddb.EffectError) error) func(context.Context, *funcHarness) error {
	return func(ctx context.Context, _ *funcHarness) error { return stageRefused(ctx, refused) }
}

var endingCases = map[string]endingCase{
	"it succeeds": {nil, stagesACount, lambdawrap.OutcomeCompleted},
	"it fails":    {nil, func(context.Context, *funcHarness) error { return errBank }, lambdawrap.OutcomeReleased},
	"it fails for good": {nil, func(context.Context, *funcHarness) error {
		return lambdawrap.Permanent(errBank)
	}, lambdawrap.OutcomeFailed},
	"completed before": {byAnother(1, &idemddb.ClaimOptions{Fingerprint: "f"}), stagesACount, lambdawrap.OutcomeReplayed},
	"of another input": {byAnother(1, &idemddb.ClaimOptions{Fingerprint: "other"}), stagesACount, lambdawrap.OutcomeMismatch},
	"its result cannot be read": {func(f *funcHarness) {
		byAnother(40<<10, &idemddb.ClaimOptions{Fingerprint: "f"})(f)
		fails(f, "GetItem", idemddbtest.AccessDenied)
	}, stagesACount, lambdawrap.OutcomeUnanswered},
	"another worker holds it": {func(f *funcHarness) { claim(f, f.store, "o-1") }, stagesACount, lambdawrap.OutcomeInProgress},
	"it failed for good before": {func(f *funcHarness) {
		f.equal("failure", claim(f, f.store, "o-1").Fail(f.Context(), errBank), nil)
	}, stagesACount, lambdawrap.OutcomeRefused},
	"its record cannot be read": {func(f *funcHarness) {
		f.put(map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "payments#o-1"}, "v": &types.AttributeValueMemberN{Value: "99"},
		})
	}, stagesACount, lambdawrap.OutcomeCorrupt},
	"DynamoDB refuses all": {func(f *funcHarness) { fails(f, "", idemddbtest.AccessDenied) }, stagesACount, lambdawrap.OutcomeUnanswered},
	"the key is another worker's": {nil, func(_ context.Context, f *funcHarness) error {
		takesOver(f)

		return nil
	}, lambdawrap.OutcomeFenced},
	"the key is another worker's, and so is the effect": {nil, func(ctx context.Context, f *funcHarness) error {
		takesOver(f)

		return stagesACount(ctx, f)
	}, lambdawrap.OutcomeFenced},
	"another worker's result cannot be read": {nil, func(ctx context.Context, f *funcHarness) error {
		other := takesOver(f)
		f.equal("completion", other.Complete(f.Context(), []byte(`"`+strings.Repeat("x", 40<<10)+`"`)), nil)
		fails(f, "GetItem", idemddbtest.AccessDenied)

		return stagesACount(ctx, f)
	}, lambdawrap.OutcomeFenced},
	"a condition is false": {nil, stagesAFalseCondition(nil), lambdawrap.OutcomeReleased},
	"a condition is false for good": {nil, stagesAFalseCondition(func(e *idemddb.EffectError) error {
		return lambdawrap.Permanent(e)
	}), lambdawrap.OutcomeFailed},
	"what it staged is ignored": {nil, func(ctx context.Context, _ *funcHarness) error {
		_ = idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "nobody knows", Body: "b"}}})

		return nil
	}, lambdawrap.OutcomeReleased},
	"nobody knows whether it is committed": {func(f *funcHarness) {
		fails(f, "TransactWriteItems", idemddbtest.LostReply)
	}, stagesACount, lambdawrap.OutcomeUncommitted},
	"its message is not sent": {nil, func(ctx context.Context, _ *funcHarness) error {
		return announceTwice(ctx, events.SQSMessage{})
	}, lambdawrap.OutcomeUnsent},
}

func TestAnInvocationOfFuncHasTheOutcomeOfItsEnding(t *testing.T) {
	t.Parallel()

	opts := idemddb.Options{RedeliverUnsent: true, Senders: map[string]idemddb.Sender{"topic": alwaysSays{errTarget}}}

	for name, c := range endingCases {
		for _, isOptimistic := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, optimistic %t", name, isOptimistic), func(t *testing.T) {
				t.Parallel()

				var got, want lambdawrap.Outcome

				ends := func(run func(context.Context, *funcHarness)) {
					bubble(t, &opts, func(h *harness) {
						f := newFunc(h)
						if c.before != nil {
							c.before(f)
						}

						run(f.limited(20*time.Second), f)
					})
				}

				ends(func(ctx context.Context, f *funcHarness) {
					work, e := f.store.Begin(ctx, "o-1", &idemddb.ClaimOptions{Fingerprint: "f", Optimistic: isOptimistic})
					if work != nil {
						e = work.Settle(ctx, nil, c.work(work.Context(ctx), f))
					}

					want = lambdawrap.OutcomeOf(e)
				})
				ends(func(ctx context.Context, f *funcHarness) {
					f.opts.Optimistic = isOptimistic
					f.opts.Fingerprint = func(context.Context, order) (string, error) { return "f", nil }
					function := f.wrap(func(ctx context.Context, _ order) (paid, error) { return paid{}, c.work(ctx, f) })

					ctx, counted := lambdawrap.Counting(ctx)
					_, _ = function(ctx, order{ID: "o-1"})

					f.equal("outcomes", len(counted()), 1)
					got = counted()[0]
				})

				if got != want || !isOptimistic && want != c.want {
					t.Errorf("got %s, want that of the ending, which is %s, expected %s", got, want, c.want)
				}
			})
		}
	}
}

func TestTheOutcomeOfAnInvocationOfFuncThatHasNoEnding(t *testing.T) {
	t.Parallel()

	answer := func(key string, err error) func(*funcHarness) {
		return func(f *funcHarness) { f.opts.Key = func(context.Context, order) (string, error) { return key, err } }
	}

	for name, c := range map[string]struct {
		before func(*funcHarness)
		err    error // of the handler
		want   lambdawrap.Outcome
	}{
		"no function for the key":         {func(f *funcHarness) { f.opts.Key = nil }, nil, lambdawrap.OutcomeReleased},
		"no key":                          {answer("", nil), nil, lambdawrap.OutcomeNoKey},
		"a key that no record can have":   {answer("\xff", nil), nil, lambdawrap.OutcomeNoKey},
		"a key function that fails":       {answer("", idemddb.ErrInProgress), nil, lambdawrap.OutcomeReleased},
		"no time for the handler":         {func(f *funcHarness) { f.opts.Reserve = 20 * time.Second }, nil, lambdawrap.OutcomeNoTime},
		"an error of the handler's own":   {nil, lambdawrap.ErrNoTime, lambdawrap.OutcomeReleased},
		"a stored value of another type":  {func(f *funcHarness) { f.completes([]byte(`"text"`)) }, nil, lambdawrap.OutcomeCorrupt},
		"a result that was not kept":      {func(f *funcHarness) { f.opts.NeedResult = true; f.completes(make([]byte, 7<<20)) }, nil, lambdawrap.OutcomeReplayed},
		"a hook for replays that refuses": {func(f *funcHarness) { f.opts.OnReplay = refuses; f.completes(nil) }, nil, lambdawrap.OutcomeReplayed},
	} {
		each(t, name, inBubble(nil), func(h *harness) {
			f := newFunc(h)
			if c.before != nil {
				c.before(f)
			}

			ctx, counted := lambdawrap.Counting(f.limited(20 * time.Second))
			_, err := f.wrap(func(context.Context, order) (paid, error) { return paid{}, c.err })(ctx, order{ID: "o-1"})

			f.equal("fails", err != nil, true)
			f.equal("outcomes", counted(), []lambdawrap.Outcome{c.want})
		})
	}
}

// completes makes another worker complete the key.
func (f *funcHarness) completes(result []byte) {
	_ = claim(f, f.store, "o-1").Complete(f.Context(), result)
}

func refuses(context.Context, *idemddb.Record) error { return errBank }
