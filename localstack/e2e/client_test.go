//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// payments are those that a client knows to be accepted, by their id.
type payments map[string]pipeline.Entry

// A client in another language sends 500 requests of 200 payments while processes of the API and of the payments function are
// killed. Its requests are all answered, those with one key alike, and another payment under a key is refused. It returns the
// payments.
//
// What LocalStack can't show: it passes no cookies of a function URL on, and it sends an answer only when all of it is there.
func testClientInAnotherLanguage(t *testing.T, p *pipeline.Pipeline) payments {
	t.Helper()

	var saw struct {
		Answers map[string]struct{ Body string }
		Counts  map[string]int
	}

	began := time.Now()
	stop := keepKilling(t, p.ApiFunctionName, p.FunctionName)

	runClient(t, p, &saw, "load")

	killed := stop()

	t.Logf("%v: the client saw %v, processes killed: %v", time.Since(began).Round(time.Second), saw.Counts, killed)

	if killed[p.ApiFunctionName] == 0 || killed[p.FunctionName] == 0 || saw.Counts["retried"] == 0 || saw.Counts["replayed"] == 0 {
		t.Error("too little happened")
	}

	all := payments{}

	for n := range 200 {
		var payment struct{ PaymentID string }
		if err := json.Unmarshal([]byte(saw.Answers[fmt.Sprintf("payment-%d", n)].Body), &payment); err != nil {
			t.Fatal(err)
		}

		all[payment.PaymentID] = pipeline.Entry{Account: fmt.Sprintf("python-%d", n), Amount: n + 1}
	}

	return all
}

// wantPaid wants each of these payments once in its account and announced under one id, and no other.
func wantPaid(t *testing.T, p *pipeline.Pipeline, want payments) {
	t.Helper()

	wantAnnounced(t, p, "", len(want)) // by then the relay has sent what processes left that were killed
	allDone(t, p, "", len(want))

	wantAccounts(t, p, "", pipeline.AccountsOf(want))

	for what, read := range map[string]func(context.Context) (map[string]pipeline.Entry, error){"accepted": p.Requests, "made": p.Entries} {
		got, err := read(t.Context())
		if diff := cmp.Diff(map[string]pipeline.Entry(want), got); diff != "" || err != nil {
			t.Errorf("payments that were %s, %v (-the client knows +got):\n%s", what, err, diff)
		}
	}
}

// testHeldKey lets the client send a request under a key that another worker holds, which is dead.
func testHeldKey(t *testing.T, p *pipeline.Pipeline) {
	t.Helper()

	const lease = 5 * time.Second

	store, err := idemddb.New(p.DynamoDB, p.RecordTableName, "api", &idemddb.Options{Lease: lease})
	if err != nil {
		t.Fatal(err)
	}

	if _, _, err := store.Claim(t.Context(), `#["local","held"]`, nil); err != nil {
		t.Fatal(err)
	}

	record, err := p.RequestRecords(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	var saw struct{ RetryAfter int }

	end := record[`#["local","held"]`].Lease
	runClient(t, p, &saw, "held", "held", fmt.Sprintf("%.3f", float64(end.UnixMilli())/1000))
	t.Logf("a key that is held for %v has Retry-After: %d", lease, saw.RetryAfter)
}

// runClient runs the client in one of its modes, and reads what it prints.
func runClient(t *testing.T, p *pipeline.Pipeline, saw any, mode string, more ...string) {
	t.Helper()

	api, err := url.Parse(p.ApiUrl)
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()

	var out, complaint bytes.Buffer

	args := append([]string{"testdata/client.py", mode, os.Getenv("AWS_ENDPOINT_URL"), api.Host}, more...)
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(built.sam), "python"), args...) // SAM needs the package requests, so it is installed
	cmd.Stdout, cmd.Stderr = &out, &complaint

	if err := cmd.Run(); err != nil {
		t.Fatalf("the client: %v\n%s", err, complaint.String())
	}

	if err := json.Unmarshal(out.Bytes(), saw); err != nil {
		t.Fatalf("%v in %s", err, out.String())
	}
}

// keepKilling kills a process of each function, one that is at work, again and again. The returned function ends that, and
// returns how many it were.
func keepKilling(t *testing.T, functions ...string) (stop func() map[string]int) {
	t.Helper()

	ctx, cancel := context.WithCancel(t.Context())
	killed, ended := map[string]int{}, make(chan struct{})

	go func() {
		defer close(ended)

		for tick := time.NewTicker(2 * time.Second); ctx.Err() == nil; {
			for _, function := range functions {
				if killOne(t, function) {
					killed[function]++
				}
			}

			select {
			case <-tick.C:
			case <-ctx.Done():
				tick.Stop()
			}
		}
	}()

	return func() map[string]int {
		cancel()
		<-ended

		return killed
	}
}

// killOne kills a process of a function in the middle of an invocation, if there is one.
func killOne(t *testing.T, function string) bool {
	t.Helper()

	for pid, state := range processes(t, function) {
		if strings.HasPrefix(state, "T") { // frozen, between two invocations
			continue
		}

		sendSignal(t, pid, syscall.SIGKILL)

		return true
	}

	return false
}
