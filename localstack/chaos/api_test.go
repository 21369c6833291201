//go:build chaos

package chaos_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// TestEachRequestIsOnePaymentWhateverHappens sends POST requests to functions/api, which passes payments on to
// functions/payments, which announces them. It demands of each scenario that each Idempotency-Key of a caller has one payment in
// its account, one answer, and one announcement; that another request under the key is refused; that nothing else is there, and
// nothing is left; and that each change of each record is one that docs/record.md allows.
func TestEachRequestIsOnePaymentWhateverHappens(t *testing.T) {
	seed := setting(t, "SEED", rand.Uint64N(1_000_000))
	payments := int(setting(t, "PAYMENTS", 400))

	t.Logf("SEED=%d PAYMENTS=%d", seed, payments)

	f := function{name: "api", program: build(t, "../../functions/payments"), entries: true}
	play := func(name, api string, claimed bool, s scenario) {
		t.Run(name+"/"+s.name, func(t *testing.T) {
			t.Parallel()

			c := newClients(newFunctionURL(newRun(t, s, f, seed), api))
			c.claimed = claimed
			c.play(payments)
		})
	}

	api, claimed := build(t, "../../functions/api"), build(t, "./claimed")

	for _, s := range apiScenarios {
		play("api", api, false, s)
	}

	for _, s := range claimedScenarios {
		play("api, claimed", claimed, true, s)
	}
}

// play sends the requests while the processes run and are disturbed, then each once more with nothing in its way, and checks what
// there is in the end.
func (c *clients) play(payments int) {
	began := time.Now()

	var clients sync.WaitGroup

	c.disturb()
	c.sending.Store(true)
	clients.Go(func() {
		defer c.sending.Store(false)

		c.sendAll(payments)
	})

	stop := c.keepSweeping()

	c.work()
	clients.Wait()
	stop()
	c.calm()
	c.late.Wait()

	c.sendAgain(payments)
	c.close()
	c.sweepBoth()
	c.check(payments)
	c.audit(c.skew())
	c.Logf("%.1f s: clients saw %s; %d messages received, %d failed, %d processes killed, %d stopped", time.Since(began).Seconds(), c.saw(),
		c.queues.received, c.queues.failed, c.struck[syscall.SIGKILL], c.struck[syscall.SIGSTOP])
}

// skew is the ClockSkew of the API.
func (c *clients) skew() time.Duration {
	if c.claimed {
		return 100 * time.Millisecond // as in claimed/main.go
	}

	return 0
}

func (c *clients) check(payments int) {
	want := c.accepted(payments)

	if diff := cmp.Diff(pipeline.AccountsOf(want), c.sight()); diff != "" {
		c.Errorf("accounts (-want +got):\n%s", diff)
	}

	for what, read := range map[string]func(context.Context) (map[string]pipeline.Entry, error){
		"payments that the API accepted": c.pipe.Requests, "entries": c.pipe.Entries,
	} {
		got, err := read(c.Context())
		if diff := cmp.Diff(want, got); diff != "" || err != nil {
			c.Errorf("%s, %v (-the clients know +got):\n%s", what, err, diff)
		}
	}

	c.checkRecords(c.pipe.RequestRecords, payments)
	c.checkRecords(c.pipe.Records, payments)
	c.checkSent("messages", c.queues.accepted, slices.Sorted(maps.Keys(want)))
	c.checkSent("announcements", c.queues.captured, slices.Sorted(maps.Keys(want)))
	c.checkQueue()
}
