package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// These tests say what becomes of a message whose claim or settlement DynamoDB refuses, or whose invocation is cancelled while it
// runs.

func TestAClaimThatIsRefusedByDynamoDBComesBack(t *testing.T) {
	t.Parallel()

	h := newHarness(t, &idemddb.Options{Single: true})
	h.db.Inject(idemddbtest.AccessDenied)
	h.expect(h.handle(succeed), batch("m1 k1", "m2 k2"), []string{"m1"}, []string{"m2"})
	h.logs("access denied", "outcome=unanswered", `look="idem show --hash `+record.KeyHash("k1"))
}

func TestWhatAFencedSuccessBecomes(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		other  func(*harness, *idemddb.Claim) error
		failed []string
	}{
		"the other completed: done": {func(h *harness, c *idemddb.Claim) error { return c.Complete(h.Context(), nil) }, nil},
		"the other completed, and this one fails: done": {
			func(h *harness, c *idemddb.Claim) error { return errors.Join(c.Complete(h.Context(), nil), errBank) }, nil,
		},
		"the other still runs: failed":                       {func(*harness, *idemddb.Claim) error { return nil }, []string{"m1"}},
		"the other failed for good: failed":                  {func(h *harness, c *idemddb.Claim) error { return c.Fail(h.Context(), nil) }, []string{"m1"}},
		"the record was deleted: done, and not created anew": {func(h *harness, _ *idemddb.Claim) error { h.drop("k"); return nil }, nil},
	} {
		var last idemddb.Kind

		opts := idemddb.Options{Observe: func(_ context.Context, e idemddb.Event) { last = e.Kind }}
		each(t, name, inBubble(&opts), func(h *harness) {
			function := h.handle(func(context.Context, events.SQSMessage) error { return c.other(h, h.steal("k")) })
			h.expect(function, batch("m1 k"), c.failed, []string{"m1"})
			h.equal("event", last, idemddb.KindFenced)
			h.logs("level=ERROR", "outcome=fenced", fmt.Sprint("comesBack=", c.failed != nil))
		})
	}
}

// A denied completion is tried again for one lease, because a permission may just have been changed. Then the work counts as
// done. What is staged does not: it happens with its commit, and the record decides at the next delivery.
func TestACompletionThatNeverGetsThroughIsDoneUnlessItsEffectIsStaged(t *testing.T) {
	t.Parallel()

	for _, c := range []unwritten{
		{idemddbtest.AccessDenied, 1, "INPROGRESS", "INPROGRESS released", "released", []string{"m1"}},
		{idemddbtest.Throttle, 1, "INPROGRESS", "none", "uncommitted", []string{"m1"}},
		{idemddbtest.LostRequest, 1, "INPROGRESS", "none", "uncommitted", []string{"m1"}},
		{idemddbtest.LostReply, 1, "COMPLETED", "COMPLETED", "uncommitted", nil},
		{idemddbtest.AccessDenied, 2, "INPROGRESS", "INPROGRESS released", "released", []string{"m1"}},
		{idemddbtest.Throttle, 2, "INPROGRESS", "INPROGRESS", "uncommitted", []string{"m1"}},
		{idemddbtest.LostReply, 2, "COMPLETED", "COMPLETED", "uncommitted", nil},
	} {
		each(t, fmt.Sprintf("%s, delivery %d", c.fault, c.delivery), everyWayAndOptimistic, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
			h.db.Intercept(faultFor(isCallOf(isCompletion), c.fault))

			function, begun := wrap(succeed), time.Now()
			response, err := function(h.Context(), deliveredFor(batch("m1 k1"), c.delivery))
			h.equal("error", err, nil)
			h.ran("m1")

			h.lasts(time.Since(begun), time.Second, 31*time.Second) // the completion is tried for about one lease of 30 s

			if h.opts.Optimistic {
				h.equal("failed", ids(response), []string{"m1"})
				c.comesBack(h, function)

				return
			}

			h.equal("failed", ids(response), []string(nil))
			h.equal("events", h.count(idemddb.KindUnrecorded), 1)
			h.equal("record", h.state("k1"), c.claimed)
			h.logs(`level=ERROR msg="the message is done`, "outcome=unrecorded", "comesBack=false")
		})
	}
}

// unwritten is a fault of all completions, and what it leads to.
type unwritten struct {
	fault               idemddbtest.Fault
	delivery            int      // of the message; the second one is claimed with Optimistic, too
	claimed, optimistic string   // the record
	outcome             string   // with Optimistic
	again               []string // what the next delivery runs with Optimistic; nothing where it is a replay
}

// comesBack demands that a message has failed because its commit had no success, and that its effect happens once.
func (c unwritten) comesBack(h *harness, function wrapped) {
	h.Helper()
	h.equal("events", h.count(idemddb.KindUncommitted) == 1, c.outcome == "uncommitted")
	h.equal("unrecorded", h.count(idemddb.KindUnrecorded), 0)
	h.equal("record", h.state("k1"), c.optimistic)
	h.logs(`level=WARN msg="the message is reported failed"`, "outcome="+c.outcome, "comesBack=true")

	h.db.Intercept(nil)
	time.Sleep(time.Minute) // a lease is over

	h.check(function, deliveredFor(batch("m1 k1"), c.delivery+1), nil, c.again)
	h.equal("committed", h.counted("k1"), "1")
}

