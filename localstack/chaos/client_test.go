//go:build chaos

package chaos_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

const (
	callers = 5  // their Idempotency-Keys are the same
	threads = 16 // send requests at the same time
)

// request is one payment that a caller asks for. It is sent until it is answered.
type request struct {
	caller, key, body string
	n                 int // of the payment
}

// clients send requests, with retries, time-outs and parallel duplicates.
type clients struct {
	*functionURL

	claimed bool           // the API claims each key, so that it can be in progress
	late    sync.WaitGroup // requests that arrive after their client has given up

	mu      sync.Mutex
	replies map[request][]httpAnswer // the final ones
	counts  map[string]int
}

func newClients(u *functionURL) *clients {
	return &clients{functionURL: u, replies: map[request][]httpAnswer{}, counts: map[string]int{}}
}

// request is the request of payment n; another is another payment under the same key.
func (c *clients) request(n int, another bool) request {
	body := pipeline.Request(c.account(n), amount(n))
	if another {
		body = pipeline.Request(c.account(n), 2*amount(n))
	}

	return request{fmt.Sprintf("AROA%d", n%callers), fmt.Sprintf("order-%d", n/callers), body, n}
}

// requests are what is sent under the key of payment n: its request and, for half of the payments, another one.
func (c *clients) requests(n int) []request {
	if n%2 == 0 {
		return []request{c.request(n, false), c.request(n, true)}
	}

	return []request{c.request(n, false)}
}

// mayCompete reports whether the other request under the key of payment n is sent at the same time, so that it may be the one
// that counts. Otherwise it is sent after the first one is answered.
func mayCompete(n int) bool { return n%4 == 0 }

// sendAll sends the request of each payment twice, one after the other or at the same time, and the other requests.
func (c *clients) sendAll(payments int) {
	var first, after []request

	for n := range payments {
		all := c.requests(n)
		first = append(first, all[0], all[0])

		if mayCompete(n) {
			first = append(first, all[1:]...)
		} else {
			after = append(after, all[1:]...)
		}
	}

	c.mix(first)
	c.sendEach(first)
	c.sendEach(after)
}

// sendAgain sends each request once more.
func (c *clients) sendAgain(payments int) {
	var all []request
	for n := range payments {
		all = append(all, c.requests(n)...)
	}

	c.sendEach(all)
}

// mix mixes requests. Most stay close to those with the same key, so that they are sent at the same time.
func (c *clients) mix(requests []request) {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()

	for i := range requests {
		j := min(i+c.random.IntN(4), len(requests)-1)
		if c.random.IntN(5) == 0 {
			j = c.random.IntN(len(requests))
		}

		requests[i], requests[j] = requests[j], requests[i]
	}
}

func (c *clients) sendEach(requests []request) {
	var (
		all  sync.WaitGroup
		next = make(chan request)
	)

	for range threads {
		all.Go(func() {
			for q := range next {
				c.send(q)
			}
		})
	}

	for _, q := range requests {
		next <- q
	}

	close(next)
	all.Wait()
}

// send repeats a request until its answer is final, as a client does that has to know.
func (c *clients) send(q request) {
	ctx, cancel := context.WithTimeout(c.Context(), timeLimit)
	defer cancel()

	for ctx.Err() == nil {
		got, err := c.try(ctx, q)

		switch {
		case err != nil:
			c.count("without an answer")
		case got.status == http.StatusBadGateway:
			c.count("failed")
		case got.status == http.StatusServiceUnavailable && got.headers["Retry-After"] == "1":
			c.count("unavailable")
		case c.claimed && got.isInProgress():
			c.count("in progress")
		default:
			c.mu.Lock()
			c.replies[q] = append(c.replies[q], got)
			c.mu.Unlock()
			c.count(strconv.Itoa(got.status))

			return
		}

		pass(20 * time.Millisecond) // Retry-After is one second, and the test has less time than a client
	}

	c.Errorf("%+v is not answered after %s", q, timeLimit)
}

