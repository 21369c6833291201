package main

import (
	"fmt"
	"strconv"
	"strings"
)

// need is a row of the table of docs/scale.md: what so many messages a second need, and which limit they meet first where the
// fleet has what the rows above it asked for.
type need struct {
	messages     int
	environments int // with work of 100 ms and batches of ten
	work         work
	warmed       int  // write units for which the table was made; 0 for a new on-demand table
	isRaised     bool // the quota of the table
	limit        limit
	todo         string
}

// limit is what a fleet meets first.
type limit string

const (
	noLimit    limit = "none"
	ofNewTable limit = "a new on-demand table: 4,000 write units a second"
	ofIndex    limit = "the 16 partition values of the index of the unsent"
	ofQuota    limit = "the account's quota for a table: 40,000 write units a second"
	ofLambda   limit = "Lambda's concurrency of an account and Region: 1,000 by default"
)

// Quotas that AWS raises when it is asked to. No throttling of the model shows them.
const (
	quotaOfTable  = 40_000 // write units a second
	quotaOfLambda = 1000   // environments
)

const secondsOfMonth = 30 * 24 * 3600

var needs = []need{
	{100, 2, claimed, 0, false, noLimit, "nothing"},
	{1000, 12, claimed, 0, false, noLimit, "nothing"},
	{2500, 30, claimed, 0, false, ofNewTable, "ask for `WarmThroughput` before the launch, or let the load grow slowly: the table takes twice its last peak"},
	{10_000, 120, claimed, 24_000, false, noLimit, "nothing more, with `WarmThroughput` of 24,000 write units: a fifth above the need"},
	{10_000, 130, announcing, 72_000, false, ofIndex, "[`UnsentShards`](outbox.md#many-messages) of 64"},
	{25_000, 300, claimed, 60_000, false, ofQuota, "ask AWS for a higher quota, weeks before"},
	{85_000, 1050, claimed, 204_000, true, ofLambda, "ask for more, or larger batches, or [several invocations in one process](managed-instances.md)"},
	{100_000, 1250, claimed, 240_000, true, ofLambda, "the same; and think of a table for each part of the work"},
}

// wcu returns the write units of a message of a work.
func (w work) wcu() float64 {
	return map[work]float64{claimed: 2, staged: 5, optimistic: 4, announcing: 6}[w] // as docs/cost.md derives them
}

// setting returns the run that shows the limit, and what its rate is multiplied by: of a large fleet a part runs, over the same
// part of the partitions. The index has as many partition values for any fleet, so there the partitions take a part of their
// units.
func (n *need) setting() (s setting, factor int) {
	factor = max(1, n.environments/30) // so that a test takes a second
	s = setting{work: n.work, environments: n.environments / factor, batch: 10, partitions: cold}

	switch {
	case n.work == announcing:
		s.partitions, s.scale = n.warmed/partitionWrites, factor
	case n.warmed > 0:
		s.partitions = (n.warmed/partitionWrites + factor - 1) / factor
	}

	return s, factor
}

// firstLimit returns which limit the fleet has met in a run: the one that DynamoDB shows by throttling, else a quota that it is
// above.
func (n *need) firstLimit(f *figures, factor int) limit {
	switch {
	case f.ofIndex > few:
		return ofIndex
	case f.ofTable > few && n.warmed == 0:
		return ofNewTable
	case f.ofTable > few:
		return "the warmed table"
	case !n.isRaised && f.units*f.rate*float64(factor) > quotaOfTable:
		return ofQuota
	case f.environments*factor > quotaOfLambda:
		return ofLambda
	default:
		return noLimit
	}
}

// few are throttled writes a message that no limit explains: the load of partitions is not quite even.
const few = 0.05

// needsTable returns the table of needs.
func needsTable() string {
	var b strings.Builder

	b.WriteString("| messages a second | work | environments, about | WCU a second | a month, for writes | the first limit you meet | what to do |\n" +
		"|--:|---|--:|--:|--:|---|---|\n")

	for _, n := range needs {
		units := float64(n.messages) * n.work.wcu()
		fmt.Fprintf(&b, "| %s | %s | %s | %s | $%s | %s | %s |\n", thousands(n.messages), n.work, thousands(n.environments), thousands(int(units)),
			thousands(int(units*secondsOfMonth*dollarsPerUnit)), n.limit, n.todo)
	}

	return b.String()
}

// thousands returns a number with commas.
func thousands(n int) string {
	if n < 1000 { // no comma
		return strconv.Itoa(n)
	}

	return fmt.Sprintf("%s,%03d", thousands(n/1000), n%1000)
}
