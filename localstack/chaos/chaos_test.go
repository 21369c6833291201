//go:build chaos

package chaos_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

const (
	processes = 6
	fullBatch = 10
	timeout   = 3 * time.Second // of an invocation
	quick     = 500 * time.Millisecond
	patience  = 3 * time.Minute // until all messages are done
)

// TestEachPaymentCountsOnceWhateverHappens demands of each scenario that each payment is in its account once, that its announcement
// arrived under one id, and that no message is left, lost or was received more than maxReceives times.
func TestEachPaymentCountsOnceWhateverHappens(t *testing.T) {
	seed := setting(t, "SEED", rand.Uint64N(1_000_000))
	payments := int(setting(t, "PAYMENTS", 100))

	t.Logf("SEED=%d PAYMENTS=%d", seed, payments)

	for _, f := range []function{
		{name: "payments", program: build(t, "../../functions/payments"), entries: true},
		{name: "unguarded, optimistic", program: build(t, "./unguarded")},
		{name: "unguarded, claimed", program: build(t, "./unguarded"), env: []string{"CLAIMED=true"}},
	} {
		for _, s := range scenarios {
			t.Run(f.name+"/"+s.name, func(t *testing.T) {
				t.Parallel()
				newRun(t, s, f, seed).play(payments)
			})
		}
	}
}

// function is what runs in the processes.
type function struct {
	name, program string
	env           []string
	entries       bool // the ledger has an entry for each payment
}

func build(t *testing.T, folder string) string {
	t.Helper()

	program := filepath.Join(t.TempDir(), filepath.Base(folder))

	cmd := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", program, folder)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	return program
}

func setting(t *testing.T, name string, otherwise uint64) uint64 {
	t.Helper()

	text := os.Getenv(name)
	if text == "" {
		return otherwise
	}

	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n == 0 {
		t.Fatalf("%s=%q: must be a number above 0", name, text)
	}

	return n
}

// run is one run of one scenario.
type run struct {
	*testing.T
	scenario

	function function
	services services
	queues   *queues
	pipe     *pipeline.Pipeline
	url      string      // of the queues
	env      []string    // of the function
	sending  atomic.Bool // messages may come that are not in the queue yet

	mu      sync.Mutex
	random  *rand.Rand
	stopped []*process
	struck  map[syscall.Signal]int
	errs    []error
	invoked atomic.Int64
	slow    atomic.Int64 // invocations that took longer than quick
}

func newRun(t *testing.T, s scenario, f function, seed uint64) *run {
	t.Helper()

	name := fnv.New64a()
	name.Write([]byte(f.name + s.name))

	random := rand.New(rand.NewPCG(seed, name.Sum64()))
	endpoint := os.Getenv("DYNAMODB_LOCAL_ENDPOINT")

	if endpoint == "" {
		t.Fatal("DYNAMODB_LOCAL_ENDPOINT: must be set, as make chaos does")
	}

	queues := newQueues(s.twice)
	server := httptest.NewServer(queues)
	t.Cleanup(server.Close)

	r := &run{
		T: t, scenario: s, function: f, queues: queues, url: server.URL, random: random, struck: map[syscall.Signal]int{},
		services: services{
			newBackend(t, endpoint, s.odds, rand.New(rand.NewPCG(seed, name.Sum64()+1))),
			newBackend(t, server.URL, s.queue, rand.New(rand.NewPCG(seed, name.Sum64()+2))),
		},
	}
	r.services.dynamo.records = s.records

	cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("us-east-1"),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("local", "local", "")))
	if err != nil {
		t.Fatal(err)
	}

	id := strconv.FormatUint(rand.Uint64(), 36)
	r.pipe = &pipeline.Pipeline{
		Names:    pipeline.Names{RecordTableName: "records-" + id, LedgerTableName: "ledger-" + id},
		DynamoDB: dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.BaseEndpoint = &endpoint; o.DisableValidateResponseChecksum = true }),
	}

	for _, in := range []*dynamodb.CreateTableInput{
		idemddb.TableWithIndex(r.pipe.RecordTableName, "unsent"), idemddb.Table(r.pipe.LedgerTableName),
	} {
		if _, err := r.pipe.DynamoDB.CreateTable(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}

	r.env = append(slices.Clone(f.env),
		"TABLE_NAME="+r.pipe.RecordTableName, "LEDGER_TABLE="+r.pipe.LedgerTableName, "PAUSE_MS="+strconv.FormatInt(s.pause.Milliseconds(), 10),
		"CAPTURED_QUEUE_URL="+r.url+"/1/captured", "PAYMENTS_QUEUE_URL="+r.url+"/1/payments",
	)

	return r
}

