//go:build chaos

package chaos_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// TestEachRequestIsOnePaymentWhateverHappens sends POST requests to functions/api, which passes payments on to functions/payments, which
// announces them. It demands of each scenario that each Idempotency-Key of a caller has one payment in its account, one answer, and one
// announcement; that another request under the key is refused; and that nothing else is there, and nothing is left.
func TestEachRequestIsOnePaymentWhateverHappens(t *testing.T) {
	seed := setting(t, "SEED", rand.Uint64N(1_000_000))
	payments := int(setting(t, "PAYMENTS", 400))

	t.Logf("SEED=%d PAYMENTS=%d", seed, payments)

	api := build(t, "../../functions/api")
	f := function{name: "api", program: build(t, "../../functions/payments"), entries: true}

	for _, s := range apiScenarios {
		t.Run(f.name+"/"+s.name, func(t *testing.T) {
			t.Parallel()

			r := newRun(t, s, f, seed)
			newClients(newFunctionURL(r, api)).play(payments)
		})
	}
}

// play sends the requests while the processes run and are disturbed, then each once more with nothing in its way, and checks what there
// is in the end.
func (c *clients) play(payments int) {
	began := time.Now()

	c.disturb()
	c.sending.Store(true)

	go func() {
		defer c.sending.Store(false)

		c.sendAll(payments)
	}()

	stop := c.keepSweeping()

	c.work()
	stop()
	c.calm()

	c.sendAgain(payments)
	c.close()
	c.sweepBoth()
	c.check(payments)
	c.Logf("%.1f s: clients saw %s; %d messages received, %d failed, %d processes killed, %d stopped", time.Since(began).Seconds(), c.saw(),
		c.queues.received, c.queues.failed, c.struck[syscall.SIGKILL], c.struck[syscall.SIGSTOP])
}

// keepSweeping sends what is not sent, again and again, through the same faults as the functions, also while a function sends it. The
// returned function ends that.
func (c *clients) keepSweeping() (stop func()) {
	ctx, cancel := context.WithCancel(c.Context())
	dynamo, queues := c.services.dynamo.proxy(func(moment) {}), c.services.queues.proxy(func(moment) {})
	client := dynamodb.New(c.pipe.DynamoDB.Options(), func(o *dynamodb.Options) { o.BaseEndpoint = &dynamo.URL })
	ended := make(chan struct{})

	go func() {
		defer close(ended)

		for ctx.Err() == nil {
			for _, namespace := range []string{"api", "payments"} {
				limited, cancel := context.WithTimeout(ctx, timeout)
				_, _ = c.sweepThrough(limited, client, queues.URL, namespace) // the last sweep has to succeed, not each

				cancel()
			}

			pass(2 * time.Second)
		}
	}()

	return func() {
		cancel()
		<-ended
		dynamo.Close()
		queues.Close()
	}
}

// sweepBoth sends what is left, on both ways.
func (c *clients) sweepBoth() {
	c.sweep("api")
	c.work()
	c.sweep("payments")
}

func (c *clients) check(payments int) {
	want := c.accepted(payments)
	accounts := map[string]pipeline.Account{}

	for _, e := range want {
		a := accounts[e.Account]
		accounts[e.Account] = pipeline.Account{Balance: a.Balance + e.Amount, Payments: a.Payments + 1}
	}

	if diff := cmp.Diff(accounts, c.sight()); diff != "" {
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
	c.checkExhausted()
}
