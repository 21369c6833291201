package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The tables of the sample.
const (
	recordTable = "records"
	ledgerTable = "ledger"
)

// How long a transaction takes.
const (
	shortestTransaction = 2 * time.Millisecond
	longestTransaction  = 6 * time.Millisecond
)

// world is a DynamoDB whose requests take time.
type world struct {
	engine  *idemddbtest.DB
	http    *httptest.Server
	latency time.Duration
}

func newWorld(ctx context.Context, s settings, seed uint64) (*world, error) {
	w := &world{latency: s.latency, engine: idemddbtest.New(&idemddbtest.Options{TransactionTime: times(s.extra, seed)})}

	for _, table := range []string{recordTable, ledgerTable} {
		if _, err := w.engine.CreateTable(ctx, idemddbtest.CreateTable(table, "")); err != nil {
			return nil, fmt.Errorf("create a table: %w", err)
		}
	}

	w.http = httptest.NewServer(w)

	return w, nil
}

// times returns a function that draws the time of a transaction.
func times(extra time.Duration, seed uint64) func() time.Duration {
	var mu sync.Mutex

	random := rand.New(rand.NewPCG(seed, 1)) //nolint:gosec // a run can be repeated

	return func() time.Duration {
		mu.Lock()
		defer mu.Unlock()

		return extra + shortestTransaction + time.Duration(random.Int64N(int64(longestTransaction-shortestTransaction)))
	}
}

// ServeHTTP reads the whole request, waits for the latency, and lets the engine answer.
func (w *world) ServeHTTP(answer http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}

	time.Sleep(w.latency) //nolint:forbidigo // the time that the network and DynamoDB would take

	r.Body = io.NopCloser(bytes.NewReader(body))
	w.engine.Handler().ServeHTTP(answer, r)
}

// counts returns what the engine has received since its log was emptied.
func (w *world) counts() (requests, conflicts, writeUnits int) {
	all := w.engine.Requests()

	for _, r := range all {
		writeUnits += r.WriteUnits

		if isConflict(r) {
			conflicts++
		}
	}

	return len(all), conflicts, writeUnits
}

// isConflict reports whether a transaction in flight was in the way of a request.
func isConflict(r idemddbtest.Request) bool {
	if _, ok := errors.AsType[*types.TransactionConflictException](r.Err); ok {
		return true
	}

	if canceled, ok := errors.AsType[*types.TransactionCanceledException](r.Err); ok {
		return slices.ContainsFunc(canceled.CancellationReasons, func(c types.CancellationReason) bool {
			return *c.Code == "TransactionConflict"
		})
	}

	return slices.ContainsFunc(r.Items, isConflict) // of a call of statements
}

// check compares the ledger with the payments: each is in its account exactly once, and has its entry.
func (w *world) check(payments []ledger.Payment) error {
	type account struct{ balance, payments int64 }

	want := map[string]account{}

	for _, p := range payments {
		a := want[p.Account]
		want[p.Account] = account{a.balance + p.Amount, a.payments + 1}

		if amount := number(w.ledger("payment#" + p.PaymentID)["amount"]); amount != p.Amount {
			return fmt.Errorf("the entry of %s has the amount %d, want %d", p.PaymentID, amount, p.Amount)
		}
	}

	for name, want := range want {
		item := w.ledger("account#" + name)
		if got := (account{number(item["balance"]), number(item["payments"])}); got != want {
			return fmt.Errorf("%s has %d of %d payments, want %d of %d", name, got.balance, got.payments, want.balance, want.payments)
		}
	}

	return nil
}

func (w *world) ledger(key string) map[string]types.AttributeValue {
	return w.engine.Item(ledgerTable, map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}})
}

// number returns 0 for what is no whole number.
func number(v types.AttributeValue) int64 {
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}

	whole, _ := strconv.ParseInt(n.Value, 10, 64)

	return whole
}