// play sends the payments, runs the processes until all messages are done, and checks what is there in the end.
func (r *run) play(payments int) {
	began := time.Now()
	bodies := r.bodies(payments)

	switch {
	case r.adjacent:
		for _, body := range bodies {
			r.queues.add(body, body)
		}
	case r.duplicate:
		r.queues.add(bodies...)
		time.AfterFunc(100*time.Millisecond, func() { r.queues.add(bodies...) })
	default:
		r.queues.add(append(bodies, bodies...)...)
	}

	r.disturb()
	r.work()
	r.calm()

	before := r.sight()
	r.again(bodies)
	r.sweep("payments")
	r.check(payments, before)
	r.Logf("%.1f s: %d messages received, %d failed, %d invocations, %.2f requests a delivery, %d processes killed, %d stopped",
		time.Since(began).Seconds(), r.queues.received, r.queues.failed, r.invoked.Load(),
		float64(r.services.dynamo.requests.Load())/float64(r.queues.received), r.struck[syscall.SIGKILL], r.struck[syscall.SIGSTOP])
}

func (r *run) bodies(payments int) []string {
	bodies := make([]string, payments)
	for n := range bodies {
		bodies[n] = pipeline.Payment(paymentID(n), r.account(n), amount(n))
	}

	return bodies
}

func paymentID(n int) string { return fmt.Sprintf("p-%d", n) }
func amount(n int) int       { return 1_000_000 + n }

func (r *run) account(n int) string {
	if r.accounts == 0 {
		return fmt.Sprintf("a-%d", n)
	}

	return fmt.Sprintf("a-%d", n%r.accounts)
}

// disturb starts what happens at a time of its own.
func (r *run) disturb() {
	if r.outage > 0 {
		total := r.queues.left()
		go func() {
			for r.queues.left() > total*3/4 {
				pass(time.Millisecond)
			}

			r.services.dynamo.away.Store(true)
			pass(r.outage)
			r.services.dynamo.away.Store(false)
		}()
	}

	if r.silent > 0 {
		r.queues.down.Store(true)
		time.AfterFunc(r.silent, func() { r.queues.down.Store(false) })
	}
}

// calm ends what disturbs the run, and lets the stopped processes end what they had begun.
func (r *run) calm() {
	r.queues.down.Store(false)
	r.services.calm()
	r.wakeStopped()
}

// work runs the processes until no message is left or the patience is over.
func (r *run) work() {
	ctx, cancel := context.WithTimeout(r.Context(), patience)
	defer cancel()

	var all sync.WaitGroup

	for range processes {
		all.Go(func() { r.consume(ctx) })
	}

	all.Wait()

	if err := errors.Join(r.errs...); err != nil {
		r.Fatal(err)
	}

	if left := r.queues.left(); left > 0 {
		r.Errorf("%d messages are not done after %s", left, patience)
	}
}

// consume is one execution environment of the function and the poller before it.
func (r *run) consume(ctx context.Context) {
	var p *process

	defer func() {
		if p != nil {
			r.bury(p)
		}
	}()

	for ctx.Err() == nil && (r.sending.Load() || r.queues.left() > 0) {
		batch := r.queues.receive(r.size())
		if len(batch) == 0 {
			pass(10 * time.Millisecond)

			continue
		}

		if p == nil {
			var err error
			if p, err = start(r.Context(), r.function.program, r.services, r.env); err != nil {
				r.fail(err)

				return
			}
		}

		if !r.deliver(p, batch) {
			r.bury(p)

			p = nil
		}
	}
}

