package idemddbtest_test

import (
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestATokenInFlight(t *testing.T) {
	t.Parallel()
	clock := idemddbtest.NewClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
	db := openDB(t, &idemddbtest.Options{Now: clock.Now})
	in := under("token", transaction("x"))
	tx := begin(t, db, in)
	in.TransactItems = nil // the request was copied
	for _, c := range []struct{ key, want string }{{"x", "TransactionInProgressException"}, {"y", mismatch}} {
		if got := sent(t, db, under("token", transaction(c.key))); got != c.want {
			t.Errorf("%s: got %q, want %q", c.key, got, c.want)
		}
	}
	clock.Advance(time.Hour)
	tx.Commit()
	clock.Advance(10*time.Minute - 1) // the ten minutes begin with the commit
	if got := sent(t, db, under("token", transaction("x"))); got != "" {
		t.Errorf("after the commit: got %q", got)
	}
	wantNumber(t, db, "x", "1")
	if again := begin(t, db, under("token", transaction("x"))); len(db.InFlight()) != 0 {
		t.Error("a transaction that was done is in flight again")
	} else {
		again.Commit()
		again.Cancel()
	}
	wantNumber(t, db, "x", "1")
	clock.Advance(1)
	if got := sent(t, db, under("token", transaction("x"))); got != "" {
		t.Errorf("after ten minutes: got %q", got)
	}
	wantNumber(t, db, "x", "2")
}

func TestALateCommitIsInFlightUntilItIsDelivered(t *testing.T) {
	t.Parallel()
	for way, open := range ways {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			db := openDB(t, nil)
			c := open(t, db)
			db.ResetRequests()
			db.Inject(idemddbtest.LateCommit, idemddbtest.None, idemddbtest.None, idemddbtest.LateCommit)
			put10 := transaction("full")
			put10.TransactItems[0].Update.UpdateExpression = new("SET n = :ten")
			put10.TransactItems[0].Update.ConditionExpression = nil
			put10.TransactItems[0].Update.ExpressionAttributeValues = attributes{":ten": n("10")}

			for _, step := range []struct {
				in   *dynamodb.TransactWriteItemsInput
				want string
			}{
				{under("token", transaction("x")), "reset"},
				{under("token", transaction("x")), "TransactionInProgressException"},
				{put10, ""},
				{transaction("full"), "reset"}, // it is canceled when it arrives
			} {
				_, err := c.TransactWriteItems(t.Context(), step.in)
				if got := code(err); got != step.want && (step.want != "reset" || !isReset(err)) {
					t.Errorf("got %v, want %s", err, step.want)
				}
			}
			wantNumber(t, db, "x", "none")
			if got := db.Deliver(); len(got) != 1 || got[0].Err != nil || got[0].Fault != "" {
				t.Errorf("delivered: got %+v", got)
			}
			wantNumber(t, db, "x", "1")
			if got := sent(t, c, under("token", transaction("x"))); got != "" {
				t.Errorf("its repetition: got %q", got)
			}
			wantNumber(t, db, "x", "1")

			var units []int
			for _, r := range db.Requests() {
				units = append(units, r.WriteUnits)
			}
			if want := []int{2, 0, 2, 2, 0, 0}; !reflect.DeepEqual(units, want) {
				t.Errorf("write units: got %v, want %v", units, want)
			}
		})
	}
}

func TestALateCommitThatTheTestEndsIsNotDelivered(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	db.Inject(idemddbtest.LateCommit, idemddbtest.LateCommit, idemddbtest.LateCommit)
	for _, key := range []string{"x", "y"} {
		if _, err := db.TransactWriteItems(t.Context(), transaction(key)); !isReset(err) {
			t.Errorf("got %v", err)
		}
	}
	if err := putX(t.Context(), db); !isReset(err) { // a plain write arrives when it is delivered
		t.Errorf("got %v", err)
	}
	db.InFlight()[0].Cancel()
	db.InFlight()[0].CommitItem(0)
	got := db.Deliver()
	if len(got) != 1 || got[0].Operation != "PutItem" || got[0].Err != nil {
		t.Errorf("delivered: got %+v", got)
	}
	wantNumber(t, db, "y", "1")
}

// A late request carries the token of the transaction that was repeated. Within ten minutes the token keeps it away, later its
// conditions.
func TestALateTwinIsAppliedOnceItsTokenIsForgotten(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		meanwhile func(*idemddbtest.DB, *idemddbtest.Clock)
		want      string
	}{
		"at once":                       {func(*idemddbtest.DB, *idemddbtest.Clock) {}, "1"},
		"after ten minutes":             {func(_ *idemddbtest.DB, c *idemddbtest.Clock) { c.Advance(10 * time.Minute) }, "2"},
		"after the token was forgotten": {func(db *idemddbtest.DB, _ *idemddbtest.Clock) { db.ForgetTokens() }, "2"},
	} {
		clock := idemddbtest.NewClock(time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC))
		db := openDB(t, &idemddbtest.Options{Now: clock.Now})
		db.Inject(idemddbtest.LateRequest)
		for _, want := range []string{"reset", ""} {
			if got := sent(t, db, under("token", transaction("x"))); got != want && !strings.Contains(got, want) {
				t.Errorf("%s: got %q", name, got)
			}
		}
		c.meanwhile(db, clock)
		db.Deliver()
		wantNumber(t, db, "x", c.want)
	}
}

// The SDK's client makes a token up for each call, and sends it with each try.
func TestTheClientsOwnTokenKeepsItsRetryAway(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := openDB(t, nil)
		db.Inject(idemddbtest.LostReply)
		if got := sent(t, db.Client(), transaction("x")); got != "" {
			t.Errorf("got %q", got)
		}
		wantNumber(t, db, "x", "1")
	})
}
