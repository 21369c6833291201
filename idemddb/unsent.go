package idemddb

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The requests of package outbox, which finds records with unsent messages.

// UnsentQueries returns the queries that find the records of the namespace whose messages are unsent for longer than age: one for each
// partition of Options.UnsentIndex. Without an index it returns nil. It is for outbox.Sweep.
func (s *Store) UnsentQueries(age time.Duration) []*dynamodb.QueryInput {
	if s.opts.UnsentIndex == "" {
		return nil
	}

	queries := make([]*dynamodb.QueryInput, outboxShards)
	before := s.opts.Now().Add(-age)

	for i := range queries {
		queries[i] = &dynamodb.QueryInput{
			TableName:              &s.table,
			IndexName:              &s.opts.UnsentIndex,
			KeyConditionExpression: aws.String(attrDueNS + " = :ns AND " + attrDue + " < :before"),
			ExpressionAttributeValues: item{
				":ns":     stringValue(s.dueShard(i)),
				":before": numberValue(before.UnixMilli()),
			},
		}
	}

	return queries
}

// UnsentScan returns the scan that finds the same records without an index. It reads the whole table.
func (s *Store) UnsentScan(age time.Duration) *dynamodb.ScanInput {
	before := s.opts.Now().Add(-age)
	isUnsent := "attribute_exists(" + attrOutbox + ") AND begins_with(" + namePK + ", :ns) AND " + attrDue + " < :before"

	return &dynamodb.ScanInput{
		TableName:                &s.table,
		FilterExpression:         &isUnsent,
		ExpressionAttributeNames: map[string]string{namePK: s.opts.PartitionKey},
		ExpressionAttributeValues: item{
			":ns":     stringValue(s.namespace + "#"),
			":before": numberValue(before.UnixMilli()),
		},
	}
}

// RecordInput returns the consistent read of a record that a query or a scan has found. It is for outbox.Sweep and operators.
func (s *Store) RecordInput(found map[string]types.AttributeValue) *dynamodb.GetItemInput {
	key := s.key("")
	for name := range key {
		key[name] = found[name]
	}

	return &dynamodb.GetItemInput{TableName: &s.table, Key: key, ConsistentRead: aws.Bool(true)}
}

// RecordOf returns the consistent read of the record of a key.
func (s *Store) RecordOf(key string) (*dynamodb.GetItemInput, error) {
	partition, err := s.partition(key)
	if err != nil {
		return nil, keyError("read", key, err)
	}

	return s.RecordInput(s.key(partition)), nil
}

// UnsentFor returns how long a record has had unsent messages; false if it has none.
func (s *Store) UnsentFor(stored map[string]types.AttributeValue) (time.Duration, bool) {
	due, ok := numberAt(stored, attrDue)

	return s.opts.Now().Sub(time.UnixMilli(due)), ok
}
