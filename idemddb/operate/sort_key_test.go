package operate_test

import (
	"crypto/rand"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// In a table with a sort key others may have items beside a record, under its partition key. They are no records, and who forgets
// what a hash names must not delete them.
func TestListLeavesOutWhatStandsBesideARecord(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t
		d.table = "shared-" + rand.Text()

		if _, err := d.client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
			TableName: &d.table, BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: new("customer"), AttributeType: "S"}, {AttributeName: new("order"), AttributeType: "S"}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: new("customer"), KeyType: "HASH"}, {AttributeName: new("order"), KeyType: "RANGE"}},
		}); err != nil {
			t.Fatal(err)
		}

		d.store = d.another(idemddb.Options{PartitionKey: "customer", SortKey: "order", Now: d.clock.Now})
		d.Records = recordsOf(t, d.store, d.client)

		d.fail("p-1")
		d.put(item{"customer": s("payments#p-1"), "order": s("2026-17")})

		for name, selection := range map[string]operate.Selection{"all": {}, "by its hash": {Hash: d.look("p-1").Hash}} {
			var found []operate.Status

			p, err := d.List(t.Context(), selection, func(v operate.View) error {
				found = append(found, v.Status)

				return nil
			})
			if err != nil || p.Found != 1 || len(found) != 1 || found[0] != operate.Failed {
				t.Errorf("%s: found %v, %+v, %v; want the record alone", name, found, p, err)
			}
		}
	})
}
