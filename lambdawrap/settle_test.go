package lambdawrap_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestAClaimThatIsRefusedByDynamoDBComesBack(t *testing.T) {
	t.Parallel()

	h := newHarness(t, &idemddb.Options{Single: true})
	h.db.Inject(idemddbtest.AccessDenied)
	h.expect(h.handle(succeed), batch("m1 k1", "m2 k2"), []string{"m1"}, []string{"m2"})

	if !strings.Contains(h.log.String(), "access denied") {
		t.Errorf("log: %s", h.log)
	}
}

func TestWhatAFencedSuccessBecomes(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name   string
		other  func(*harness, *idemddb.Claim) error
		failed []string
		kind   idemddb.Kind
	}{
		{"the other completed: done", func(h *harness, c *idemddb.Claim) error { return c.Complete(h.Context(), nil) }, nil, idemddb.Fenced},
		{"the other still runs: failed", func(*harness, *idemddb.Claim) error { return nil }, []string{"m1"}, idemddb.Fenced},
		{"the other failed for good: failed", func(h *harness, c *idemddb.Claim) error { return c.Fail(h.Context(), nil) }, []string{"m1"}, idemddb.Fenced},
		{"the record was deleted: done, and not created anew", func(h *harness, _ *idemddb.Claim) error {
			_, err := h.db.DeleteItem(h.Context(), &dynamodb.DeleteItemInput{TableName: new("records"), Key: recordKey("k")})

			return err
		}, nil, idemddb.Fenced},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			var last idemddb.Kind

			h := newHarness(t, &idemddb.Options{Observe: func(_ context.Context, e idemddb.Event) { last = e.Kind }})
			ahead, err := idemddb.New(h.db, "records", "payments", &idemddb.Options{
				Now: func() time.Time { return time.Now().Add(time.Hour) },
			})
			h.equal("error", err, nil)

			function := h.handle(func(ctx context.Context, _ events.SQSMessage) error {
				other, _, err := ahead.Claim(ctx, "k", nil)
				if err != nil {
					return err
				}

				return c.other(h, other)
			})
			h.expect(function, batch("m1 k"), c.failed, []string{"m1"})
			h.equal("event", last, c.kind)

			if !strings.Contains(h.log.String(), "level=ERROR") {
				t.Errorf("log: %s", h.log)
			}
		})
	}
}

func TestACompletionThatNeverGetsThroughIsDone(t *testing.T) {
	t.Parallel()

	var last idemddb.Kind

	h := newHarness(t, &idemddb.Options{Observe: func(_ context.Context, e idemddb.Event) { last = e.Kind }})
	function := h.handle(func(context.Context, events.SQSMessage) error {
		h.db.Inject(idemddbtest.AccessDenied)

		return nil
	})
	h.expect(function, batch("m1 k"), nil, []string{"m1"})
	h.equal("event", last, idemddb.Unrecorded)
	h.equal("record", h.state("k"), "INPROGRESS")
}

func TestAHandlerThatSettlesItsClaimHasTheLastWord(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		name   string
		work   func(context.Context, *idemddb.Claim) error
		failed []string
		state  string
	}{
		{"completed", func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte("x")) }, nil, "COMPLETED"},
		{"failed", func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, nil) }, []string{"m1"}, "FAILED"},
		{"released", func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, nil) }, []string{"m1"}, "INPROGRESS released"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			h := newHarness(t, nil)
			function := h.handle(func(ctx context.Context, _ events.SQSMessage) error {
				claim, _ := idemddb.FromContext(ctx)

				return c.work(ctx, claim)
			})
			h.expect(function, batch("m1 k"), c.failed, []string{"m1"})
			h.equal("record", h.state("k"), c.state)
		})
	}
}

func TestAnInvocationThatIsCancelledStillSettles(t *testing.T) {
	t.Parallel()
	everyWay(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		ctx, cancel := context.WithCancel(h.Context())
		defer cancel()

		response, err := wrap(func(_ context.Context, m events.SQSMessage) error {
			time.Sleep(time.Second)

			if m.Body == "k1" {
				cancel()
				time.Sleep(time.Second)
			}

			return nil
		})(ctx, numbered(10))
		h.equal("error", err, nil)
		h.equal("failed", slices.Contains(ids(response), "m1"), true)
		h.equal("k1", h.state("k1"), "INPROGRESS")

		h.noRenewals()

		for i := range 10 { // done, given back, or with a handler that is late
			key, id := fmt.Sprint("k", i), fmt.Sprint("m", i)
			if h.state(key) == "INPROGRESS" && !slices.Contains(h.runs.all(), id) {
				h.Errorf("%s is left to its lease, and never ran", key)
			}
		}
	})
}
