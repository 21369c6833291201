package main

import (
	"hash/fnv"
	"math"
	"math/rand/v2"
	"time"
)

// partitionUnits are the write units a second of one partition.
const partitionUnits = 1000

// database is the part of DynamoDB that limits a fleet: partitions that each take 1,000 write units a second, and answers that take a while.
type database struct {
	partitions []bucket
	random     *rand.Rand
	requests   int
	units      int
	throttled  int
}

// saved is how many units a partition has left at most: those of a tenth of a second. DynamoDB saves more, for as long as a load may be above
// what it goes on taking, which no run here is long enough for.
const saved = partitionUnits / 10

// bucket holds what is left of a partition's units.
type bucket struct {
	left float64
	at   time.Duration
}

func newDatabase(partitions int, random *rand.Rand) *database {
	d := &database{partitions: make([]bucket, partitions), random: random}
	for i := range d.partitions {
		d.partitions[i].left = saved
	}

	return d
}

// write takes a unit of the partition of a key, or reports that there is none.
func (d *database) write(now time.Duration, key string) bool {
	h := fnv.New64a()
	_, _ = h.Write([]byte(key))

	b := &d.partitions[h.Sum64()%uint64(len(d.partitions))]
	b.left = min(saved, b.left+partitionUnits*(now-b.at).Seconds())
	b.at = now

	if b.left < 1 {
		d.throttled++

		return false
	}

	b.left--
	d.units++

	return true
}

// latency draws how long a request takes: 3 ms in the middle, 12 ms for one in a hundred.
func (d *database) latency() time.Duration {
	return time.Duration(3e6 * math.Exp(0.6*d.random.NormFloat64()))
}
