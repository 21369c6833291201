package main

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
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
