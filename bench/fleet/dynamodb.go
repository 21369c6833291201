package main

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// What AWS documents for a partition; docs/scale.md has the addresses.
const (
	partitionWrites = 1000
	partitionReads  = 3000
)

// parts is into how many parts a second is divided in which a partition gives out its units. The DB counts by the second of its
// clock, so that clock runs as many times as fast.
const parts = 10

const (
	tableName = "records"
	ledger    = "ledger" // of what handlers write
	indexName = "unsent"
	shardKey  = "due_ns"
)

// newDB returns the tables of a fleet, with the partitions of a setting. A request takes 3 ms in the middle and 12 ms for one in
// a hundred, and a transaction 2 to 6 ms more, in which it holds its items.
func newDB(ctx context.Context, s *setting) (*idemddbtest.DB, error) {
	began := time.Now()

	db := idemddbtest.New(&idemddbtest.Options{
		Now: func() time.Time { return began.Add(parts * time.Since(began)) },
		TransactionTime: func() time.Duration {
			return 2*time.Millisecond + time.Duration(rand.Int64N(int64(4*time.Millisecond))) //nolint:gosec // a simulation
		},
		Limits: idemddbtest.Limits{
			WriteUnits: s.share(partitionWrites), IndexWriteUnits: s.share(partitionWrites), ReadUnits: s.share(partitionReads),
			Partitions: s.partitions, SplitAfter: parts * s.splits,
			Latency: func() time.Duration { return time.Duration(3e6 * math.Exp(0.6*rand.NormFloat64())) }, //nolint:gosec // as above
		},
	})

	records := idemddbtest.CreateTable(tableName, "")
	records.AttributeDefinitions = append(records.AttributeDefinitions,
		types.AttributeDefinition{AttributeName: new(shardKey), AttributeType: types.ScalarAttributeTypeS},
		types.AttributeDefinition{AttributeName: new("due"), AttributeType: types.ScalarAttributeTypeN})
	records.GlobalSecondaryIndexes = []types.GlobalSecondaryIndex{{
		IndexName: new(indexName), Projection: &types.Projection{ProjectionType: types.ProjectionTypeKeysOnly},
		KeySchema: []types.KeySchemaElement{
			{AttributeName: new(shardKey), KeyType: types.KeyTypeHash}, {AttributeName: new("due"), KeyType: types.KeyTypeRange},
		},
	}}

	_, err := db.CreateTable(ctx, records)
	_, errLedger := db.CreateTable(ctx, idemddbtest.CreateTable(ledger, ""))

	return db, errors.Join(err, errLedger)
}

// share returns the units of a partition in a part of a second.
func (s *setting) share(units int) int { return max(1, units/(parts*max(1, s.scale))) }

// meter counts what DynamoDB is asked for. The index of a Query is not read, so what it throttles is a write of its table.
type meter struct {
	requests, conflicts int
	units, reads        float64
	ofTable, ofIndex    int // writes and reads that were throttled, and for which partition
}

// read counts the requests since the last call.
func (m *meter) read(db *idemddbtest.DB) {
	all := db.Requests()
	db.ResetRequests()

	for _, r := range all {
		m.requests++
		m.units += float64(r.WriteUnits)
		m.reads += r.ReadUnits
		m.count(r.Err)

		for _, part := range r.Items {
			m.count(part.Err)
		}
	}
}

func (m *meter) count(err error) {
	if e, ok := errors.AsType[*types.ProvisionedThroughputExceededException](err); ok && len(e.ThrottlingReasons) > 0 {
		if strings.HasPrefix(*e.ThrottlingReasons[0].Reason, "Index") {
			m.ofIndex++
		} else {
			m.ofTable++
		}
	}

	if _, ok := errors.AsType[*types.TransactionConflictException](err); ok {
		m.conflicts++
	}

	if e, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for _, reason := range e.CancellationReasons {
			if *reason.Code == "TransactionConflict" {
				m.conflicts++
			}
		}
	}
}

// minus returns what has been counted since an earlier time.
func (m *meter) minus(before *meter) meter {
	return meter{
		m.requests - before.requests, m.conflicts - before.conflicts, m.units - before.units, m.reads - before.reads,
		m.ofTable - before.ofTable, m.ofIndex - before.ofIndex,
	}
}

// target is where announcements go. It takes 5 ms.
type target struct{}

func (target) Send(_ context.Context, _ string, messages []idemddb.Message) []error {
	pause(5 * time.Millisecond)

	return make([]error, len(messages))
}
