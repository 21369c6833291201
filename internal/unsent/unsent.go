// Package unsent makes the requests that find the records whose messages are not sent yet, and read them, for packages outbox and
// operate.
package unsent

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Queries returns the queries that find the records of the namespace whose messages are unsent for longer than age: one for each
// partition of Options.UnsentIndex. Without an index it returns nil.
func Queries(s *idemddb.Store, age time.Duration) (queries []*dynamodb.QueryInput) {
	if s.Options().UnsentIndex == "" {
		return nil
	}

	for _, shard := range shards(s.Options().UnsentShards) {
		queries = append(queries, &dynamodb.QueryInput{
			TableName:              new(s.Table()),
			IndexName:              new(s.Options().UnsentIndex),
			KeyConditionExpression: new(record.DueNS + " = :ns AND " + record.Due + " < :before"),
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":ns":     record.Text(s.Namespace() + "#" + shard),
				":before": before(s, age),
			},
		})
	}

	return queries
}

// shards returns the names of the partitions in which a record may be: those of 16, and if a worker may use more, those of all
// larger numbers, because the workers of the namespace need not change their number at the same time.
func shards(n int) []string {
	names := record.Shards(record.MinShards)
	if n > record.MinShards {
		names = append(names, record.Shards(record.MaxShards)...)
	}

	return names
}

// Scans returns the scans that find the same records without an index: one for each of so many segments of the table. Together
// they read the whole table.
func Scans(s *idemddb.Store, age time.Duration, segments int32) (scans []*dynamodb.ScanInput) {
	for segment := range segments {
		scans = append(scans, &dynamodb.ScanInput{
			TableName:                new(s.Table()),
			Segment:                  new(segment),
			TotalSegments:            new(segments),
			FilterExpression:         new("attribute_exists(outbox) AND begins_with(#pk, :ns) AND " + record.Due + " < :before"),
			ExpressionAttributeNames: map[string]string{"#pk": s.Options().PartitionKey},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":ns":     record.Text(s.Namespace() + "#"),
				":before": before(s, age),
			},
		})
	}

	return scans
}

func before(s *idemddb.Store, age time.Duration) types.AttributeValue {
	return record.Number(s.Options().Now().Add(-age).UnixMilli())
}

// Read returns the consistent read of a record that a query or a scan has found.
func Read(s *idemddb.Store, found map[string]types.AttributeValue) *dynamodb.GetItemInput {
	opts := s.Options()
	key := map[string]types.AttributeValue{opts.PartitionKey: found[opts.PartitionKey]}

	if opts.SortKey != "" {
		key[opts.SortKey] = found[opts.SortKey]
	}

	return &dynamodb.GetItemInput{TableName: new(s.Table()), Key: key, ConsistentRead: new(true)}
}

// Age returns how long a record has had unsent messages, and false if it has none.
func Age(s *idemddb.Store, stored map[string]types.AttributeValue) (time.Duration, bool) {
	due, ok := record.NumberOf(stored[record.Due])

	return s.Options().Now().Sub(time.UnixMilli(due)), ok
}
