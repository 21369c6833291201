package idemddbtest

import (
	"context"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
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

// throughput returns what partitions with these limits take.
func (l *Limits) throughput(now func() time.Time) *storage.Throughput {
	return storage.NewThroughput(storage.Limits{
		WriteUnits: l.WriteUnits, IndexWriteUnits: l.IndexWriteUnits, ReadUnits: l.ReadUnits, Partitions: l.Partitions, SplitAfter: l.SplitAfter,
	}, now)
}

// wait lets the latency of a request pass. It returns false if its sender gives up meanwhile.
func (l *Limits) wait(ctx context.Context) bool {
	return l.Latency == nil || sleep.For(ctx, l.Latency())
}