func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.errs = append(r.errs, err)
}

// size draws the size of a batch. Without faults batches are full, because that is what the number of requests is about.
func (r *run) size() int {
	r.mu.Lock()
	defer r.mu.Unlock()

	if !r.needless || r.adjacent {
		return fullBatch
	}

	return 1 + r.random.IntN(fullBatch)
}

// deliver invokes the function with a batch. It returns false if the process can't be used any more.
func (r *run) deliver(p *process, batch []*message) bool {
	began := time.Now()
	id := fmt.Sprintf("call-%d", r.invoked.Add(1))
	response, err := p.invoke(invocation{id, sqsEvent(batch), time.Now().Add(timeout)}, r.draw())
	failed := map[string]bool{}

	var answer events.SQSEventResponse
	if err == nil {
		err = json.Unmarshal(response, &answer)
	}

	for _, f := range answer.BatchItemFailures {
		failed[f.ItemIdentifier] = true
	}

	if err != nil {
		for _, m := range batch {
			failed[m.id] = true
		}
	}

	if time.Since(began) > quick {
		r.slow.Add(1)
	}

	r.queues.settle(batch, failed)

	return err == nil && !p.isStopped()
}

// draw draws what happens to the process of one invocation.
func (r *run) draw() *strike {
	r.mu.Lock()
	defer r.mu.Unlock()

	if r.services.dynamo.calm.Load() {
		return nil
	}

	s := &strike{at: moment(r.random.IntN(3)), nth: 1, after: time.Duration(r.random.IntN(100)) * time.Millisecond}
	if s.at != anyTime {
		s.nth += r.random.IntN(3)
	}

	n := r.random.IntN(1000)

	switch {
	case n < r.kills:
		s.signal = syscall.SIGKILL
	case n < r.kills+r.stops:
		s.signal = syscall.SIGSTOP
	case n < r.kills+r.stops+r.freezes:
		s.signal, s.pause = syscall.SIGSTOP, 300*time.Millisecond+time.Duration(r.random.IntN(3700))*time.Millisecond
	default:
		return nil
	}

	r.struck[s.signal]++

	return s
}

// bury ends a process, unless it is stopped: that one goes on when all others are done.
func (r *run) bury(p *process) {
	if p.isStopped() {
		r.mu.Lock()
		r.stopped = append(r.stopped, p)
		r.mu.Unlock()

		return
	}

	p.end()
	p.keep()
}

// wakeStopped lets the stopped processes go on with what they had begun.
func (r *run) wakeStopped() {
	for _, p := range r.stopped {
		p.wake()
	}

	if len(r.stopped) > 0 {
		pass(2 * time.Second) // they have no way to say that they are done
	}

	for _, p := range r.stopped {
		p.end()
		p.keep()
	}

	r.stopped = nil
}

// pass lets real time pass: the processes have no other clock.
func pass(d time.Duration) { <-time.After(d) }

// again sends each payment a third time, with nothing in its way.
func (r *run) again(bodies []string) {
	if r.queues.left() > 0 {
		return
	}

	r.queues.add(bodies...)
	r.work()
}

// sweep sends the messages of a namespace that are left, as functions/relay does two minutes later.
func (r *run) sweep(namespace string) {
	report, err := r.sweepThrough(r.Context(), r.pipe.DynamoDB, r.url, namespace)
	if err != nil || report.Left+report.Parked > 0 || report.Incomplete {
		r.Errorf("sweep of %s: %+v, %v", namespace, report, err)
	}
}

func (r *run) sweepThrough(ctx context.Context, dynamo *dynamodb.Client, queues, namespace string) (outbox.Report, error) {
	client := sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: &queues, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})

	store, err := idemddb.New(dynamo, r.pipe.RecordTableName, namespace, &idemddb.Options{
		UnsentIndex: "unsent", Now: func() time.Time { return time.Now().Add(2 * time.Minute) },
		Senders: map[string]idemddb.Sender{
			ledger.Captured: outbox.SQS(client, r.url+"/1/captured"), ledger.Accepted: outbox.SQS(client, r.url+"/1/payments"),
		},
	})
	if err != nil {
		return outbox.Report{}, err
	}

	return outbox.Sweep(ctx, store, dynamo)
}

