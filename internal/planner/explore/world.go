package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

const (
	longAfter    = time.Hour // the end of each write: nobody gives up
	longestPause = time.Second
	maxDoubled   = 5           // so often a pause doubles until it is the longest
	heldTime     = 4 * fixedT  // for so long a request holds its records
	thirdOfT     = fixedT / 3  // for so long a write waits behind others
	announced    = 10 * millis // for so long it waits for writes of its group
	fixedT       = 5 * millis
	millis       = time.Millisecond
	deniedTime   = 5 * time.Minute
)

var (
	begin = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	stamp = protocol.Stamp{Now: begin, Lease: begin.Add(longAfter)} // the clock of all writers stands still

	errFault = errors.New("a fault of the exploration")
)

// table is the table of a part of the exploration.
type table struct {
	*protocol.Table
	setup

	db *idemddbtest.DB
}

const tableName = "records"

func newTable(s setup) *table {
	t := &table{setup: s, db: idemddbtest.New(nil), Table: protocol.NewTable(protocol.Config{
		Table: tableName, PartitionKey: "pk", TTLAttribute: "exp", Retention: 2 * longAfter, IsShared: true,
	})}
	if _, err := t.db.CreateTable(context.Background(), idemddb.Table(tableName)); err != nil {
		panic(err) // never: a new table in memory
	}

	return t
}

// clear deletes all records.
func (t *table) clear() {
	t.db.ResetRequests()

	for _, key := range slices.Compact(strings.Split(t.keys, "")) {
		if _, err := t.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: new(tableName), Key: t.Key(key)}); err != nil {
			panic(err) // never: in memory
		}
	}
}

func (t *table) item(key string) protocol.Item { return t.db.Item(tableName, t.Key(key)) }

// world is one state.
type world struct {
	*table

	without   rule
	planner   planner.Planner
	now       time.Time
	writers   []*writer
	flights   []*flight // under way, the oldest first
	lost      []request // that may still arrive
	faults    int       // that may still happen
	leaving   int       // callers that may still leave
	number    int       // of the last write
	deniedTil time.Time // what the driver knows of the denial; zero for nothing
	violation string
	isTold    bool
	told      []string
}

func (t *table) newWorld(without rule) *world {
	t.clear()

	w := &world{table: t, without: without, now: begin, faults: t.faults, leaving: t.leaves}
	invocation := &planner.Group{}

	if t.isGroup {
		invocation.Expect(len(t.keys))
	}

	for i, key := range strings.Split(t.keys, "") {
		c := &writer{w: w, name: fmt.Sprintf("writer %d", i+1), key: key, group: &planner.Group{}}
		if c.Claimant = (protocol.Claimant{Partition: key, Token: c.name}); t.isGroup {
			c.group = invocation
		}

		w.writers = append(w.writers, c)
	}

	if t.isDenied {
		w.deny()
		w.now = begin.Add(deniedTime + 1)
	}

	return w
}

// request is a request that was sent.
type request struct {
	of         string // the names of its writers
	db         *idemddbtest.DB
	single     wire.Request
	statements []types.BatchStatementRequest // of a shared one
}

// send lets the request arrive.
func (r request) send() []protocol.Answer {
	if r.statements != nil {
		return wire.Statements(context.Background(), r.db, r.statements).Answers
	}

	return []protocol.Answer{wire.Send(context.Background(), r.db, r.single)}
}

// without returns the request without one of its statements.
func (r request) without(i int) request {
	r.statements = append(r.statements[:i:i], r.statements[i+1:]...)

	return r
}

// flight is a request that is under way.
type flight struct {
	*planner.Flight
	request
}

func writerOf(w *planner.Write) *writer {
	c, _ := w.Handle.(*writer)

	return c
}

func (w *world) departAll() {
	for f := w.planner.Depart(w.now); f != nil; f = w.planner.Depart(w.now) {
		w.depart(f)
	}
}

// depart sends a flight.
func (w *world) depart(f *planner.Flight) {
	names := make([]string, len(f.Writes))
	for i, write := range f.Writes {
		names[i] = writerOf(write).name
	}

	sent := &flight{f, request{of: strings.Join(names, " and "), db: w.db}}
	w.checkDeparture(sent)

	if f.IsShared() {
		w.tellf("  a shared request of %s leaves", sent.of)

		for _, write := range f.Writes {
			sent.statements = append(sent.statements, writerOf(write).statement())
		}
	} else {
		w.tellf("  a request of %s leaves", sent.of)
		sent.single = writerOf(f.Writes[0]).request()
	}

	w.flights = append(w.flights, sent)
}

func (w *world) deny() {
	if w.without != ruleProbe { // the wrong driver forgets it
		w.planner.Deny(w.now)
	}

	w.deniedTil = w.now.Add(deniedTime)
}

// processed notes that DynamoDB has processed a request.
func (w *world) processed(f *flight) {
	if !f.IsShared() {
		return
	}

	if w.planner.Processed(f.Flight); w.now.After(w.deniedTil) {
		w.deniedTil = time.Time{}
	}
}

func (w *world) isUnderWay(c *writer) bool {
	return slices.ContainsFunc(w.flights, func(f *flight) bool { return c.write != nil && f.Has(c.write) })
}

// endsBefore reports whether a request under way has no answer in time before this moment.
func (w *world) endsBefore(at time.Time) bool {
	return slices.ContainsFunc(w.flights, func(f *flight) bool { return f.Born.Add(f.Limit).Before(at) })
}

// ends matches what the planner's text says of the ends of writes, which are all far away.
var ends = regexp.MustCompile(` ends in [^,]*,`)

// state returns all that what follows depends on, as text. Two states with the same text are one.
func (w *world) state() string {
	var b strings.Builder

	text := ends.ReplaceAllString(w.planner.Text(w.now), "")

	for i, c := range w.writers {
		if c.write != nil {
			text = strings.ReplaceAll(text, fmt.Sprintf("(#%d of", c.number), fmt.Sprintf("(writer %d of", i+1))
		}
	}

	b.WriteString(text)

	for _, c := range w.writers {
		fmt.Fprintf(&b, "%s %d %v %d %v %d", c.name, c.phase, c.isInsert, c.turns, c.held, c.pauses)

		if c.write != nil {
			fmt.Fprintf(&b, " %v", c.since.Sub(w.now))
		}

		b.WriteByte('\n')
	}

	if w.isGroup { // its writes keep the order in which they came, also after their pauses
		inOrder := slices.SortedFunc(slices.Values(w.writers), func(a, b *writer) int { return a.number - b.number })
		for _, c := range inOrder {
			b.WriteString(c.name)
		}
	}

	for _, f := range w.flights {
		writeRequest(&b, f.request)
	}

	b.WriteString("lost\n")

	for _, r := range w.lost {
		writeRequest(&b, r)
	}

	fmt.Fprintf(&b, "%d %d\n", w.faults, w.leaving)

	for _, key := range slices.Compact(strings.Split(w.keys, "")) {
		writeItem(&b, w.item(key))
	}

	return b.String()
}

func writeRequest(b *strings.Builder, r request) {
	b.WriteString(r.of)

	if r.single.Update != nil {
		b.WriteString(*r.single.Update.UpdateExpression)
	}

	for _, s := range r.statements {
		b.WriteString(*s.Statement)
	}

	b.WriteByte('\n')
}

func writeItem(b *strings.Builder, item protocol.Item) {
	for _, name := range []string{"st", "own", "fence", "att"} {
		switch v := item[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(b, "%s %s ", name, v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(b, "%s %s ", name, v.Value)
		}
	}

	b.WriteByte('\n')
}
