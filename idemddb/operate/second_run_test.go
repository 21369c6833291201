package operate_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// A record says of each history whether its work began twice, and why. The first worker claims at noon for 30 s.
func TestARecordSaysWhyItsWorkBeganAgain(t *testing.T) {
	leaseEnded := time.Date(2026, 1, 2, 12, 0, 30, 0, time.UTC)

	for name, test := range map[string]struct {
		history func(d *desk)
		want    *operate.SecondRun
	}{
		"it was done once": {func(d *desk) { d.complete("p-9") }, nil},
		"it is stuck":      {func(d *desk) { d.claim("p-9"); d.clock.Advance(time.Minute) }, nil},
		"it failed":        {func(d *desk) { d.fail("p-9") }, nil},
		"its handler returned an error": {
			func(d *desk) { d.released("p-9") }, nil,
		},
		"its handler returned an error and ran again": {
			func(d *desk) { d.released("p-9"); d.complete("p-9") },
			&operate.SecondRun{Why: []operate.Reason{operate.WasRetried}},
		},
		"it was taken over, and the taker is at work": {
			func(d *desk) { d.takenOver("p-9") },
			&operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, LeaseEnded: leaseEnded},
		},
		"it was taken over and completed": {
			func(d *desk) { d.settle(d.takenOver("p-9").Complete(d.t.Context(), nil)) },
			&operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, LeaseEnded: leaseEnded},
		},
		"it was taken over, released after an error, and completed by a third worker": {
			func(d *desk) {
				d.settle(d.takenOver("p-9").Release(d.t.Context(), errors.New("no")))
				d.complete("p-9")
			},
			&operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, LeaseEnded: leaseEnded},
		},
		"it was taken over and completed with effects": {
			func(d *desk) {
				effects := idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: "paid"}}}
				d.settle(d.takenOver("p-9").CompleteWith(d.t.Context(), nil, effects))
			},
			&operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, LeaseEnded: leaseEnded, Staged: true},
		},
		"it was taken over and given back before its work began": {
			func(d *desk) { d.settle(d.takenOver("p-9").ReleaseUnused(d.t.Context())) },
			&operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, LeaseEnded: leaseEnded, Pending: true},
		},
		"it was taken over, given back before its work began, and completed": {
			func(d *desk) { d.settle(d.takenOver("p-9").ReleaseUnused(d.t.Context())); d.complete("p-9") },
			&operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, LeaseEnded: leaseEnded},
		},
		"an operator released it": {
			func(d *desk) { d.claim("p-9"); d.operate("p-9", d.Release) },
			&operate.SecondRun{Why: []operate.Reason{operate.WasReleased}, Pending: true},
		},
		"an operator released it, and it was completed": {
			func(d *desk) { d.claim("p-9"); d.operate("p-9", d.Release); d.complete("p-9") },
			&operate.SecondRun{Why: []operate.Reason{operate.WasReleased}},
		},
		"an operator released it under NoTakeover": {
			func(d *desk) { d.noTakeover(); d.claim("p-9"); d.operate("p-9", d.Release) },
			&operate.SecondRun{Why: []operate.Reason{operate.WasReleased}, Pending: true},
		},
		"an operator released it under NoTakeover, and it was completed": {
			func(d *desk) { d.noTakeover(); d.claim("p-9"); d.operate("p-9", d.Release); d.complete("p-9") },
			&operate.SecondRun{Why: []operate.Reason{operate.WasReleased}},
		},
		"it was taken over, and an operator released it": {
			func(d *desk) { d.takenOver("p-9"); d.operate("p-9", d.Release) },
			&operate.SecondRun{Why: []operate.Reason{operate.TakenOver, operate.WasReleased}, LeaseEnded: leaseEnded},
		},
		"it was taken over, an operator released it, and it was completed": {
			func(d *desk) { d.takenOver("p-9"); d.operate("p-9", d.Release); d.complete("p-9") },
			&operate.SecondRun{Why: []operate.Reason{operate.TakenOver, operate.WasReleased}},
		},
		"its handler returned an error, and an operator released its second run": {
			func(d *desk) { d.released("p-9"); d.claim("p-9"); d.operate("p-9", d.Release) },
			&operate.SecondRun{Why: []operate.Reason{operate.WasReleased}, Pending: true},
		},
		"an operator released it under NoTakeover, and its second run returned an error": {
			func(d *desk) { d.noTakeover(); d.claim("p-9"); d.operate("p-9", d.Release); d.released("p-9") },
			&operate.SecondRun{Why: []operate.Reason{operate.WasReleased}},
		},
		"an operator released it, and failed it when it ran again": {
			func(d *desk) {
				d.claim("p-9")
				d.operate("p-9", d.Release)
				d.claim("p-9")
				d.operate("p-9", d.Fail)
			},
			&operate.SecondRun{Why: []operate.Reason{operate.WasReleased}},
		},
		"an operator reopened it, and released it when it ran again": {
			func(d *desk) {
				d.fail("p-9")
				d.operate("p-9", d.Reopen)
				d.claim("p-9")
				d.operate("p-9", d.Release)
			},
			&operate.SecondRun{Why: []operate.Reason{operate.WasReleased}},
		},
		"an operator reopened it": {
			func(d *desk) { d.fail("p-9"); d.operate("p-9", d.Reopen) },
			&operate.SecondRun{Why: []operate.Reason{operate.WasReopened}, Pending: true},
		},
		"an operator reopened it, and it was completed": {
			func(d *desk) { d.fail("p-9"); d.operate("p-9", d.Reopen); d.complete("p-9") },
			&operate.SecondRun{Why: []operate.Reason{operate.WasReopened}},
		},
		"a program reopened it, and it was completed": {
			func(d *desk) { d.fail("p-9"); d.settle(d.store.Reopen(d.t.Context(), "p-9")); d.complete("p-9") },
			&operate.SecondRun{Why: []operate.Reason{operate.WasReopened}},
		},
		"an operator reopened it, and failed it before it ran again": {
			func(d *desk) { d.fail("p-9"); d.operate("p-9", d.Reopen); d.operate("p-9", d.Fail) }, nil,
		},
		"an operator released it, and failed it before it ran again": {
			func(d *desk) { d.claim("p-9"); d.operate("p-9", d.Release); d.operate("p-9", d.Fail) }, nil,
		},
		"an operator reopened it, and failed it when it ran again": {
			func(d *desk) {
				d.fail("p-9")
				d.operate("p-9", d.Reopen)
				d.claim("p-9")
				d.operate("p-9", d.Fail)
			},
			&operate.SecondRun{Why: []operate.Reason{operate.WasChanged}},
		},
		"a key that was not taken over, because of NoTakeover, was reopened and completed": {
			func(d *desk) {
				d.noTakeover()
				d.claim("p-9")
				d.clock.Advance(time.Minute)

				if _, _, err := d.store.Claim(d.t.Context(), "p-9", nil); !errors.Is(err, idemddb.ErrFailed) {
					d.t.Fatalf("got %v, want that the key has failed", err)
				}

				d.operate("p-9", d.Reopen)
				d.complete("p-9")
			},
			&operate.SecondRun{Why: []operate.Reason{operate.WasReopened}},
		},
		"a worker that does not know took has run it again": {
			func(d *desk) { d.released("p-9"); d.complete("p-9"); d.set("p-9", item{"took": nil}) },
			&operate.SecondRun{Why: []operate.Reason{operate.ReasonAbsent}},
		},
		"a worker that does not know took runs it for the first time": {
			func(d *desk) { d.claim("p-9"); d.set("p-9", item{"took": nil}) }, nil,
		},
		"a worker that does not know took has taken it over": {
			func(d *desk) { d.takenOver("p-9"); d.set("p-9", item{"took": nil}) },
			&operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, LeaseEnded: leaseEnded},
		},
		"a worker that does not know took has taken it over and released it, and another one has completed it": {
			func(d *desk) {
				d.settle(d.takenOver("p-9").Release(d.t.Context(), errors.New("no")))
				d.complete("p-9")
				d.set("p-9", item{"took": nil})
			},
			&operate.SecondRun{Why: []operate.Reason{operate.TakenOver}, LeaseEnded: leaseEnded},
		},
		"an operator with a program that does not know took reopened it": {
			func(d *desk) { d.fail("p-9"); d.operate("p-9", d.Reopen); d.set("p-9", item{"took": nil}) },
			&operate.SecondRun{Why: []operate.Reason{operate.WasReopened}, Pending: true},
		},
		"an operator with a program that does not know took reopened it, and it was completed": {
			func(d *desk) {
				d.fail("p-9")
				d.operate("p-9", d.Reopen)
				d.complete("p-9")
				d.set("p-9", item{"took": nil})
			},
			&operate.SecondRun{Why: []operate.Reason{operate.WasReopened}},
		},
		"another program wrote the attributes with other types": {
			func(d *desk) {
				d.complete("p-9")
				d.set("p-9", item{"took": s("7"), "tookat": s("7"), "op": n("7"), "tx": &types.AttributeValueMemberBOOL{Value: true}})
			}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			onEachEngine(t, idemddb.Options{}, func(d *desk) {
				test.history(d)

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

	var err error
	if d.store, err = idemddb.New(d.client, d.table, "payments", &opts); err != nil {
		d.t.Fatal(err)
	}
}

// operate makes a change by hand, a minute later.
func (d *desk) operate(key string, change func(context.Context, operate.View, string, string) error) {
	d.t.Helper()
	d.clock.Advance(time.Minute)
	d.settle(change(d.t.Context(), d.look(key), "anna", "a test"))
}
