package main

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// The states of a record.
const (
	none       = "" // there is no record
	inProgress = "INPROGRESS"
	completed  = "COMPLETED"
	failed     = "FAILED"
)

// introduce prints the result, what the program is about and the words that the steps use.
func (f *fixture) introduce(p *printer) {
	p.line(p.paint(green, f.result()))
	p.line("")
	p.paragraph("That is also the last line of this story. SQS delivers a message at least once, and a handler may have to run again. " +
		"go-idemddb makes the handler idempotent: each payment below has its effects exactly once, whatever happens to its messages. The " +
		"effects are an amount that is added to an account, an entry in the ledger, and an announcement to others. The handler stages " +
		"them, and one transaction writes them together with the record of the payment's idempotency key. The wrapper and the payments " +
		"code are the real ones. The steps set the clock of the leases, so that nobody waits for a lease to end.")
	p.line("")
	p.field("engine", f.engine.name)
	p.field("options", "lease 30 s · clocks may differ by 1 s · idempotency key: paymentId")
	p.field("record", wrap("the item of an idempotency key: its state, its owner (the invocation that claimed it last) and its attempts "+
		"(the claims whose work began)", pageWidth-labelWidth)...)
	p.field("events", "what the store reports to Options.Observe")
}

// messageID is the id of a message in the outbox, which is another one in each story.
var messageID = regexp.MustCompile(`\b[A-Z2-7]{26}(-[0-9]+)`)

func (f *fixture) printOutcome(w *worker, got outcome) {
	f.field("requests", strconv.Itoa(got.requests))
	f.printEvents(w)
	f.field("handler", count(got.runs, "run"))

	for line := range strings.Lines(w.log.String()) {
		_, line, _ = strings.Cut(line, " ") // without the time, which is not the steps' one
		line = messageID.ReplaceAllString(line, "…$1")
		f.field("log", wrap(line, pageWidth-labelWidth)...)
	}

	if got.deadLetters != "" {
		f.field("dead letter", f.paint(yellow, got.deadLetters))
	}

	if got.failed == "" {
		f.field("answer", f.paint(green, "all messages are done"))
	} else {
		f.field("answer", f.paint(yellow, "batchItemFailures: "+got.failed))
	}
}

// printEvents prints what the store reported about each payment, in the order in which it happened.
func (f *fixture) printEvents(w *worker) {
	kinds := map[string]string{}

	w.mu.Lock()
	for _, e := range w.events {
		id := strings.Trim(e.Key, `"`) // a key is the payment's id, or that id as a JSON string
		kinds[id] = strings.TrimPrefix(kinds[id]+", "+string(e.Kind), ", ")
	}
	w.mu.Unlock()

	f.field("events", byPayment(slices.Sorted(maps.Keys(kinds)), kinds)...)
}

// printTables prints the records of some payments, and the sum of the accounts.
func (f *fixture) printTables(payments []payment, records map[string]pipeline.Record, held pipeline.Account) {
	ids, texts := make([]string, len(payments)), map[string]string{}
	for i, p := range payments {
		ids[i], texts[p.id] = p.id, f.describeRecord(records[p.id])
	}

	verdict := f.paint(green, "✓ as it should be")
	if held != f.made {
		verdict = f.paint(red, "✗ WRONG")
	}

	f.line("")
	f.field("record", byPayment(ids, texts)...)
	f.field("accounts", describeAmount(held)+"  "+verdict)
}

// describeRecord leaves out what a reader need not know yet: the lease of a record that ended, and the fencing token of a first
// claim.
func (f *fixture) describeRecord(r pipeline.Record) string {
	if r.State == none {
		return "none"
	}

	colours := map[string]colour{inProgress: yellow, completed: green, failed: red}
	parts := []string{f.paint(colours[r.State], r.State), "owner " + r.Owner, fmt.Sprintf("attempts %d", r.Attempts)}

	switch {
	case r.State != inProgress:
	case r.Lease.IsZero():
		parts = append(parts, "released")
	default:
		parts = append(parts, "lease until "+r.Lease.Format(time.TimeOnly))
	}

	if r.Unsent > 0 {
		parts = append(parts, f.paint(yellow, count(r.Unsent, "unsent message")))
	}

	if r.Attempts > 1 {
		parts = append(parts, fmt.Sprintf("fencing token %d", r.Fence))
	}

	return strings.Join(parts, " · ")
}

// byPayment returns a line for each payment, and one line for neighbours with the same text.
func byPayment(ids []string, texts map[string]string) []string {
	var lines []string

	for len(ids) > 0 {
		n := 1
		for n < len(ids) && texts[ids[n]] == texts[ids[0]] {
			n++
		}

		name := ids[0]
		if n > 1 {
			name += " to " + ids[n-1]
		}

		lines = append(lines, name+"  "+texts[ids[0]])
		ids = ids[n:]
	}

	return lines
}

func describeAmount(a pipeline.Account) string {
	return fmt.Sprintf("%d.%02d in %s", a.Balance/100, a.Balance%100, count(a.Payments, "payment"))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}

	return fmt.Sprintf("%d %ss", n, noun)
}
