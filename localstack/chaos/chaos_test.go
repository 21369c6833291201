//go:build chaos

package chaos_test

import (
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/localstack/auditing"
	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

const (
	processes = 6
	fullBatch = 10
	timeout   = 3 * time.Second // of an invocation
	quick     = 500 * time.Millisecond
	timeLimit = 3 * time.Minute // until all messages are done
)

// TestEachPaymentCountsOnceWhateverHappens demands of each scenario that each payment is in its account once, that its
// announcement arrived under one id, that no message is left, lost or was received more than maxReceives times, and that each
// change of each record is one that docs/record.md allows.
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

	// DynamoDB Local has a database for each access key. In a database with the streams of many runs each request takes longer: it
	// asks for the first change of the table's stream, and DynamoDB Local looks for it among those of all streams.
	id := strconv.FormatUint(rand.Uint64(), 36)

	cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion("us-east-1"),
		config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider(id, "local", "")))
	if err != nil {
		t.Fatal(err)
	}

	r.pipe = &pipeline.Pipeline{
		Names:    pipeline.Names{RecordTableName: "records-" + id, LedgerTableName: "ledger-" + id},
		DynamoDB: dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.BaseEndpoint = &endpoint; o.DisableValidateResponseChecksum = true }),
	}

	records := idemddbtest.CreateTable(r.pipe.RecordTableName, "unsent")
	records.StreamSpecification = auditing.Stream()

	for _, in := range []*dynamodb.CreateTableInput{records, idemddbtest.CreateTable(r.pipe.LedgerTableName, "")} {
		if _, err := r.pipe.DynamoDB.CreateTable(t.Context(), in); err != nil {
			t.Fatal(err)
		}
	}

	r.env = append(slices.Clone(f.env), "AWS_ACCESS_KEY_ID="+id,
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
	r.audit(0)
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
