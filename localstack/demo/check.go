package main

import (
	"context"
	"errors"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// check reads both tables. The records of these payments must have this state, a record that ended earlier must not have changed, and
// the account must hold each completed payment once.
func (f *fixture) check(ctx context.Context, state string, payments ...payment) {
	if f.err != nil {
		return
	}

	records, errRecords := f.engine.Records(ctx)
	accounts, errAccounts := f.engine.Accounts(ctx)

	if err := errors.Join(errRecords, errAccounts); err != nil {
		f.failf("%w", err)

		return
	}

	for _, p := range payments {
		if _, counted := f.ended[p.id]; !counted && state == completed {
			f.made.Balance += p.amount
			f.made.Payments++
		}
	}

	f.effects = accounts[account].Payments
	f.printTables(payments, records, accounts[account])

	for _, p := range payments {
		f.checkRecord(p.id, records[p.id], state)
	}

	if accounts[account] != f.made {
		f.failf("the balance is wrong")
	}
}

func (f *fixture) checkRecord(id string, r pipeline.Record, state string) {
	if r.State != state {
		f.failf("the record of %s is %q, want %q", id, r.State, state)
	}

	if before, ended := f.ended[id]; ended && r != before {
		f.failf("the record of %s ended as %+v, and is now %+v", id, before, r)
	}

	if r.State != inProgress {
		f.ended[id] = r
	}
}
