package main

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// table is the table of a part of the exploration. The in-memory engine evaluates each request once for each contents of the
// table: the same request has the same answer then, because the clocks of the writers stand still.
type table struct {
	*protocol.Table
	setup

	db    *idemddbtest.DB
	empty *contents
	all   map[string]*contents // by text
	known map[string]arrival   // by request and contents
}

// contents are the records of a table.
type contents struct {
	records map[string]protocol.Item // by key
	text    string
}

// arrival is what happens when a request arrives.
type arrival struct {
	answers []protocol.Answer
	parts   []protocol.Cancelled // of a transaction
	after   *contents
}

// request is a request that was sent.
type request struct {
	of         string // the names of its writers
	text       string // by which it is known
	single     protocol.Request
	statements []types.BatchStatementRequest // of a shared one
	joined     *protocol.Joined              // of a transaction
	size       int                           // how many writers it has
	isUnread   bool                          // the read before it is lost
}

const (
	tableName = "records"
	longAfter = time.Hour // the end of each write: nobody gives up
)

func newTable(s setup) *table {
	t := &table{
		setup: s, db: idemddbtest.New(nil), all: map[string]*contents{}, known: map[string]arrival{},
		Table: protocol.NewTable(protocol.Config{
			Table: tableName, PartitionKey: "pk", TTLAttribute: "exp", Retention: 2 * longAfter, IsShared: true,
		}),
	}

	if _, err := t.db.CreateTable(context.Background(), idemddbtest.CreateTable(tableName, "")); err != nil {
		panic(err) // never: a new table in memory
	}

	t.empty = t.read()

	return t
}

// arrive returns what happens when a request arrives at a table with these contents.
func (t *table) arrive(r request, before *contents) arrival {
	text := r.text + before.text

	a, isKnown := t.known[text]
	if isKnown {
		return a
	}

	t.restore(before)

	switch {
	case r.joined != nil:
		a.parts = t.transact(r)
	case r.statements != nil:
		a.answers = wire.Statements(context.Background(), t.db, r.statements).Answers
	default:
		a.answers = []protocol.Answer{wire.Send(context.Background(), t.db, r.single)}
	}

	a.after = t.read()
	t.known[text] = a

	return a
}

// restore makes these the contents of the table.
func (t *table) restore(c *contents) {
	for key := range strings.SplitSeq(t.keys+t.items, "") {
		var err error

		if item := c.records[key]; item == nil {
			_, err = t.db.DeleteItem(context.Background(), &dynamodb.DeleteItemInput{TableName: new(tableName), Key: t.Key(key)})
		} else {
			_, err = t.db.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: new(tableName), Item: item})
		}

		if err != nil {
			panic(err) // never: in memory
		}
	}
}

// read returns the contents of the table.
func (t *table) read() *contents {
	c := &contents{records: map[string]protocol.Item{}}

	for key := range strings.SplitSeq(t.keys+t.items, "") {
		if c.records[key] == nil {
			c.records[key] = t.db.Item(tableName, t.Key(key))
			c.text += key + textOf(c.records[key])
		}
	}

	if t.all[c.text] == nil {
		t.all[c.text] = c
	}

	return t.all[c.text]
}

func textOf(item protocol.Item) string {
	var b strings.Builder

	for _, name := range slices.Sorted(maps.Keys(item)) {
		switch v := item[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&b, " %s %s", name, v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&b, " %s %s", name, v.Value)
		}
	}

	b.WriteByte('\n')

	return b.String()
}

// without returns the request without one of its statements.
func (r request) without(i int) request {
	r.statements = append(r.statements[:i:i], r.statements[i+1:]...)
	r.text += fmt.Sprintf("without %d\n", i)

	return r
}

// transact sends a transaction. Its token is forgotten at once: only the records say what an earlier try has done.
func (t *table) transact(r request) (answers []protocol.Cancelled) {
	answer := wire.Transact(context.Background(), t.db, &dynamodb.TransactWriteItemsInput{
		TransactItems: r.joined.Items(), ReturnConsumedCapacity: types.ReturnConsumedCapacityTotal,
	})

	if answer.Outcome == protocol.Applied {
		return make([]protocol.Cancelled, r.size)
	}

	return cancelled(r.joined, answer.Reasons)
}

func cancelled(joined *protocol.Joined, reasons []types.CancellationReason) []protocol.Cancelled {
	answers, err := joined.ReadCancelled(reasons)
	if err != nil {
		panic(err) // never: in memory
	}

	return answers
}
