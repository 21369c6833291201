package bench

import (
	"fmt"
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

	for _, condition := range []struct{ latency, handler time.Duration }{
		{dynamoDBLatency, 0}, {dynamoDBLatency, 5 * time.Millisecond}, {0, 0},
	} {
		for _, w := range workloads() {
			for _, workers := range []int{1, 10} {
				all = append(all, comparison(row{latency: condition.latency, handler: condition.handler, workload: w, workers: workers})...)
			}
		}
	}

	return all
}

// comparison returns r once for each of the variants that are measured in it.
func comparison(r row) []row {
	var all []row

	for _, v := range variants() {
		special := v.only != ""
		if special && (v.only != r.workload.name || r.workers > 1 || r.handler > 0) {
			continue
		}

		r.variant = v
		all = append(all, r)
	}

	return all
}

// connectionRows lists what BenchmarkConnections measures.
func connectionRows() []row {
	return comparison(row{latency: dynamoDBLatency, workload: workload{name: "unique100", size: 100}, workers: 50})
}
