package idemddbtest

import (
	"context"
	"fmt"
	"hash/fnv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Limits are what DynamoDB takes in a second, and how long it takes to answer. Zero fields limit nothing. The numbers that AWS documents are
// for a partition, https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html; a test may choose smaller
// ones. A write is throttled if its partition has used up its units in the present second of [Options.Now]; the last write that is taken may
// go beyond them. DynamoDB lends a partition units that it has not used before, and splits a partition that is busy for long; the DB does neither.
type Limits struct {
	// WriteUnits are the write units of a partition of a table. A write beyond them is a ProvisionedThroughputExceededException with the
	// throttling reason TableWriteKeyRangeThroughputExceeded; a statement, and a part of a transaction, has that error alone. Nothing is written
	// then. DynamoDB takes 1,000. Negative counts as zero.
	WriteUnits int

	// IndexWriteUnits are those of a partition of a global secondary index. An index whose partition has none left throttles the writes of its
	// table, as in DynamoDB: the reason is IndexWriteKeyRangeThroughputExceeded. DynamoDB takes 1,000. Negative counts as zero.
	IndexWriteUnits int

	// Partitions is how many partitions each table and index has. Items belong to one by a hash of their partition key. A new on-demand table
	// takes 4,000 write units, as if it had 4. Defaults to 1, which makes all of a table one hot partition.
	Partitions int

	// Latency returns how long a request waits before the DB takes it. A sender that leaves meanwhile has sent nothing. It is called once for
	// each request, without a lock, maybe from several goroutines at once. Defaults to none.
	Latency func() time.Duration
}

// used are the units of one partition in one second.
type used struct {
	second int64
	units  float64
}

// wait lets the latency of a request pass. It returns false if its sender gives up meanwhile.
func (l *Limits) wait(ctx context.Context) bool {
	if l.Latency == nil {
		return true
	}

	timer := time.NewTimer(l.Latency())
	defer timer.Stop()

	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// charge takes the units of a write from its partitions, or returns the error of the first that has none left, and takes nothing.
func (w *write) charge(o outcome, cost consumption) error {
	t, limits := w.table, &w.table.db.limits
	if limits.WriteUnits <= 0 && limits.IndexWriteUnits <= 0 {
		return nil
	}

	partition := t.partition("", w.adopted[t.key[0].name])

	if t.isOver(partition, limits.WriteUnits) {
		return t.throttled("TableWriteKeyRangeThroughputExceeded", "")
	}

	entries := map[string]float64{}

	for _, ix := range t.indexes {
		if cost.indexes[ix.name] == 0 {
			continue
		}

		entry := o.after
		if ix.entry(entry) == nil {
			entry = o.before
		}

		at := t.partition(ix.name, entry[ix.key[0].name])
		if t.isOver(at, limits.IndexWriteUnits) {
			return t.throttled("IndexWriteKeyRangeThroughputExceeded", "/index/"+ix.name)
		}

		entries[at] += cost.indexes[ix.name]
	}

	entries[partition] += cost.table
	for at, units := range entries {
		t.use(at, units)
	}

	return nil
}

// partition names the partition of an index, or of the table itself, that has a key.
func (t *table) partition(index string, key types.AttributeValue) string {
	hash := fnv.New32a()
	_, _ = hash.Write([]byte(keyText(key))) // never fails

	return fmt.Sprint(t.name, "/", index, "/", hash.Sum32()%uint32(max(1, t.db.limits.Partitions))) //nolint:gosec // of a test
}

func (t *table) isOver(partition string, limit int) bool {
	u := t.db.used[partition]

	return limit > 0 && u.second == t.db.now().Unix() && u.units >= float64(limit)
}

func (t *table) use(partition string, units float64) {
	u := t.db.used[partition]
	if second := t.db.now().Unix(); u.second != second {
		u = used{second: second}
	}

	u.units += units
	t.db.used[partition] = u
}

func (t *table) throttled(reason, index string) error {
	return &types.ProvisionedThroughputExceededException{
		Message: new(overProvided), ThrottlingReasons: []types.ThrottlingReason{{
			Reason: &reason, Resource: new("arn:aws:dynamodb:us-east-1:000000000000:table/" + t.name + index),
		}},
	}
}
