package protocol_test

import (
	"maps"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// A claim of a new key in a shared request, and one of a key past its retention, create the same record.
func TestTheAttributesOfANewRecord(t *testing.T) {
	t.Parallel()

	lease := now.Add(2 * time.Hour) // longer than the retention, so that it counts for the end of the record
	plain := protocol.Item{
		"pk": text("n#k"), "v": number(1), "st": text(record.InProgress), "own": text("mine"), "fence": number(now.UnixMilli() + 1),
		"prev": number(0), "took": number(0), "lease": from(2 * time.Hour), "att": number(1), "born": from(0), "exp": number(lease.Unix()),
	}

	for name, c := range map[string]struct {
		config   protocol.Config
		claimant protocol.Claimant
		more     protocol.Item // than the plain one has
	}{
		"a plain claim":             {},
		"a sort key":                {protocol.Config{SortKey: "sk"}, protocol.Claimant{}, protocol.Item{"sk": text("idemddb")}},
		"an input":                  {protocol.Config{}, protocol.Claimant{Fingerprint: "1:input"}, protocol.Item{"fp": text("1:input")}},
		"a traceparent":             {protocol.Config{IsTraced: true}, protocol.Claimant{Trace: "run"}, protocol.Item{"trace": text("run"), "ptrace": text("")}},
		"a table without takeovers": {protocol.Config{NoTakeover: true}, protocol.Claimant{}, protocol.Item{"nt": number(1)}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			c.config.PartitionKey, c.config.TTLAttribute, c.config.Retention = "pk", "exp", time.Hour
			c.claimant.Partition, c.claimant.Token = "n#k", "mine"
			table, stamp, old := protocol.NewTable(c.config), protocol.Stamp{Now: now, Lease: lease}, &record.Stored{Token: new("other"), Fence: new(int64(7))}

			want, inserted := maps.Clone(plain), protocol.Item{}
			maps.Copy(want, c.more)

			_, names := protocol.Insert(c.config, c.claimant.Fingerprint != "")
			for i, value := range table.ClaimStatement(&c.claimant, stamp, true).Parameters {
				inserted[names[i]] = value
			}

			rejected := maps.Clone(want)
			rejected["err"], rejected["lease"], rejected["exp"] = text("cause"), number(0), number(now.Add(time.Hour).Unix())

			for what, items := range map[string][2]protocol.Item{
				"inserted":           {want, inserted},
				"put in its place":   {want, table.ClaimAnew(&c.claimant, stamp, old).Item},
				"put by a rejection": {rejected, table.RejectAnew(&c.claimant, stamp, old, "cause").Item},
			} {
				ignored := cmpopts.IgnoreUnexported(types.AttributeValueMemberS{}, types.AttributeValueMemberN{})
				if diff := cmp.Diff(items[0], items[1], ignored); diff != "" {
					t.Errorf("%s (-want +got):\n%s", what, diff)
				}
			}

			held := protocol.Held{Partition: "n#k", Token: "mine", Fence: now.UnixMilli() + 1, Attempt: 1}
			if diff := cmp.Diff(held, c.claimant.ClaimedAnew(old, stamp)); diff != "" {
				t.Errorf("the claim (-want +got):\n%s", diff)
			}
		})
	}
}
