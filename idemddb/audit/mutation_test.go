package audit_test

import (
	"maps"
	"reflect"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// plausible has a value for every attribute that a record can have, and one that is not the library's.
func plausible() attributes {
	all := but(unsent(), attributes{
		"fp": text(printB), "err": text("an error"), "trace": text(trace1), "nt": num(1), "ptrace": text(trace2), "tookat": num(start),
		"op": op("release", start+3*second), "parked": list(message(7, "a cause")), "note": text("a note"), "own": owner("W7"),
		"st": text("FAILED"), "tx": text(digits + "T7"), "res": blob("other"), "due_ns": text("payments#c"), "outbox": list(message(7, "")),
		"part": blob("other"),
	})
	delete(all, "pk")

	return all
}

// mutations are what the test makes of one attribute.
func mutations(name string, v types.AttributeValue) map[string]types.AttributeValue {
	all := map[string]types.AttributeValue{}

	switch m := v.(type) {
	case nil:
		all["added"] = plausible()[name]
	case *types.AttributeValueMemberN:
		n, _ := strconv.ParseInt(m.Value, 10, 64)
		all["one more"], all["one less"], all["as text"] = num(n+1), num(n-1), text(m.Value)
		all["a day more"], all["a day less"] = num(n+24*3600*second), num(n-24*3600*second)
	case *types.AttributeValueMemberS:
		all["another text"], all["another"], all["a number"] = text(m.Value+"x"), plausible()[name], num(1)
	default:
		all["another type"], all["another"] = num(1), plausible()[name]
	}

	if v != nil {
		all["removed"] = nil
	}

	return all
}

// allowance is a mutation after which a change is still one that the page allows.
type allowance struct {
	kinds     []audit.Kind
	attribute string
	mutations []string
	reason    string
}

var (
	anyClaim = []audit.Kind{
		audit.NewClaim, audit.ClaimAgain, audit.Takeover, audit.Commit, audit.Rejection, audit.AnewByClaim, audit.AnewByCommit, audit.AnewByRejection,
	}
	completions = []audit.Kind{audit.Completion, audit.CompletionWithEffects, audit.Commit, audit.AnewByCommit}
	withLease   = []audit.Kind{audit.NewClaim, audit.ClaimAgain, audit.Takeover, audit.Extension, audit.AnewByClaim}
	withErr     = []audit.Kind{audit.Release, audit.Failure, audit.GiveUp, audit.Rejection, audit.AnewByRejection, audit.OperatorFail}
	sendings    = []audit.Kind{audit.Removal, audit.Parking, audit.SendingOfParked}
	ofPart      = []audit.Kind{audit.ResultPut}
	withEnd     = slices.Concat(anyClaim, completions, []audit.Kind{
		audit.Extension, audit.Failure, audit.GiveUp, audit.Reopen, audit.OperatorFail, audit.OperatorReopen, audit.Removal, audit.SendingOfParked,
	})
)

var allowances = []allowance{
	{withEnd, "exp", []string{"one more", "one less"}, "an end is compared with the time of the change, within the tolerance"},
	{withEnd, "ends", []string{"one more", "one less"}, "an end is compared with the time of the change, within the tolerance"},
	{withLease, "lease", []string{"one more", "one less"}, "so is a lease"},
	{completions, "done", []string{"one more", "one less"}, "so is a completion"},
	{[]audit.Kind{audit.AnewByClaim}, "born", []string{"one more", "one less"}, "so is the first claim, if the fencing token is above the time"},
	{ofPart, "exp", []string{"one more", "one less"}, "so is the end of a part"},
	{ofPart, "part", []string{"another"}, "a part has any bytes"},
	{anyClaim, "own", []string{"another"}, "a claim may have any token that is new"},
	{anyClaim, "fp", []string{"added", "removed", "another"}, "a claim may have any fingerprint, or none"},
	{anyClaim, "nt", []string{"added", "removed"}, "a claim is made with NoTakeover or without"},
	{anyClaim, "trace", []string{"added", "removed", "another", "another text"}, "a claim has any trace, or none"},
	{completions, "res", []string{"added", "removed", "another"}, "a completion has any result, or none"},
	{completions, "tx", []string{"added", "removed", "another"}, "a completion with effects has any id, and may store no messages"},
	{completions, "outbox", []string{"another"}, "it stores any messages"},
	{completions, "due_ns", []string{"another"}, "the page does not say which character of the digest is meant"},
	{withErr, "err", []string{"added", "removed", "another", "another text"}, "any text may be the cause; a release has one or none"},
	{[]audit.Kind{audit.Return}, "att", []string{"one more"}, "then it is a release without a cause"},
	{sendings, "outbox", []string{"another"}, "Judge does not know what the completion stored"},
	{sendings, "parked", []string{"added", "another", "removed"}, "nor which messages were sent"},
	{[]audit.Kind{audit.NewClaim}, "took", []string{"added"}, "workers from before took and of today share the table"},
	{[]audit.Kind{audit.Failure}, "tookat", []string{"removed"}, "then another worker gives the key up, whose lease is over"},
	{[]audit.Kind{audit.Release}, "st", []string{"another"}, "then another worker gives the released key up"},
	{[]audit.Kind{audit.OperatorFail}, "op", []string{"removed"}, "then it is a give-up"},
	{[]audit.Kind{audit.Stamp}, "op", []string{"removed"}, "then nothing has changed"},
	{[]audit.Kind{audit.OperatorRelease}, "op", []string{"another"}, "any operator may do it, a second later too"},
}

func reason(kind audit.Kind, attribute, mutation string) string {
	for _, a := range allowances {
		if a.attribute == attribute && slices.Contains(a.kinds, kind) && slices.Contains(a.mutations, mutation) {
			return a.reason
		}
	}

	return ""
}

// Each attribute of the record after each legal change is added, removed and changed. Either a rule is broken, or the page allows
// that, too.
func TestEveryAttributeOfEveryChangeIsJudged(t *testing.T) {
	t.Parallel()

	used := map[string]bool{}

	for name, c := range legal() {
		if c.after == nil || slices.Contains([]audit.Kind{audit.NoRecord, audit.NoChange, audit.OtherAttributes}, c.kind) {
			continue
		}

		for _, attribute := range slices.Sorted(maps.Keys(plausible())) {
			for what, v := range mutations(attribute, c.after[attribute]) {
				options := c.options
				options.Lease, options.Retention = 30*time.Second, time.Duration(ttl)*time.Second
				after := but(c.after, attributes{attribute: v})
				got := audit.Judge(audit.Change{Before: c.before, After: after, Time: at(c.at)}, options)
				why := reason(c.kind, attribute, what)

				switch isFound := len(got.Violations) > 0; {
				case !isFound && why == "" && !reflect.DeepEqual(after, c.after):
					t.Errorf("%s | %s | %s %s: judged as %q", c.kind, name, attribute, what, got.Kind)
				case !isFound:
					used[why] = true
				}
			}
		}
	}

	for _, a := range allowances {
		if !used[a.reason] {
			t.Errorf("it is allowed and never needed: %s", a.reason)
		}
	}
}
