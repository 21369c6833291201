package protocol_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

var now = time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)

// from returns a number for a time so far from now, in milliseconds.
func from(d time.Duration) types.AttributeValue { return record.Number(now.Add(d).UnixMilli()) }

// stored returns the record of another worker's claim, whose lease is over, with these attributes in place of its own; nil
// removes one.
func stored(changed protocol.Item) protocol.Item {
	it := protocol.Item{
		"pk": record.Text("n#k"), "v": record.Number(1), "st": record.Text(record.InProgress), "own": record.Text("other"),
		"fence": record.Number(7), "lease": from(-time.Minute), "prev": record.Number(0), "att": record.Number(1),
		"born": from(-2 * time.Minute), "exp": record.Number(now.Add(time.Hour).Unix()),
	}

	for name, value := range changed {
		if it[name] = value; value == nil {
			delete(it, name)
		}
	}

	return it
}

func number(n int64) types.AttributeValue { return record.Number(n) }
func text(s string) types.AttributeValue  { return record.Text(s) }

func TestWhatARecordMeansForAClaim(t *testing.T) {
	t.Parallel()

	past := number(now.Unix())
	plain, limited, guarded := protocol.Config{}, protocol.Config{MaxAttempts: 1}, protocol.Config{NoTakeover: true}

	for name, c := range map[string]struct {
		config protocol.Config
		found  protocol.Item
		want   protocol.Verdict
	}{
		"an own claim":                                     {plain, stored(protocol.Item{"own": text("mine"), "lease": from(time.Second)}), protocol.Won},
		"an own claim whose lease is over":                 {plain, stored(protocol.Item{"own": text("mine")}), protocol.Won},
		"an own claim past its end":                        {plain, stored(protocol.Item{"own": text("mine"), "exp": past}), protocol.Won},
		"an own claim that was released":                   {plain, stored(protocol.Item{"own": text("mine"), "lease": number(0)}), protocol.Withdrawn},
		"an own claim that was given back":                 {plain, stored(protocol.Item{"own": text("mine"), "lease": number(-1)}), protocol.Withdrawn},
		"an own claim without a lease":                     {plain, stored(protocol.Item{"own": text("mine"), "lease": nil}), protocol.Withdrawn},
		"an own claim that an operator has ended":          {plain, stored(protocol.Item{"own": text("mine"), "st": text(record.Failed)}), protocol.Failed},
		"the own commit":                                   {plain, stored(protocol.Item{"own": text("mine"), "st": text(record.Completed), "tx": text("tx")}), protocol.Committed},
		"an own claim that another call completed":         {plain, stored(protocol.Item{"own": text("mine"), "st": text(record.Completed), "tx": text("other")}), protocol.Withdrawn},
		"a lease that is not over":                         {plain, stored(protocol.Item{"lease": from(time.Minute)}), protocol.InUse},
		"a lease that is over by less than the clock skew": {plain, stored(protocol.Item{"lease": from(-time.Second)}), protocol.InUse},
		"a lease that is over by the clock skew":           {plain, stored(protocol.Item{"lease": from(-time.Second - time.Millisecond)}), protocol.Changed},
		"no lease, by a foreign writer":                    {plain, stored(protocol.Item{"lease": nil}), protocol.InUse},
		"a lease that is not over, past its end":           {plain, stored(protocol.Item{"lease": from(time.Minute), "exp": past}), protocol.InUse},
		"a lease that is over, past its end":               {plain, stored(protocol.Item{"exp": past}), protocol.PastEnd},
		"no lease, past its end":                           {plain, stored(protocol.Item{"lease": nil, "exp": past}), protocol.PastEnd},
		"a completed record":                               {plain, stored(protocol.Item{"st": text(record.Completed)}), protocol.Completed},
		"a completed record past its end":                  {plain, stored(protocol.Item{"st": text(record.Completed), "exp": past}), protocol.PastEnd},
		"a completed record past its end, still leased":    {plain, stored(protocol.Item{"st": text(record.Completed), "lease": from(time.Minute), "exp": past}), protocol.PastEnd},
		"a completed record of another input":              {plain, stored(protocol.Item{"st": text(record.Completed), "fp": text("1:other")}), protocol.Mismatch},
		"a completed record of a newer fingerprint":        {plain, stored(protocol.Item{"st": text(record.Completed), "fp": text("2:other")}), protocol.Completed},
		"another input past its end":                       {plain, stored(protocol.Item{"fp": text("1:other"), "exp": past}), protocol.PastEnd},
		"a failed record":                                  {plain, stored(protocol.Item{"st": text(record.Failed)}), protocol.Failed},
		"a failed record of another input":                 {plain, stored(protocol.Item{"st": text(record.Failed), "fp": text("1:other")}), protocol.Mismatch},
		"another version":                                  {plain, stored(protocol.Item{"v": number(2)}), protocol.Unreadable},
		"attempts that are used up":                        {limited, stored(nil), protocol.GivenUp},
		"attempts that are used up, released":              {limited, stored(protocol.Item{"lease": number(0)}), protocol.GivenUp},
		"attempts that are not used up":                    {limited, stored(protocol.Item{"att": number(0)}), protocol.Changed},
		"a lease that ran out, without takeover":           {guarded, stored(nil), protocol.GivenUp},
		"a claim that was given back, without takeover":    {guarded, stored(protocol.Item{"lease": number(-1)}), protocol.GivenUp},
		"a release, without takeover":                      {guarded, stored(protocol.Item{"lease": number(0)}), protocol.Changed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c.config.PartitionKey, c.config.TTLAttribute, c.config.ClockSkew = "pk", "exp", time.Second
			try := protocol.Try{
				Claimant: &protocol.Claimant{Partition: "n#k", Token: "mine", Fingerprint: "1:input"}, Tx: "tx", Stamp: protocol.Stamp{Now: now},
			}

			if got := protocol.NewTable(c.config).ReadFound(try, c.found); got.Verdict != c.want {
				t.Errorf("got %q, want %q", got.Verdict, c.want)
			}
		})
	}
}

