package main

import (
	"bytes"
	"encoding/json"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/internal/emf"
)

// BenchmarkABatch judges the 1,000 changes that an invocation has at the most, completions of records of about 500 bytes.
// docs/cost.md says what that is worth.
func BenchmarkABatch(b *testing.B) {
	before := map[string]types.AttributeValue{
		"pk": text("payments#p-9"), "v": number("1"), "st": text("INPROGRESS"), "own": text("8f6e1c1e-7f0b-4a55-9c39-0e7d3a2f6f1b/RX3ZRX3ZRX3ZRX3ZRX3ZRX3ZRX"),
		"fence": number("1767322800001"), "lease": number("1767322830000"), "prev": number("0"), "took": number("0"), "att": number("1"),
		"born": number("1767322800000"), "exp": number("1767927600"),
	}
	after := map[string]types.AttributeValue{"res": &types.AttributeValueMemberB{Value: make([]byte, 200)}, "done": number("1767322800000"), "st": text("COMPLETED")}

	for name, value := range before {
		if name != "st" {
			after[name] = value
		}
	}

	record := audited.StreamRecord(audit.Change{Before: before, After: after, Time: time.UnixMilli(1767322800000)})
	event := events.DynamoDBEvent{}

	for range 1000 {
		event.Records = append(event.Records, record)
	}

	payload, err := json.Marshal(event)
	if err != nil {
		b.Fatal(err)
	}

	format, err := emf.New("Payments", metricNames, nil)
	if err != nil {
		b.Fatal(err)
	}

	var out bytes.Buffer

	handler := &auditor{options: audit.Options{Resolution: time.Second}, logger: slog.New(slog.DiscardHandler), format: format, out: &out}

	b.ReportAllocs()
	b.SetBytes(int64(len(payload)))

	for b.Loop() {
		out.Reset()

		if err := handler.handle(b.Context(), payload); err != nil {
			b.Fatal(err)
		}
	}

	if want := `"Judged":1000,"Late":0,"OtherItems":0,"TakeoverExpired":0,"TakeoverReleased":0,"Unreadable":0,"Violations":0`; !strings.Contains(out.String(), want) {
		b.Errorf("got %s, want %s", &out, want)
	}
}
