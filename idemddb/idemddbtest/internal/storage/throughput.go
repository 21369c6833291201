package storage

import (
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// Throughput counts the units that the partitions of all tables use, and throttles the requests for which none are left.
type Throughput struct {
	limits     Limits
	now        func() time.Time
	partitions map[partitionID]*partition
}

// Limits are what a partition takes in a second, and how many partitions there are. Zero fields limit nothing.
type Limits struct {
	WriteUnits, IndexWriteUnits, ReadUnits int

	Partitions int           // of each table and index, at first
	SplitAfter time.Duration // of throttling; 0: partitions never split
}

// NewThroughput returns the throughput of partitions that have used nothing. The seconds are those of the clock now.
func NewThroughput(limits Limits, now func() time.Time) *Throughput {
	return &Throughput{limits: limits, now: now, partitions: map[partitionID]*partition{}}
}

// Place is where an entry stands: in a table or in an index of it, by its partition key.
type Place struct {
	table *Table
	index string // "" for the table itself
	key   types.AttributeValue
}

// Place returns where an item of the table stands.
func (t *Table) Place(it attribute.Item) Place { return Place{t, "", it[t.Key[0].name]} }

// ChargeWrite takes the units of a write from its partitions, or returns the error of the first that has none left, and takes
// nothing.
func (tp *Throughput) ChargeWrite(w *Write, o Outcome, cost Consumption) error {
	t := w.Table
	if tp.limits.WriteUnits <= 0 && tp.limits.IndexWriteUnits <= 0 {
		return nil
	}

	p := tp.partition(t.Place(w.Adopted))

	if p.isUsedUp(tp.now(), writeUse, tp.limits.WriteUnits) {
		return t.throttled("TableWriteKeyRangeThroughputExceeded", "")
	}

	entries := map[*partition]float64{}

	for _, ix := range t.indexes {
		if cost.indexes[ix.name] == 0 {
			continue
		}

		entry := o.After
		if ix.entry(entry) == nil {
			entry = o.Before
		}

		at := tp.partition(Place{t, ix.name, entry[ix.key[0].name]})
		if at.isUsedUp(tp.now(), writeUse, tp.limits.IndexWriteUnits) {
			return t.throttled("IndexWriteKeyRangeThroughputExceeded", ix.name)
		}

		entries[at] += cost.indexes[ix.name]
	}

	entries[p] += cost.table
	for at, units := range entries {
		at.use(tp.now(), writeUse, units)
	}

	return nil
}

// ChargeRead takes the units of a read from the partition of a place. If it has none left, ChargeRead returns the error, and
// takes nothing.
func (tp *Throughput) ChargeRead(at Place, units float64) error {
	limit := tp.limits.ReadUnits
	if limit <= 0 {
		return nil
	}

	p := tp.partition(at)
	if p.isUsedUp(tp.now(), readUse, limit) {
		reason := "TableReadKeyRangeThroughputExceeded"
		if at.index != "" {
			reason = "IndexReadKeyRangeThroughputExceeded"
		}

		return at.table.throttled(reason, at.index)
	}

	p.use(tp.now(), readUse, units)

	return nil
}

func (t *Table) throttled(reason, index string) error {
	arn := t.arn()
	if index != "" {
		arn += "/index/" + index
	}

	return exception.ThroughputExceeded(types.ThrottlingReason{Reason: &reason, Resource: &arn})
}

// ChargePage takes the units of a page from the partition of its first entry.
func (tp *Throughput) ChargePage(s Source, found *Reading) error {
	if found.first == nil {
		return nil
	}

	index := ""
	if s.index != nil {
		index = s.index.name
	}

	return tp.ChargeRead(Place{s.Table, index, found.first[s.key()[0].name]}, found.Cost.Total())
}

// partitionID names the first partition of a key, before any has split.
type partitionID struct {
	table, index string
	number       uint64
}

// partition returns the partition of a place. The hash of its key chooses the first partition, and its other bits one half after
// the other.
func (tp *Throughput) partition(at Place) *partition {
	sum := sha256.Sum256([]byte(keyText(at.key)))
	hash, number := binary.BigEndian.Uint64(sum[:]), uint64(max(1, tp.limits.Partitions))
	id := partitionID{at.table.Name, at.index, hash % number}

	p := tp.partitions[id]
	if p == nil {
		p = &partition{splitAfter: tp.limits.SplitAfter}
		tp.partitions[id] = p
	}

	for bits := hash / number; p.hasSplit(tp.now()); bits /= 2 {
		p = p.halves[bits%2]
	}

	return p
}
