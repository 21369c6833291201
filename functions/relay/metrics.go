package main

import (
	"encoding/json"
	"io"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

// metrics writes lines in CloudWatch's embedded metric format, as lambdawrap.Metrics does for batches. It stands alone, so that
// the function can be copied.
type metrics struct {
	out                 io.Writer
	namespace, function string
}

// write writes the line of one sweep. A sweep that is incomplete does not know the age of the oldest unsent message. Its line
// leaves the age out, and the alarm takes a missing age for a high one.
func (m metrics) write(report outbox.Report) {
	type definition struct{ Name, Unit string }

	type directive struct {
		Namespace  string
		Dimensions [][]string
		Metrics    []definition
	}

	line := map[string]any{"Function": m.function, "Sent": report.Sent, "Left": report.Left, "Parked": report.Parked}
	definitions := []definition{{"Sent", "Count"}, {"Left", "Count"}, {"Parked", "Count"}}

	if !report.Incomplete {
		line["OldestUnsentSeconds"] = report.Oldest.Seconds()
		definitions = append(definitions, definition{"OldestUnsentSeconds", "Seconds"})
	}

	line["_aws"] = map[string]any{
		"Timestamp":         time.Now().UnixMilli(),
		"CloudWatchMetrics": []directive{{m.namespace, [][]string{{"Function"}}, definitions}},
	}

	if text, err := json.Marshal(line); err == nil { // always: numbers and texts
		_, _ = m.out.Write(append(text, '\n')) // in one piece, because Lambda makes a log event of each write
	}
}
