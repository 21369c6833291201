//go:build chaos

package chaos_test

import (
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// sight is what the ledger has.
func (r *run) sight() map[string]pipeline.Account {
	accounts, err := r.pipe.Accounts(r.Context())
	if err != nil {
		r.Fatal(err)
	}

	return accounts
}

func (r *run) check(payments int, before map[string]pipeline.Account) {
	entries := map[string]pipeline.Entry{}
	for n := range payments {
		entries[paymentID(n)] = pipeline.Entry{Account: r.account(n), Amount: amount(n)}
	}

	want := pipeline.AccountsOf(entries)

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
	r.checkQueue()
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

// checkQueue demands that all messages are done.
func (r *run) checkQueue() {
	if left := r.queues.left(); left > 0 {
		r.Errorf("%d messages are not done", left)
	}

	if len(r.queues.exhausted) > 0 {
		r.Errorf("received more than %d times: %s", maxReceives, strings.Join(r.queues.exhausted, ", "))
	}
}

func (r *run) checkNeedless() {
	if q := r.queues; q.needless > 0 && !r.needless {
		r.needlessly(q.needless)
	}
}

// needlessly reports deliveries that failed although nothing was wrong. If the machine or DynamoDB Local is so slow that an
// invocation took much of its time, its claims were perhaps not answered in time, and that says nothing about the library.
func (r *run) needlessly(failed int) {
	if n := r.slow.Load(); n > 0 {
		r.Logf("%d deliveries failed, and %d invocations took more than %s", failed, n, quick)

		return
	}

	r.Errorf("%d deliveries failed, although nothing was wrong", failed)
}
