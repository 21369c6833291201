package idemddbtest_test

import (
	"context"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func fmtUnix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

// Each fault of a transaction by each way into the DB. The second of its three items is refused by its condition.
func TestFaultsOfATransaction(t *testing.T) {
	t.Parallel()
	const refusedAlone = canceled + " None ConditionalCheckFailed None"
	for _, c := range []struct {
		fault idemddbtest.Fault
		want  string
		units int
	}{
		{idemddbtest.None, refusedAlone, 6},
		{idemddbtest.ConditionWithoutItem, refusedAlone, 6},
		{idemddbtest.TransactionConflict, canceled + " TransactionConflict ConditionalCheckFailed None", 6},
		{idemddbtest.ThrottleReason, canceled + " None ConditionalCheckFailed ThrottlingError", 6},
		{idemddbtest.CanceledWithoutReasons, canceled, 0},
		{idemddbtest.Throttle, "ProvisionedThroughputExceededException", 0},
		{idemddbtest.ThrottleAccount, "ThrottlingException", 0},
		{idemddbtest.TransactionInProgress, "TransactionInProgressException", 0},
		{idemddbtest.EmptyAnswer, "", 0},
		{idemddbtest.EmptyAnswerApplied, "", 6},
	} {
		for way, open := range ways {
			t.Run(fmt.Sprintf("%s by %s", c.fault, way), func(t *testing.T) {
				t.Parallel()
				db := openDB(t, nil)
				put(t, db, attributes{"pk": s("y"), "n": n("10")})
				db.ResetRequests()
				db.Inject(c.fault)
				if got := sent(t, open(t, db), transaction("x", "y", "z")); got != c.want {
					t.Errorf("got %q, want %q", got, c.want)
				}
				if got := db.Requests(); len(got) != 1 || got[0].WriteUnits != c.units || got[0].Fault != c.fault {
					t.Errorf("logged: got %+v, want %d write units", got, c.units)
				}
				wantNumber(t, db, "x", "none")
			})
		}
	}
}

// A fault of a part stands beside what becomes of the others.
func TestFaultsOfParts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		faults [3]idemddbtest.Fault
		want   string
	}{
		{[3]idemddbtest.Fault{}, canceled + " None ConditionalCheckFailed None"},
		{[3]idemddbtest.Fault{"", idemddbtest.TransactionConflict, ""}, canceled + " None TransactionConflict None"},
		{[3]idemddbtest.Fault{idemddbtest.Throttle, "", idemddbtest.ThrottleAccount}, canceled + " ProvisionedThroughputExceeded ConditionalCheckFailed ThrottlingError"},
		{[3]idemddbtest.Fault{"", "", idemddbtest.TransactionConflict}, canceled + " None ConditionalCheckFailed TransactionConflict"},
		{[3]idemddbtest.Fault{idemddbtest.LostReply, "", ""}, canceled + " ValidationError ConditionalCheckFailed None"},
	} {
		db := openDB(t, nil)
		put(t, db, attributes{"pk": s("y"), "n": n("10")})
		var asked []string
		db.InterceptParts(func(_ context.Context, part idemddbtest.Request) idemddbtest.Fault {
			asked = append(asked, part.Operation)
			return c.faults[len(asked)-1]
		})
		if got := sent(t, db, transaction("x", "y", "z")); got != c.want {
			t.Errorf("%q: got %q, want %q", c.faults, got, c.want)
		}
		if !reflect.DeepEqual(asked, []string{"Update", "Update", "Update"}) {
			t.Errorf("asked about %q", asked)
		}
		db.InterceptParts(nil)
		if got := sent(t, db, transaction("x")); got != "" {
			t.Errorf("afterwards: got %q", got)
		}
	}
}

// A reason has the item that was asked for, unless a fault takes it away.
func TestAReasonCanLackItsItem(t *testing.T) {
	t.Parallel()
	full := attributes{"pk": s("y"), "n": n("10")}
	for fault, want := range map[idemddbtest.Fault]attributes{idemddbtest.None: full, idemddbtest.ConditionWithoutItem: nil} {
		for way, open := range ways {
			db := openDB(t, nil)
			put(t, db, full)
			db.InterceptParts(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return fault })
			_, err := open(t, db).TransactWriteItems(t.Context(), transaction("x", "y"))
			var a answer
			a.refused(err)
			if len(a.Reasons) != 2 || !reflect.DeepEqual(a.Reasons[1].Item, want) {
				t.Errorf("%q by %s: got %s", fault, way, show(a))
			}
		}
	}
}

// A canceled transaction consumes what it would consume without the conflict, twice the size of each item.
func TestACanceledTransactionIsChargedForItsItems(t *testing.T) {
	t.Parallel()
	db := openDB(t, nil)
	put(t, db, attributes{"pk": s("x"), "a": s(strings.Repeat("x", 2500))})
	begin(t, db, transaction("x"))
	db.ResetRequests()

	if got, want := sent(t, db, transaction("y", "x")), canceled+" None TransactionConflict"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}

	if got := db.Requests()[0]; got.WriteUnits != 8 || got.Items[0].WriteUnits != 2 || got.Items[1].WriteUnits != 6 {
		t.Errorf("got %+v, want 2 and 6 write units", got)
	}
}
