package operate_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// steps are the words of a history of the key p-9. A word that settles a claim makes this claim first, so that it takes a claim
// over which another word has made a minute before.
var steps = map[string]func(d *desk){
	"minute":     func(d *desk) { d.clock.Advance(time.Minute) },
	"release":    func(d *desk) { d.released("p-9") }, // as of a handler that returned an error
	"complete":   func(d *desk) { d.complete("p-9") },
	"fail":       func(d *desk) { d.fail("p-9") },
	"claim":      func(d *desk) { d.claim("p-9") },
	"unused":     func(d *desk) { d.settle(d.claim("p-9").ReleaseUnused(d.t.Context())) },
	"effects":    func(d *desk) { d.settle(d.claim("p-9").CompleteWith(d.t.Context(), nil, receipt)) },
	"reopen":     func(d *desk) { d.settle(d.store.Reopen(d.t.Context(), "p-9")) }, // by a program
	"op:release": func(d *desk) { d.operate("p-9", d.Release) },
	"op:fail":    func(d *desk) { d.operate("p-9", d.Fail) },
	"op:reopen":  func(d *desk) { d.operate("p-9", d.Reopen) },
	"noTakeover": (*desk).noTakeover,
	"refused":    (*desk).refused,
	"took-less":  func(d *desk) { d.set("p-9", item{"took": nil}) },
	"other-types": func(d *desk) {
		d.set("p-9", item{"took": s("7"), "tookat": s("7"), "op": n("7"), "tx": &types.AttributeValueMemberBOOL{Value: true}})
	},
}

var receipt = idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: "paid"}}}

// A record says of each history whether its work began twice, and why. The first worker claims at noon for 30 s.
func TestARecordSaysWhyItsWorkBeganAgain(t *testing.T) {
	because := func(why ...operate.Reason) *operate.SecondRun { return &operate.SecondRun{Why: why} }
	pending := func(why operate.Reason) *operate.SecondRun {
		return &operate.SecondRun{Why: []operate.Reason{why}, Pending: true}
	}
	taken := &operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, LeaseEnded: time.Date(2026, 1, 2, 12, 0, 30, 0, time.UTC)}
	takenAndReleased := because(operate.TakenOver, operate.WasReleased)

	for name, test := range map[string]struct {
		history string // in words of steps
		want    *operate.SecondRun
	}{
		"it was done once":              {"complete", nil},
		"it is stuck":                   {"claim minute", nil},
		"it failed":                     {"fail", nil},
		"its handler returned an error": {"release", nil},
		"its handler returned an error and ran again":                                                          {"release complete", because(operate.WasRetried)},
		"it was taken over, and the taker is at work":                                                          {"claim minute claim", taken},
		"it was taken over and completed":                                                                      {"claim minute complete", taken},
		"it was taken over, released after an error, and completed by a third worker":                          {"claim minute release complete", taken},
		"it was taken over and completed with effects":                                                         {"claim minute effects", &operate.SecondRun{Why: taken.Why, LeaseEnded: taken.LeaseEnded, Staged: true}},
		"it was taken over and given back before its work began":                                               {"claim minute unused", &operate.SecondRun{Why: taken.Why, LeaseEnded: taken.LeaseEnded, Pending: true}},
		"it was taken over, given back before its work began, and completed":                                   {"claim minute unused complete", taken},
		"an operator released it":                                                                              {"claim op:release", pending(operate.WasReleased)},
		"an operator released it, and it was completed":                                                        {"claim op:release complete", because(operate.WasReleased)},
		"an operator released it under NoTakeover":                                                             {"noTakeover claim op:release", pending(operate.WasReleased)},
		"an operator released it under NoTakeover, and it was completed":                                       {"noTakeover claim op:release complete", because(operate.WasReleased)},
		"it was taken over, and an operator released it":                                                       {"claim minute claim op:release", &operate.SecondRun{Why: takenAndReleased.Why, LeaseEnded: taken.LeaseEnded}},
		"it was taken over, an operator released it, and it was completed":                                     {"claim minute claim op:release complete", takenAndReleased},
		"its handler returned an error, and an operator released its second run":                               {"release claim op:release", pending(operate.WasReleased)},
		"an operator released it under NoTakeover, and its second run returned an error":                       {"noTakeover claim op:release release", because(operate.WasReleased)},
		"an operator released it, and failed it when it ran again":                                             {"claim op:release claim op:fail", because(operate.WasReleased)},
		"an operator reopened it, and released it when it ran again":                                           {"fail op:reopen claim op:release", because(operate.WasReleased)},
		"an operator reopened it":                                                                              {"fail op:reopen", pending(operate.WasReopened)},
		"an operator reopened it, and it was completed":                                                        {"fail op:reopen complete", because(operate.WasReopened)},
		"a program reopened it, and it was completed":                                                          {"fail reopen complete", because(operate.WasReopened)},
		"an operator reopened it, and failed it before it ran again":                                           {"fail op:reopen op:fail", nil},
		"an operator released it, and failed it before it ran again":                                           {"claim op:release op:fail", nil},
		"an operator reopened it, and failed it when it ran again":                                             {"fail op:reopen claim op:fail", because(operate.WasChanged)},
		"a key that was not taken over, because of NoTakeover, was reopened and completed":                     {"noTakeover claim minute refused op:reopen complete", because(operate.WasReopened)},
		"a worker that does not know took has run it again":                                                    {"release complete took-less", because(operate.ReasonAbsent)},
		"a worker that does not know took runs it for the first time":                                          {"claim took-less", nil},
		"a worker that does not know took has taken it over":                                                   {"claim minute claim took-less", taken},
		"a worker that does not know took has taken it over and released it, and another one has completed it": {"claim minute release complete took-less", taken},
		"an operator with a program that does not know took reopened it":                                       {"fail op:reopen took-less", pending(operate.WasReopened)},
		"an operator with a program that does not know took reopened it, and it was completed":                 {"fail op:reopen complete took-less", because(operate.WasReopened)},
		"another program wrote the attributes with other types":                                                {"complete other-types", nil},
	} {
		t.Run(name, func(t *testing.T) {
			onEachEngine(t, idemddb.Options{}, func(d *desk) {
				for word := range strings.FieldsSeq(test.history) {
					steps[word](d)
				}

				if diff := cmp.Diff(test.want, d.look("p-9").SecondRun); diff != "" {
					d.t.Errorf("second run (-want +got):\n%s", diff)
				}

				// What the record says, the list finds.
				found, _ := d.list(operate.Selection{Twice: true, Retries: true})
				if isFound := len(found) == 1; isFound != (test.want != nil) {
					d.t.Errorf("the list has %q, and the record says %+v", found, test.want)
				}
			})
		})
	}
}

