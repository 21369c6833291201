package main

import (
	"context"
	"errors"
	"slices"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// check reads both tables. The records of these payments must have this state, and a record that ended earlier must not have
// changed. The accounts must hold each completed payment once; each must have its entry, and its announcement under one id.
func (f *fixture) check(ctx context.Context, state string, payments ...payment) {
	if f.err != nil {
		return
	}

	records, errRecords := f.engine.Records(ctx)
	accounts, errAccounts := f.engine.Accounts(ctx)
	entries, errEntries := f.engine.Entries(ctx)

	if err := errors.Join(errRecords, errAccounts, errEntries); err != nil {
		f.failf("%w", err)

		return
	}

	for _, p := range payments {
		if _, counted := f.ended[p.id]; !counted && state == completed {
			f.made.Balance += p.amount
			f.made.Payments++
		}
	}

	held := sum(accounts)
	f.effects = held.Payments
	f.printTables(payments, records, held)

	for _, p := range payments {
		f.checkRecord(p.id, records[p.id], state)
	}

	if held != f.made {
		f.failf("the balance is wrong")
	}

	if len(entries) != f.made.Payments {
		f.failf("the ledger has %d entries", len(entries))
	}

	announced := f.queue.payments()
	if len(announced) != f.made.Payments-f.waiting || len(slices.Compact(slices.Clone(announced))) != len(announced) {
		f.failf("announced are %v", announced)
	}
}

// sum adds up all accounts.
func sum(accounts map[string]pipeline.Account) (all pipeline.Account) {
	for _, a := range accounts {
		all.Balance += a.Balance
		all.Payments += a.Payments
	}

	return all
}

func (f *fixture) checkRecord(id string, r pipeline.Record, state string) {
	if r.State != state {
		f.failf("the record of %s is %q, want %q", id, r.State, state)
	}

	if before, ended := f.ended[id]; ended && r != before {
		f.failf("the record of %s ended as %+v, and is now %+v", id, before, r)
	}

	if r.State == completed || r.State == failed {
		f.ended[id] = r
	}
}