var errLate = errors.New("the request is still on its way")

// try sends a request once. Some requests arrive after their client has given up, and some clients give up soon.
func (c *clients) try(ctx context.Context, q request) (httpAnswer, error) {
	disturbed, limit := !c.services.dynamo.calm.Load(), 5*time.Second

	switch {
	case disturbed && c.oneIn(30):
		c.late.Go(func() {
			pass(c.services.dynamo.between(100*time.Millisecond, 4*time.Second))
			_, _ = c.post(c.Context(), q)
		})

		return httpAnswer{}, errLate
	case disturbed && c.oneIn(5):
		limit = 20 * time.Millisecond
	}

	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()

	return c.post(ctx, q)
}

// oneIn is true once in n times.
func (c *clients) oneIn(n int) bool {
	c.run.mu.Lock()
	defer c.run.mu.Unlock()

	return c.random.IntN(n) == 0
}

func (c *clients) count(what string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.counts[what]++
}

// accepted checks the replies, and returns the payments that were accepted, by the id that the clients know.
func (c *clients) accepted(payments int) map[string]pipeline.Entry {
	all := map[string]pipeline.Entry{}

	for n := range payments {
		honest, other := c.request(n, false), c.request(n, true)

		kept, refused, factor := honest, other, 1
		if others := c.replies[other]; mayCompete(n) && len(others) > 0 && others[0].status == http.StatusAccepted { // the other request came first
			kept, refused, factor = other, honest, 2
		}

		if id := c.checkKept(kept); id != "" {
			all[id] = pipeline.Entry{Account: c.account(n), Amount: factor * amount(n)}
		}

		for _, got := range c.replies[refused] {
			if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, "#key-reused") {
				c.Errorf("%+v has the answer %+v, want 422: the key is of %+v", refused, got, kept)
			}
		}
	}

	if len(all) != payments {
		c.Errorf("the clients know %d payments, want %d, each with an id of its own", len(all), payments)
	}

	return all
}

// checkKept wants the replies to a request to be 202 and the same, but for one that may be the first. It returns the payment's
// id.
func (c *clients) checkKept(q request) (id string) {
	firsts := 0

	for _, got := range c.replies[q] {
		if got.status != http.StatusAccepted || len(got.cookies) > 0 {
			c.Errorf("%+v has the answer %+v, want 202", q, got)

			return ""
		}

		if got.headers["Idempotent-Replayed"] == "false" {
			firsts++
		}

		if diff := cmp.Diff(c.replies[q][0].kept(), got.kept()); diff != "" {
			c.Errorf("%+v has two answers (-one +other):\n%s", q, diff)
		}
	}

	if firsts > 1 {
		c.Errorf("%+v was answered %d times as the first", q, firsts)
	}

	if len(c.replies[q]) < 2 {
		c.Errorf("%+v has %d answers, want two or more", q, len(c.replies[q]))

		return ""
	}

	return strings.TrimPrefix(c.replies[q][0].headers["Location"], "/payments/")
}

// isInProgress reports whether the reply says that the key is held, for as long as a lease and the difference of clocks can be at
// most.
func (r httpAnswer) isInProgress() bool {
	seconds, err := strconv.Atoi(r.headers["Retry-After"])

	return r.status == http.StatusConflict && strings.Contains(r.body, "#key-in-progress") && err == nil && seconds >= 1 && seconds <= 2
}

// kept is what all replies to a request share.
func (r httpAnswer) kept() []any {
	headers := maps.Clone(r.headers)
	delete(headers, "Idempotent-Replayed")

	return []any{r.status, headers, r.body}
}

// saw is what the clients saw.
func (c *clients) saw() string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(c.counts)) {
		all = append(all, fmt.Sprintf("%d %s", c.counts[what], what))
	}

	return strings.Join(all, ", ")
}