// The handler that runs when the invocation's context is cancelled still counts. Nothing starts after it.
func TestAnInvocationThatIsCancelledStillSettles(t *testing.T) {
	everyWayAndOptimistic(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		ctx, cancel := context.WithCancel(h.Context())
		defer cancel()

		response, err := wrap(byKey(map[string]lambdawrap.Handler{"k1": does(func() error {
			time.Sleep(1500 * time.Millisecond) // at this time no claim is under way
			cancel()
			time.Sleep(time.Second)

			return nil
		})}, slowly(time.Second)))(ctx, numbered(10))
		h.equal("error", err, nil)
		h.equal("k1", h.state("k1"), "COMPLETED")

		for i := range 10 {
			key, id := fmt.Sprint("k", i), fmt.Sprint("m", i)
			ran := slices.Contains(h.runs.all(), id)

			h.equal(id+" is reported unless it ran", slices.Contains(ids(response), id), !ran)
			h.equal(key+" is completed if its message ran", h.state(key) == "COMPLETED", ran)
			h.equal(key+" is held", h.state(key) == "INPROGRESS", false)
		}

		h.noRenewals()
	})
}

// The handler has completed its claim itself, and the answer to that was lost. Its own answer needs no result of the record.
func TestHTTPAnAnswerNeedsNoResultOfItsOwnRecord(t *testing.T) {
	inWebBubble(&idemddb.Options{Results: &unreadable{}})(t, func(w *web) {
		w.work = func(rw http.ResponseWriter, r *http.Request) {
			c, _ := idemddb.FromContext(r.Context())

			w.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.LostReply })
			w.equal("unrecorded", errors.Is(c.Complete(r.Context(), make([]byte, 40<<10)), idemddb.ErrUnrecorded), true)
			w.db.Intercept(nil)
			created(rw, r)
		}

		w.answered(w.post("k", "{}"), http.StatusCreated, "false", `{"id":"p-1"}`)
	})
}

// The key is another worker's, so that it could not be ended: the message comes back, and is not one that failed for good.
func TestAPermanentFailureThatIsNotWrittenIsAFailure(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		h.opts.Optimistic = true
		ends := h.outcomes()

		function := h.handle(does(func() error {
			h.heldElsewhere("k0", 0)

			return lambdawrap.Permanent(errBank)
		}))
		h.expect(function, batch("m0 k0"), []string{"m0"}, []string{"m0"})
		h.sorted("ends", ends, "m0 released")
	})
}

// stageTooMuch stages an item that no table takes.
func stageTooMuch(ctx context.Context) error {
	item := recordKey("too much")
	item["text"] = &types.AttributeValueMemberS{Value: strings.Repeat("x", 500<<10)}
	table := "records"

	return idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{{Put: &types.Put{TableName: &table, Item: item}}}})
}

// Otherwise the message would be deleted without its effect.
func TestAMessageWhoseHandlerIgnoresAnErrorOfStageComesBack(t *testing.T) {
	claimedAndOptimistic(bothModes)(t, func(h *harness) {
		careless := func(ctx context.Context, m events.SQSMessage) error {
			_ = stageTooMuch(ctx)

			return counting(ctx, m)
		}

		h.check(h.handle(careless), batch("m1 k"), []string{"m1"}, []string{"m1"})
		h.equal("committed", h.counted("k"), "")
		h.logs("level=ERROR", idemddb.ErrNotStaged.Error(), "outcome=released")

		again := func(ctx context.Context, m events.SQSMessage) error {
			_ = stageTooMuch(ctx)
			idemddb.Unstage(ctx)

			return counting(ctx, m)
		}

		h.check(h.handle(again), deliveredFor(batch("m1 k"), 2), nil, []string{"m1"})
		h.equal("committed", h.counted("k"), "1")
	})
}

// The SDK does not send a transaction that lacks a required expression. Its error would count as no answer, for all messages of
// the transaction.
func TestAnEffectThatTheSDKDoesNotSendFailsItsOwnMessage(t *testing.T) {
	t.Parallel()

	for name, effect := range map[string]types.TransactWriteItem{
		"an update of nothing": {Update: &types.Update{TableName: new("counts"), Key: recordKey("a")}},
		"a check of nothing":   {ConditionCheck: &types.ConditionCheck{TableName: new("counts"), Key: recordKey("a")}},
	} {
		each(t, name, claimedAndOptimistic(bothModes), func(h *harness) {
			h.store = h.open(h.db.Client(), nil)

			function := h.handle(func(ctx context.Context, m events.SQSMessage) error {
				if m.Body != "k1" {
					return counting(ctx, m)
				}

				err := idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{effect}})
				h.fails(err, idemddb.ErrBadEffects)

				return err
			})

			h.answeredIn(10*time.Second, function, numbered(3), "m1")
			h.equal("committed", h.counted("k0")+h.counted("k2"), "11")
		})
	}
}
