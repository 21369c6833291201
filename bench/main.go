// Bench compares the library with the two SDK calls that a competent engineer writes by hand, in one interleaved run.
//
//	go run ./bench                    everything, some minutes; in the module's folder, for it builds two small functions
//	go run ./bench -quick             what the targets need, less than a minute
//	go run ./bench -variant d1 -workload unique -handler noop -latency 0s -rounds 50 -cpuprofile cpu.out
//
// What is measured. A server in a process of its own answers DynamoDB's protocol on loopback, from the in-memory engine, each
// request held for a fixed time: 3 ms, as DynamoDB takes, and 0 ms, where only the work of the processors is left. This process
// is the Lambda function: it makes a client and a handler as a user would, warms them up with one batch, and serves batches of
// events. Counted at the server: requests, bytes (headers and bodies, both ways, without TLS), write units, connections opened.
// Counted here: the processor time of this process (getrusage: user and system, the garbage collector's too), wall time, heap
// allocations. A run that answers wrongly, or runs a handler too often or too seldom, ends the program.
//
// Variants:
//
//	a        by hand, one message after the other, with the SDK's default HTTP client; records and conditions as the library's
//	a-lean   the same with the shortest correct records: no fence, no format version, nothing for an operator
//	a-http   the same as a, with idemddb.HTTPClient
//	b        as a, ten at a time
//	c, c10   the library as it comes (in groups), with 1 worker and with 10; c-cache remembers completed keys
//	d1, d10  the library with Options.Single: one request for each write; to be read beside a and b
//
// Each run has a client, a store and an empty table of its own. In every round each variant runs once, in an order that
// rotates, so that noise hits all; a figure is the median of the rounds, a ratio the median of the rounds' ratios to (a), or to
// (b) where (a) would take minutes. A handler of 5 ms holds a mutex: also beside ten goroutines it runs one at a time.
//
// Cold starts are real: two functions are built as for Lambda and started with a Lambda runtime API on loopback; the time is
// from exec to the answer to the first batch.
//
// What not to conclude. Loopback is not AWS: no TLS, no handshakes of 5 ms, no noisy network, no throttling, and a latency
// without a tail. A Lambda function of 128 MB has a fourteenth of a processor: there the CPU column decides the wall column.
// Server and client share this machine's processors, so wall at 0 ms says little where there are two. Absolute figures are of
// this machine; the ratios are what travels.
//
// The exit status is 1 if a target that does not depend on time is missed (requests, write units, connections), unless -check=false.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"runtime/pprof"
	"strings"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)

	var err error
	if len(os.Args) == 2 && os.Args[1] == serveRole {
		err = serve(ctx, os.Stdin, os.Stdout)
	} else if err = forget(os.Environ()); err == nil {
		err = run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	}

	stop()

	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// forget drops the AWS settings of whoever runs this, and the library's switch: they would be measured, too.
func forget(environ []string) (err error) {
	for _, pair := range environ {
		if name, _, _ := strings.Cut(pair, "="); strings.HasPrefix(name, "AWS_") || name == "IDEMDDB_DISABLED" {
			err = errors.Join(err, os.Unsetenv(name))
		}
	}

	return err
}

var errMissed = errors.New("a target that does not depend on time is missed")

func run(ctx context.Context, args []string, out, complaints io.Writer) (err error) {
	o, err := parse(args, complaints)
	if err != nil {
		return err
	}

	engine, err := launch(ctx)
	if err != nil {
		return err
	}

	defer func() { err = errors.Join(err, engine.stop()) }()

	fmt.Fprintf(out, "%s %s/%s, %d processors, %s; %d rounds\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(),
		time.Now().Format(time.DateOnly), o.rounds)

	found, err := profiled(o.profile, func() (results, error) { return tables(ctx, engine, o, out) })
	if err != nil || o.filtered() {
		return err
	}

	if o.starts > 0 {
		if err := functions(ctx, engine, o, out); err != nil {
			return err
		}
	}

	judged := judge(found)
	fmt.Fprintf(out, "\nTargets, at %v a request, by the medians of %d rounds\n\n", targetLatency, o.rounds)
	renderTargets(out, judged)

	if o.check && missed(judged) {
		return errMissed
	}

	return nil
}

// profiled writes a CPU profile of what work does; of this process, so without the server.
func profiled(path string, work func() (results, error)) (_ results, err error) {
	if path == "" {
		return work()
	}

	file, err := os.Create(path) //nolint:gosec // the user's own file
	if err != nil {
		return nil, fmt.Errorf("-cpuprofile: %w", err)
	}

	defer func() { err = errors.Join(err, file.Close()) }()

	if err := pprof.StartCPUProfile(file); err != nil {
		return nil, fmt.Errorf("-cpuprofile: %w", err)
	}

	defer pprof.StopCPUProfile()

	return work()
}
