package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/internal/emf"
)

// stream is a table of records, its workers, and the changes that its stream has.
type stream struct {
	*testing.T

	db      *idemddbtest.DB
	store   *idemddb.Store
	records *operate.Records
	changes []audit.Change
	taken   int // by an invocation

	handler       *auditor
	log, measured bytes.Buffer
}

var metricNames = []string{judged, violations, late, takeoverExpired, takeoverReleased, otherItems, unreadable}

// newStream is for a bubble, in which the time is that of the test.
func newStream(t *testing.T, options audit.Options) *stream {
	t.Helper()

	s := &stream{T: t, db: audited.Tables(t, nil, idemddbtest.CreateTable("records", "unsent"))}

	s.db.OnChange(func(c idemddbtest.Change) {
		s.changes = append(s.changes, audit.Change{Before: c.Before, After: c.After, Time: c.Time, ByTimeToLive: c.ByTimeToLive})
	})

	s.store = s.worker(nil)

	records, err := operate.New(s.store, s.db)
	s.must(err)

	s.records = records

	format, err := emf.New("Payments", metricNames, []map[string]string{{"Function": "audit"}})
	s.must(err)

	options.Resolution = time.Second
	s.handler = &auditor{options: options, logger: slog.New(slog.NewJSONHandler(&s.log, nil)), format: format, out: &s.measured}

	return s
}

func (s *stream) must(err error) {
	s.Helper()

	if err != nil {
		s.Fatal(err)
	}
}

func (s *stream) worker(o *idemddb.Options) *idemddb.Store {
	s.Helper()

	if o == nil {
		o = &idemddb.Options{}
	}

	if o.UnsentIndex = "unsent"; o.Senders == nil {
		o.Senders = map[string]idemddb.Sender{"bank": nil} // another process sends
	}

	store, err := idemddb.New(s.db, "records", "payments", o)
	s.must(err)

	return store
}

func (s *stream) claim(store *idemddb.Store, key string) *idemddb.Claim {
	s.Helper()

	claim, record, err := store.Claim(s.Context(), key, nil)
	if claim == nil {
		s.Fatalf("claim of %s: got record %v, error %v, want a claim", key, record, err)
	}

	return claim
}

func (s *stream) complete(key string) {
	s.Helper()
	s.must(s.claim(s.store, key).Complete(s.Context(), []byte(`"receipt"`)))
}

func (s *stream) item(key string) map[string]types.AttributeValue {
	return s.db.Item("records", map[string]types.AttributeValue{"pk": text("payments#" + key)})
}

// put writes an item as another program does, without a condition.
func (s *stream) put(item map[string]types.AttributeValue) {
	s.Helper()

	table := "records"
	_, err := s.db.PutItem(s.Context(), &dynamodb.PutItemInput{TableName: &table, Item: item})
	s.must(err)
}

// invoke hands the function the changes that it has not had.
func (s *stream) invoke() (metrics map[string]int, lines []map[string]any) {
	s.Helper()

	var records []any
	for _, c := range s.changes[s.taken:] {
		records = append(records, audited.StreamRecord(c))
	}

	s.taken = len(s.changes)

	return s.send(map[string]any{"Records": records})
}

// send hands the function an event.
func (s *stream) send(event any) (metrics map[string]int, lines []map[string]any) {
	s.Helper()

	payload, err := json.Marshal(event)
	s.must(err)
	s.log.Reset()
	s.measured.Reset()
	s.must(s.handler.handle(s.Context(), payload))

	for line := range strings.Lines(s.log.String()) {
		var members map[string]any

		s.must(json.Unmarshal([]byte(line), &members))

		lines = append(lines, members)
	}

	var values map[string]any

	s.must(json.Unmarshal(s.measured.Bytes(), &values)) // one line

	metrics = map[string]int{}

	for _, name := range metricNames {
		if n := int(values[name].(float64)); n > 0 {
			metrics[name] = n
		}
	}

	return metrics, lines
}

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

// generic is a change as the object of JSON that a stream has.
func (s *stream) generic(c audit.Change) (r map[string]any) {
	s.Helper()

	content, err := json.Marshal(audited.StreamRecord(c))
	s.must(err)
	s.must(json.Unmarshal(content, &r))

	return r
}