func sqsEvent(batch []*message) []byte {
	var event events.SQSEvent

	for _, m := range batch {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: m.id, ReceiptHandle: m.id, Body: m.body, EventSource: "aws:sqs",
			EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:payments", AWSRegion: "us-east-1",
			Attributes: map[string]string{"ApproximateReceiveCount": strconv.Itoa(m.receives)},
		})
	}

	return encode(event)
}

// sight is what the ledger has.
func (r *run) sight() map[string]pipeline.Account {
	accounts, err := r.pipe.Accounts(r.Context())
	if err != nil {
		r.Fatal(err)
	}

	return accounts
}

func (r *run) check(payments int, before map[string]pipeline.Account) {
	want, entries := map[string]pipeline.Account{}, map[string]pipeline.Entry{}

	for n := range payments {
		a := want[r.account(n)]
		want[r.account(n)] = pipeline.Account{Balance: a.Balance + amount(n), Payments: a.Payments + 1}
		entries[paymentID(n)] = pipeline.Entry{Account: r.account(n), Amount: amount(n)}
	}

	if diff := cmp.Diff(want, before); diff != "" {
		r.Errorf("accounts (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(want, r.sight()); diff != "" {
		r.Errorf("accounts after a third delivery of everything (-want +got):\n%s", diff)
	}

	ids := slices.Sorted(maps.Keys(entries))
	if !r.function.entries {
		clear(entries)
	}

	got, err := r.pipe.Entries(r.Context())
	if err != nil {
		r.Fatal(err)
	}

	if diff := cmp.Diff(entries, got); diff != "" {
		r.Errorf("entries (-want +got):\n%s", diff)
	}

	r.checkRecords(r.pipe.Records, payments)
	r.checkSent("announcements", r.queues.captured, ids)
	r.checkExhausted()
	r.checkNeedless()
}

// checkRecords demands so many records, each completed and without unsent messages.
func (r *run) checkRecords(read func(context.Context) (map[string]pipeline.Record, error), want int) {
	records, err := read(r.Context())
	if err != nil {
		r.Fatal(err)
	}

	if len(records) != want {
		r.Errorf("%d records, want %d", len(records), want)
	}

	for id, record := range records {
		if record.State != "COMPLETED" || record.Unsent+record.Parked > 0 {
			r.Errorf("record of %s: %+v", id, record)
		}
	}
}

// checkSent demands that messages were sent for these payments and no others, each under one id.
func (r *run) checkSent(what string, sent map[string]map[string]int, payments []string) {
	r.queues.mu.Lock()
	defer r.queues.mu.Unlock()

	if diff := cmp.Diff(payments, slices.Sorted(maps.Keys(sent))); diff != "" {
		r.Errorf("payments with %s (-want +got):\n%s", what, diff)
	}

	for payment, ids := range sent {
		if len(ids) != 1 || ids[""] > 0 {
			r.Errorf("the %s of %s have the ids %v, want one", what, payment, ids)
		}
	}
}

func (r *run) checkExhausted() {
	if len(r.queues.exhausted) > 0 {
		r.Errorf("received more than %d times: %s", maxReceives, strings.Join(r.queues.exhausted, ", "))
	}
}

func (r *run) checkNeedless() {
	if q := r.queues; q.needless > 0 && !r.needless {
		r.needlessly(q.needless)
	}
}

// needlessly reports deliveries that failed although nothing was wrong. If the machine or DynamoDB Local is so slow that an invocation
// took much of its time, its claims were perhaps not answered in time, and that says nothing about the library.
func (r *run) needlessly(failed int) {
	if n := r.slow.Load(); n > 0 {
		r.Logf("%d deliveries failed, and %d invocations took more than %s", failed, n, quick)

		return
	}

	r.Errorf("%d deliveries failed, although nothing was wrong", failed)
}