func TestTheListOfSecondRunsLeavesOutRetriesAndOldOnes(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		d.settle(d.takenOver("old").Complete(d.t.Context(), nil)) // at a minute past noon
		d.takenOver("old and stuck")
		d.released("retried")
		d.complete("retried")
		d.released("retried, and failed by hand")
		d.claim("retried, and failed by hand")
		d.operate("retried, and failed by hand", d.Fail)
		d.claim("given back") // no time is known of it, because it has neither a lease nor a completion
		d.clock.Advance(time.Minute)
		d.settle(d.claim("given back").ReleaseUnused(d.t.Context()))
		d.claim("long lease before")
		d.clock.Advance(3 * time.Hour)
		d.complete("long lease before") // whose message came back after three hours
		d.takenOver("new")
		d.complete("once")

		for name, test := range map[string]struct {
			selection operate.Selection
			want      []string
		}{
			"all":        {operate.Selection{Twice: true}, []string{"given back", "long lease before", "new", "old", "old and stuck"}},
			"of an hour": {operate.Selection{Twice: true, Since: d.clock.Now().Add(-time.Hour)}, []string{"given back", "long lease before", "new"}},
			"retries": {operate.Selection{Twice: true, Retries: true}, []string{
				"given back", "long lease before", "new", "old", "old and stuck", "retried", "retried, and failed by hand",
			}},
		} {
			if got, _ := d.list(test.selection); !cmp.Equal(got, test.want) {
				d.t.Errorf("%s: got %q, want %q", name, got, test.want)
			}
		}
	})
}

func (d *desk) settle(err error) {
	d.t.Helper()

	if err != nil {
		d.t.Fatal(err)
	}
}

// released is a key whose handler returned an error.
func (d *desk) released(key string) {
	d.t.Helper()
	d.settle(d.claim(key).Release(d.t.Context(), errors.New("no such account")))
}

// takenOver is the claim of a second worker, a minute after that of the first.
func (d *desk) takenOver(key string) *idemddb.Claim {
	d.t.Helper()
	d.claim(key)
	d.clock.Advance(time.Minute)

	return d.claim(key)
}

// noTakeover lets the workers claim with that option.
func (d *desk) noTakeover() {
	d.t.Helper()

	opts := d.store.Options()
	opts.NoTakeover = true
	d.store = d.another(opts)
}

// refused demands that NoTakeover ends the key.
func (d *desk) refused() {
	d.t.Helper()

	if _, _, err := d.store.Claim(d.t.Context(), "p-9", nil); !errors.Is(err, idemddb.ErrFailed) {
		d.t.Fatalf("got %v, want that the key has failed", err)
	}
}

// operate makes a change by hand, a minute later.
func (d *desk) operate(key string, change func(context.Context, operate.View, string, string) error) {
	d.t.Helper()
	d.clock.Advance(time.Minute)
	d.settle(change(d.t.Context(), d.look(key), "anna", "a test"))
}
