package idemddbtest

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

// Limits are what DynamoDB takes in a second, and how long it takes to answer. Zero fields limit nothing. The numbers that AWS
// documents are for a partition, https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/bp-partition-key-design.html; a
// test may choose smaller ones. A request is throttled if its partition has used up its units in the present second of
// [Options.Now]; the last request that is taken may go beyond them. DynamoDB lends a partition units that it has not used before;
// the DB does not.
type Limits struct {
	// WriteUnits are the write units of a partition of a table. A write beyond them is a ProvisionedThroughputExceededException with
	// the throttling reason TableWriteKeyRangeThroughputExceeded; a statement, and a part of a transaction, has that error alone.
	// Nothing is written then. DynamoDB takes 1,000. Negative counts as zero.
	WriteUnits int

	// IndexWriteUnits are those of a partition of a global secondary index. An index whose partition has none left throttles the
	// writes of its table, as in DynamoDB: the reason is IndexWriteKeyRangeThroughputExceeded. DynamoDB takes 1,000. Negative counts
	// as zero.
	IndexWriteUnits int

	// ReadUnits are the read units of a partition of a table, and of a partition of an index. A GetItem, a Query, a Scan or a
	// statement that reads beyond them is throttled with the reason TableReadKeyRangeThroughputExceeded or
	// IndexReadKeyRangeThroughputExceeded. What a Query or a Scan reads counts for the partition of its first entry, and without any
	// entry for none. The read of a condition takes write units, as in DynamoDB. DynamoDB takes 3,000. Negative counts as zero.
	ReadUnits int

	// Partitions is how many partitions each table and index has at first. Items belong to one by a hash of their partition key. A
	// new on-demand table takes 4,000 write units, as if it had 4. Defaults to 1, which makes all of a table one hot partition.
	Partitions int

	// SplitAfter is for how many seconds in a row a partition must throttle until it splits: its keys are divided among two
	// partitions, each with all the units of a partition. One key is never divided, so that an item that takes all units of its
	// partition goes on to throttle. Only whole seconds count. AWS documents that partitions split under load, and no time; it takes
	// minutes, not seconds. Defaults to never. Negative counts as zero.
	SplitAfter time.Duration

	// Latency returns how long a request waits before the DB takes it. A sender that leaves meanwhile has sent nothing. It is called
	// once for each request, without a lock, maybe from several goroutines at once. Defaults to none.
	Latency func() time.Duration
}

// wait lets the latency of a request pass. It returns false if its sender gives up meanwhile.
func (l *Limits) wait(ctx context.Context) bool {
	return l.Latency == nil || sleep.For(ctx, l.Latency())
}

// charge takes the units of a write from its partitions, or returns the error of the first that has none left, and takes nothing.
func (w *write) charge(o outcome, cost consumption) error {
	t, limits := w.table, &w.table.db.limits
	if limits.WriteUnits <= 0 && limits.IndexWriteUnits <= 0 {
		return nil
	}

	p := t.partition("", w.adopted[t.key[0].name])

	if p.isUsedUp(t.db.now(), writeUse, limits.WriteUnits) {
		return t.throttled("TableWriteKeyRangeThroughputExceeded", "")
	}

	entries := map[*partition]float64{}

	for _, ix := range t.indexes {
		if cost.indexes[ix.name] == 0 {
			continue
		}

		entry := o.after
		if ix.entry(entry) == nil {
			entry = o.before
		}

		at := t.partition(ix.name, entry[ix.key[0].name])
		if at.isUsedUp(t.db.now(), writeUse, limits.IndexWriteUnits) {
			return t.throttled("IndexWriteKeyRangeThroughputExceeded", ix.name)
		}

		entries[at] += cost.indexes[ix.name]
	}

	entries[p] += cost.table
	for at, units := range entries {
		at.use(t.db.now(), writeUse, units)
	}

	return nil
}

// chargeRead takes the units of a read from the partition of a key of the table, or of an index. If it has none left, chargeRead
// returns the error, and takes nothing.
func (t *table) chargeRead(index string, key types.AttributeValue, units float64) error {
	limit := t.db.limits.ReadUnits
	if limit <= 0 {
		return nil
	}

	p := t.partition(index, key)
	if p.isUsedUp(t.db.now(), readUse, limit) {
		reason := "TableReadKeyRangeThroughputExceeded"
		if index != "" {
			reason = "IndexReadKeyRangeThroughputExceeded"
		}

		return t.throttled(reason, index)
	}

	p.use(t.db.now(), readUse, units)

	return nil
}

func (t *table) throttled(reason, index string) error {
	arn := t.arn()
	if index != "" {
		arn += "/index/" + index
	}

	return exception.ThroughputExceeded(types.ThrottlingReason{Reason: &reason, Resource: &arn})
}