func TestWhatAnAnswerAsksForAndMeans(t *testing.T) {
	t.Parallel()

	claimed := stored(protocol.Item{"own": text("mine"), "lease": from(30 * time.Second), "prev": from(-time.Minute), "att": number(2), "trace": text("mine"), "ptrace": text("earlier")})
	found := stored(protocol.Item{"trace": text("earlier")})
	lease := now.Add(30 * time.Second)
	takeover := protocol.Held{Partition: "n#k", Token: "mine", Fence: 7, Attempt: 2, Previous: now.Add(-time.Minute).UnixMilli()}
	after := takeover
	after.Fence++
	fresh := after
	fresh.Previous = 0

	for name, c := range map[string]struct {
		isNew    bool
		untraced bool
		answer   protocol.Answer
		step     protocol.Step
		want     protocol.ClaimAnswer
	}{
		"a request of its own was applied": {
			answer: protocol.Answer{Item: claimed},
			want:   protocol.ClaimAnswer{Verdict: protocol.Won, Held: takeover, Lease: lease, TakenFrom: "earlier"},
		},
		"a statement was applied, and returns the record before": {
			answer: protocol.Answer{Item: found, IsShared: true},
			want:   protocol.ClaimAnswer{Verdict: protocol.Won, Held: after, Lease: lease, TakenFrom: "earlier"},
		},
		"a statement was applied, and returns a key that was released": {
			answer: protocol.Answer{Item: stored(protocol.Item{"lease": number(0), "trace": text("earlier")}), IsShared: true},
			want:   protocol.ClaimAnswer{Verdict: protocol.Won, Held: fresh, Lease: lease},
		},
		"a statement was applied, and returns the traceparent of a table that kept them": {
			untraced: true, answer: protocol.Answer{Item: found, IsShared: true},
			want: protocol.ClaimAnswer{Verdict: protocol.Won, Held: after, Lease: lease},
		},
		"a request of its own was applied, and the record cannot be read": {
			answer: protocol.Answer{Item: stored(protocol.Item{"own": nil})},
			want:   protocol.ClaimAnswer{Verdict: protocol.Unreadable, Err: record.ErrCorrupt},
		},
		"an INSERT was applied": {
			isNew: true, answer: protocol.Answer{IsShared: true},
			want: protocol.ClaimAnswer{
				Verdict: protocol.Won, Lease: lease,
				Held: protocol.Held{Partition: "n#k", Token: "mine", Fence: now.UnixMilli() + 1, Attempt: 1},
			},
		},
		"a statement was applied, and does not return the record": {answer: protocol.Answer{IsShared: true}, step: protocol.Single},
		"a statement has taken what cannot be read":               {answer: protocol.Answer{Item: stored(protocol.Item{"own": nil}), IsShared: true}, step: protocol.Single},
		"an INSERT found a record":                                {isNew: true, answer: protocol.Answer{Outcome: protocol.Taken, IsShared: true}, step: protocol.Other},
		"a statement found no record":                             {answer: protocol.Answer{Outcome: protocol.Refused, IsShared: true}, step: protocol.Other},
		"a refusal does not show the record":                      {answer: protocol.Answer{Outcome: protocol.Refused}, want: protocol.ClaimAnswer{Verdict: protocol.Changed}},
		"a refusal shows the own claim, of a lost answer": {
			answer: protocol.Answer{Outcome: protocol.Refused, Item: claimed, IsShared: true},
			want:   protocol.ClaimAnswer{Verdict: protocol.Won, Held: takeover, Lease: lease, TakenFrom: "earlier"},
		},
		"no answer":                   {answer: protocol.Answer{Outcome: protocol.Unknown}, step: protocol.Again},
		"an answer without content":   {answer: protocol.Answer{Outcome: protocol.Unknown, Item: protocol.Item{}}, step: protocol.Again},
		"DynamoDB was too busy":       {answer: protocol.Answer{Outcome: protocol.Unprocessed}, step: protocol.Again},
		"the request was not allowed": {answer: protocol.Answer{Outcome: protocol.Rejected}, step: protocol.Again},
		"the request was not valid":   {answer: protocol.Answer{Outcome: protocol.Invalid}, step: protocol.Again},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			table := protocol.NewTable(protocol.Config{PartitionKey: "pk", TTLAttribute: "exp", ClockSkew: time.Second, IsTraced: !c.untraced})
			step, got := table.ReadClaim(protocol.Try{
				Claimant: &protocol.Claimant{Partition: "n#k", Token: "mine"}, Stamp: protocol.Stamp{Now: now, Lease: lease}, IsNew: c.isNew,
			}, c.answer)

			if step != c.step {
				t.Errorf("got step %d, want %d", step, c.step)
			}

			if diff := cmp.Diff(c.want, got, cmpopts.EquateErrors()); diff != "" {
				t.Errorf("meaning (-want +got):\n%s", diff)
			}
		})
	}
}
