//go:build unix

package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"

	"github.com/idemddb/go-idemddb/bench/loopback"
)

// BenchmarkBatch measures one invocation with a batch of ten messages.
func BenchmarkBatch(b *testing.B) {
	server := startServer(b)

	for _, row := range batchRows() {
		if testing.Short() && row.target() == nil {
			continue
		}

		b.Run(row.name(), func(b *testing.B) {
			r := newRun(b, server, &row)
			batches := row.workload.batches(b.N)
			r.completeDuplicates(batches)
			r.openConnection(b.N)
			r.measure(batches)
		})
	}
}

// BenchmarkConnections measures 4,000 messages in batches of 100, in a process that has no connection yet.
func BenchmarkConnections(b *testing.B) {
	const batchesPerOp = 40

	server := startServer(b)

	for _, row := range connectionRows() {
		b.Run(row.name(), func(b *testing.B) {
			newRun(b, server, &row).measure(row.workload.batches(batchesPerOp * b.N))
		})
	}
}

// Arguments with which this program does something else than to run its tests and benchmarks.
const (
	serverArgument = "serve-dynamodb"   // be the server process
	listArgument   = "list-comparisons" // print a pattern for -test.bench for each set of rows that is measured together
)

var serverProgram = flag.String("server", "", "program of the server process; default: this one. Two commits are compared over the same server.")

func TestMain(m *testing.M) {
	switch os.Args[len(os.Args)-1] {
	case serverArgument:
		if err := loopback.Serve(context.Background(), os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	case listArgument:
		for _, pattern := range comparisonPatterns() {
			fmt.Fprintln(os.Stdout, pattern)
		}
	default:
		clearAWSEnv()
		m.Run()
	}
}

// clearAWSEnv removes what would change the measurement: the AWS settings of this machine's user, and the library's switch.
func clearAWSEnv() {
	for _, pair := range os.Environ() {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") || name == "IDEMDDB_DISABLED" {
			os.Unsetenv(name)
		}
	}
}

func startServer(b *testing.B) *loopback.Process {
	b.Helper()

	program := *serverProgram
	if program == "" {
		var err error
		if program, err = os.Executable(); err != nil {
			b.Fatal(err)
		}
	}

	// The context of b is done before the cleanup begins.
	server, err := loopback.Start(context.WithoutCancel(b.Context()), program, serverArgument)
	if err != nil {
		b.Fatal(err)
	}

	b.Cleanup(func() {
		if err := server.Stop(); err != nil {
			b.Error(err)
		}
	})

	return server
}

// run is one run of a row: a Lambda handler with a client of its own, on an empty table.
type run struct {
	b      *testing.B
	row    *row
	server *loopback.Process
	invoke lambdaHandler
	work   *work
	warm   bool // the connection was open before the measurement
}

func newRun(b *testing.B, server *loopback.Process, r *row) *run {
	b.Helper()

	url, err := server.NewTable()
	if err != nil {
		b.Fatal(err)
	}

	work := &work{takes: r.handler}

	invoke, err := r.variant.open(b.Context(), url, r.workers, work.handle)
	if err != nil {
		b.Fatal(err)
	}

	return &run{b: b, row: r, server: server, invoke: invoke, work: work}
}

// completeDuplicates delivers the duplicates of the batches for the first time.
func (r *run) completeDuplicates(batches []events.SQSEvent) {
	if r.row.workload.duplicates == 0 {
		return
	}

	for _, batch := range batches {
		r.deliver(r.row.workload.firstDelivery(batch))
	}
}

// openConnection handles a batch of new messages, because a Lambda function has an open connection in all invocations but the
// first.
func (r *run) openConnection(number int) {
	unique := workload{size: r.row.workload.size}
	r.deliver(unique.batch(number))
	r.warm = true
}

// setLatency returns what the server has counted since it was last called.
func (r *run) setLatency(latency time.Duration) loopback.Counts {
	counts, err := r.server.SetLatency(latency)
	if err != nil {
		r.b.Fatal(err)
	}

	return counts
}

// measure delivers the batches, reports the metrics, and compares them with the row's target.
func (r *run) measure(batches []events.SQSEvent) {
	r.setLatency(r.row.latency)
	r.work.reset()
	r.b.ReportAllocs()
	runtime.GC() // what was prepared is not collected within the measurement
	r.b.ResetTimer()

	cpu := cpuTime()

	for _, batch := range batches {
		r.deliver(batch)
	}

	cpu = cpuTime() - cpu

	r.b.StopTimer()

	counts := r.setLatency(0)
	messages := len(batches) * r.row.workload.size

	if want := len(batches) * (r.row.workload.size - r.row.workload.duplicates); r.work.calls != want {
		r.b.Fatalf("the handler ran %d times, want %d", r.work.calls, want)
	}

	r.report(messages, cpu, counts)
}

func (r *run) report(messages int, cpu time.Duration, counts loopback.Counts) {
	metrics := map[string]float64{
		requests:     float64(counts.Requests) / float64(messages),
		writeUnits:   float64(counts.WriteUnits) / float64(messages),
		"wire-B/msg": float64(counts.Bytes) / float64(messages),
		"cpu-ns/op":  float64(cpu) / float64(r.b.N),
	}
	if !r.warm {
		metrics[connections] = float64(counts.Connections) / float64(r.b.N)
	}

	if r.work.took > 0 {
		metrics["wall/handler"] = float64(r.b.Elapsed()) / float64(r.work.took)
	}

	for unit, value := range metrics {
		r.b.ReportMetric(value, unit)
	}

	if messages <= 10 { // in a single batch, one pause of this process splits a request in two
		return
	}

	for _, miss := range misses(r.row.target(), metrics) {
		r.b.Error(miss)
	}
}

// deliver invokes the handler as Lambda does, with a deadline and a request id.
func (r *run) deliver(batch events.SQSEvent) {
	ctx, cancel := context.WithTimeout(lambdacontext.NewContext(r.b.Context(), &lambdacontext.LambdaContext{
		AwsRequestID: "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
	}), time.Minute)
	defer cancel()

	response, err := r.invoke(ctx, batch)
	if failed := len(response.BatchItemFailures); err != nil || failed > 0 {
		r.b.Fatalf("%d of %d messages failed: %v", failed, len(batch.Records), err)
	}
}

// work is the user's handler. It handles one message at a time, however many workers call it.
type work struct {
	takes time.Duration

	mu    sync.Mutex
	calls int
	took  time.Duration // all calls together
}

func (w *work) handle(context.Context, events.SQSMessage) error {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.calls++

	if w.takes > 0 {
		began := time.Now()

		time.Sleep(w.takes) //nolint:forbidigo // another service takes this time

		w.took += time.Since(began)
	}

	return nil
}

func (w *work) reset() {
	w.mu.Lock()
	defer w.mu.Unlock()

	w.calls, w.took = 0, 0
}
