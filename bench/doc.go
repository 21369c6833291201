// Package bench holds the benchmarks that compare the library with the two SDK calls that a competent engineer writes by hand.
//
//	make bench                            everything in ten rounds, about six minutes
//	make bench FLAGS=-quick               the rows whose counts have targets, 20 seconds
//	make bench FLAGS='-against cc9547d'   the library of this work tree beside that of another commit, twice as long
//	go test -run '^$' -bench 'Batch/latency=3ms/handler=0s/workload=unique/workers=1$/variant=library$' -cpuprofile cpu.out ./bench
//
// # What is measured
//
// This process is the Lambda function. It makes a client and a handler as a user would, handles one batch so that its connection
// is open, and is then measured while it handles batches of ten messages: one op is one batch. A server in a process of its own
// answers DynamoDB's protocol on loopback from the in-memory engine. It holds each request for 3 ms, about what DynamoDB takes,
// or for no time, where only the work of the processors is left. Each row begins with an empty table and a new client.
//
//	ns/op, B/op, allocs/op   as in all Go benchmarks, of this process
//	cpu-ns/op                processor time of this process, user and system, garbage collection included
//	requests/msg, WU/msg     requests and write units that the server counted, for each message
//	wire-B/msg               bytes on the connections, both directions, headers included, without TLS
//	conns/op                 connections that this process opened, of BenchmarkConnections only, where an op is 40 batches of 100
//	wall/handler             wall time divided by the time that the handlers themselves took
//
// A benchmark fails if a message is reported as failed, if the handler runs too often or too seldom, or if a count misses its
// target (targets_test.go). Times have targets, too, but they depend on the machine, so benchstat's table must be read: with one
// worker, 3 ms and a handler that takes no time, library needs at most 0.15 of the wall time and 0.25 of the processor time of
// handwritten (workload unique), and library-single at most its processor time; with a handler of 5 ms, wall/handler is at most
// 1.25.
//
// # Every row beside the same by hand
//
// The table of docs/performance.md has a row for everything that the library is used for: batches, effects, calls, waiters,
// streams, few items. It is measured in this process, in virtual time (count_test.go), so that counts are nearly the same in each
// run:
//
//	make bench-check            compares the counts with the page
//	make bench-check WRITE=1    writes the page
//
// # Few items that all workers write to
//
// BenchmarkBatch has one process, and its messages have nothing in common. Program hot, in the folder of this name, has several
// worker processes whose transactions meet at a few accounts, and counts what that costs beside one transaction a message written
// by hand:
//
//	make hot                             ten accounts, six processes, every payment twice; about 20 seconds
//	make hot FLAGS='-accounts 1'         one account
//
// # Workloads and variants
//
//	unique        new messages
//	resent        duplicates that come as new messages, because the sender sent them twice
//	redelivered   duplicates that the queue delivers again
//	mixed         one redelivered message in each batch of ten
//	unique100     new messages in batches of 100
//
//	handwritten             the same records and conditions as the library's, with the SDK's default HTTP client
//	handwritten-lean        the shortest correct records: no fencing token, no format version, nothing for an operator
//	handwritten-httpclient  with idemddb.HTTPClient
//	library                 as it comes: writes of a batch share requests
//	library-single          with Options.Single: one request for each write
//	library-cache           with Options.Cache: completed keys are remembered
//
// # What not to conclude
//
// Loopback has no TLS, no network, no throttling, and a latency without a tail. A Lambda function of 128 MB has a fourteenth of a
// processor, so that there the processor time decides the wall time. Server and client share this machine's processors, so the
// wall time without latency says little where there are two. Ratios travel to other machines, absolute figures do not.
package bench
