package bench

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// dynamoDBLatency is about what a request to DynamoDB takes within a Region.
const dynamoDBLatency = 3 * time.Millisecond

// row is one line that is measured: a workload under one condition, made idempotent by one variant.
type row struct {
	latency  time.Duration // of each request to DynamoDB
	handler  time.Duration // that each message takes; one message at a time, however many workers there are
	workload workload
	workers  int
	variant  variant
}

func (r *row) name() string {
	return fmt.Sprintf("latency=%v/handler=%v/workload=%s/workers=%d/variant=%s", r.latency, r.handler, r.workload.name, r.workers, r.variant.name)
}

// batchRows lists what BenchmarkBatch measures. The variants that are to be compared are neighbours.
func batchRows() []row {
	var all []row

	for _, r := range []row{{latency: dynamoDBLatency}, {latency: dynamoDBLatency, handler: 5 * time.Millisecond}, {latency: 0}} {
		for _, w := range workloads() {
			if r.handler > 0 && w.duplicates == w.size { // the handler would never run
				continue
			}

			for _, workers := range []int{1, 10} {
				r.workload, r.workers = w, workers
				all = append(all, comparison(r)...)
			}
		}
	}

	return all
}

// comparison returns r once for each of the variants that are measured in it.
func comparison(r row) []row {
	var all []row

	for _, v := range variants() {
		if v.only == "" || v.only == r.workload.name && r.workers == 1 && r.handler == 0 {
			r.variant = v
			all = append(all, r)
		}
	}

	return all
}

// connectionRows lists what BenchmarkConnections measures.
func connectionRows() []row {
	return comparison(row{latency: dynamoDBLatency, workload: workload{name: "unique100", size: 100}, workers: 50})
}

// comparisonPatterns selects, one after the other, all rows that differ in nothing but their workers and variants.
func comparisonPatterns() []string {
	var patterns []string

	for _, r := range batchRows() {
		condition, _, _ := strings.Cut(r.name(), "/workers=")
		patterns = append(patterns, "Batch/"+condition)
	}

	return append(slices.Compact(patterns), "Connections")
}
