package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// chaos is a service of several processes that die, freeze and lose requests, and clients that repeat and leave.
type chaos struct {
	*web

	mu        sync.Mutex
	random    *rand.Rand
	calm      bool
	processes []*process
	answers   map[string]map[string]int // key → answer with 2xx → how often
	deaths    int
}

// process is one process of the service, with its own clock. When it is dead, no request of it arrives and nobody gets its
// answers.
type process struct {
	chaos   *chaos
	dead    atomic.Bool
	handler http.Handler
}

var errDead = errors.New("the process is dead")

// send is in place of each request.
func (p *process) send(ctx context.Context, in any, send around.Send) (any, error) {
	if err := p.alive(ctx); err != nil {
		return nil, err
	}

	out, err := send(ctx, in)

	return out, errors.Join(err, p.alive(ctx))
}

// alive is called before and after each request to DynamoDB. It returns an error if the process is dead.
func (p *process) alive(ctx context.Context) error {
	if p.chaos.chance(1, 150) {
		p.dead.Store(true)
	}

	if p.dead.Load() {
		<-ctx.Done()

		return errDead
	}

	return nil
}

func (c *chaos) chance(n, of int) bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return !c.calm && c.random.IntN(of) < n
}

func (c *chaos) number(n int) int {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.random.IntN(n)
}

// start starts a process, in the place of a dead one.
func (c *chaos) start() *process {
	p := &process{chaos: c}
	skew := time.Duration(c.number(800)-400) * time.Millisecond

	store, err := idemddb.New(&around.Client{DB: c.db, Do: p.send}, "records", "payments", &idemddb.Options{
		Lease: 5 * time.Second, Single: true, Now: func() time.Time { return time.Now().Add(skew) },
	})
	if err != nil {
		c.Fatal(err)
	}

	p.handler = lambdawrap.HTTP(store, http.HandlerFunc(c.pay), &c.opts)

	return p
}

// pay counts the payment once in its item, and answers with what no other run answers. It also fails in each way that a handler
// can.
func (c *chaos) pay(w http.ResponseWriter, r *http.Request) {
	key := r.Header.Get("Idempotency-Key")
	run := c.ran.Add(1)

	if c.chance(1, 4) {
		time.Sleep(time.Duration(c.number(8000)) * time.Millisecond)
	}

	err := counting(r.Context(), events.SQSMessage{Body: key})

	switch {
	case c.chance(1, 20):
		panic(http.ErrAbortHandler)
	case c.chance(1, 10), err != nil:
		w.WriteHeader(http.StatusInternalServerError)
	default:
		w.Header().Set("Location", fmt.Sprintf("/payments/%d", run))
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, key+" by run "+strconv.FormatInt(run, 10))
	}
}

// ask sends one request to a process and returns its answer, or nil if there is none or the client leaves.
func (c *chaos) ask(key string) *http.Response {
	at := c.number(len(c.processes))

	c.mu.Lock()
	p := c.processes[at]
	c.mu.Unlock()

	if p.dead.Load() {
		p = c.start()

		c.mu.Lock()
		c.processes[at] = p
		c.deaths++
		c.mu.Unlock()
	}

	ctx, cancel := context.WithTimeout(c.Context(), 10*time.Second) // an invocation has a deadline, too
	answer := make(chan *http.Response, 1)

	go func() {
		defer cancel()
		defer close(answer)
		defer func() { _ = recover() }() // the server recovers, too

		recorder := httptest.NewRecorder()
		p.handler.ServeHTTP(recorder, request(key, key).WithContext(ctx))

		if !p.dead.Load() {
			answer <- recorder.Result()
		}
	}()

	if c.chance(1, 10) {
		cancel() // the client leaves

		return nil
	}

	return <-answer
}

// pursue sends a request until it is answered with 201, as a client does.
func (c *chaos) pursue(key string) {
	for range 60 {
		got := c.ask(key)

		switch {
		case got == nil:
			time.Sleep(time.Duration(c.number(1000)) * time.Millisecond)
		case got.StatusCode == http.StatusCreated:
			c.mu.Lock()
			c.answers[key][got.Header.Get("Location")+" "+read(got)]++
			c.mu.Unlock()

			return
		case got.StatusCode == http.StatusConflict, got.StatusCode == http.StatusServiceUnavailable:
			seconds, err := strconv.Atoi(got.Header.Get("Retry-After"))
			if err != nil || seconds < 1 || seconds > 10 {
				c.Errorf("status %d with Retry-After %q", got.StatusCode, got.Header.Get("Retry-After"))
			}

			time.Sleep(time.Duration(seconds) * time.Second)
		case got.StatusCode != http.StatusInternalServerError:
			c.Errorf("status %d: %s", got.StatusCode, read(got))
		}
	}
}

// fault chooses the fault of a request, and freezes some.
func (c *chaos) fault(ctx context.Context, _ idemddbtest.Request) idemddbtest.Fault {
	if c.chance(1, 30) {
		c.db.Deliver()
	}

	if c.chance(1, 25) {
		select { // the process or the network is frozen
		case <-time.After(time.Duration(c.number(20_000)) * time.Millisecond):
		case <-ctx.Done():
		}
	}

	faults := []idemddbtest.Fault{
		idemddbtest.Throttle, idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.LateCommit, idemddbtest.LateReply,
		idemddbtest.ServerErrorApplied, idemddbtest.TransactionConflict, idemddbtest.EmptyAnswerApplied, idemddbtest.TruncatedBody,
	}

	if c.chance(1, 5) {
		return faults[c.number(len(faults))]
	}

	return idemddbtest.None
}

// Whichever process dies, each payment counts once, and all answers to it are the same.
func TestHTTPChaosEachPaymentCountsOnceAndHasOneAnswer(t *testing.T) {
	t.Parallel()

	const keys, clients = 20, 4

	for seed := range rounds(20) {
		for _, optimistic := range []bool{false, true} {
			t.Run(fmt.Sprintf("seed %d, optimistic %t", seed, optimistic), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := &chaos{web: newWeb(t, nil), random: rand.New(rand.NewPCG(uint64(seed), 1)), answers: map[string]map[string]int{}}
					c.opts.Optimistic, c.opts.Wait = optimistic, 2*time.Second
					c.db.Intercept(c.fault)

					for range 3 {
						c.processes = append(c.processes, c.start())
					}

					var wg sync.WaitGroup

					for k := range keys {
						c.answers["k-"+strconv.Itoa(k)] = map[string]int{}
					}

					for key := range c.answers {
						for range clients {
							wg.Go(func() { c.pursue(key) })
						}
					}

					wg.Wait()
					c.settle(keys)
				})
			})
		}
	}
}

// settle demands that after the storm each key is completed, and was counted once.
func (c *chaos) settle(keys int) {
	c.Helper()

	c.mu.Lock()
	c.calm = true
	c.mu.Unlock()

	time.Sleep(time.Minute)
	c.db.Deliver()

	for k := range keys {
		key := "k-" + strconv.Itoa(k)
		c.pursue(key)

		if n := c.counted(key); n != "1" || len(c.answers[key]) != 1 {
			c.Errorf("%s was counted %q times and answered with %v", key, n, c.answers[key])
		}
	}

	c.Logf("%d runs, %d deaths, %d requests", c.ran.Load(), c.deaths, len(c.db.Requests()))
}
