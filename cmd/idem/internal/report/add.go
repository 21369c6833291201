package report

import (
	"math"
	"slices"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/record"
)

// addSecondRun counts a key whose work began again, and keeps it if a run before may have had its effects.
func (t *Totals) addSecondRun(v *operate.View) {
	for _, why := range v.SecondRun.Why {
		t.reasons[why]++
	}

	group := groupOf(v.SecondRun)
	t.groups[group]++

	if group == InDoubt || group == Pending {
		row := t.row(v, v.SecondRun.LeaseEnded)
		row.Text = why(v.SecondRun)
		t.twice.add(row)
	}
}

func groupOf(run *operate.SecondRun) Group {
	switch {
	case run.Pending:
		return Pending
	case run.Staged:
		return Staged
	case slices.Equal(run.Why, []operate.Reason{operate.WasRetried}):
		return Retried
	default:
		return InDoubt
	}
}

// reasonTexts are the reasons as a person reads them.
var reasonTexts = map[operate.Reason]string{
	operate.TakenOver:    "taken over after a lease ran out",
	operate.WasReleased:  "released by an operator",
	operate.WasReopened:  "reopened after it had failed",
	operate.WasChanged:   "released or reopened",
	operate.WasRetried:   "the handler returned an error",
	operate.ReasonAbsent: "not known: by a worker of an older version",
}

func why(run *operate.SecondRun) string {
	texts := make([]string, len(run.Why))
	for i, reason := range run.Why {
		texts[i] = reasonText(reason)
	}

	text := strings.Join(texts, "; ")
	if run.Pending {
		return "not begun again yet: " + text
	}

	return text
}

func reasonText(reason operate.Reason) string {
	if text, ok := reasonTexts[reason]; ok {
		return text
	}

	return string(reason)
}

// addMessages counts the messages that are not sent.
func (t *Totals) addMessages(v *operate.View) {
	var unsent, parked []string

	for _, m := range v.Messages {
		if m.Parked {
			t.parkedMessages++
			t.parkedCauses.add(m.To + ": " + pattern(t.hide(v, m.Cause)))
			parked = append(parked, m.To)

			continue
		}

		t.messages++
		t.targets.add(m.To)
		unsent = append(unsent, m.To)
	}

	if len(unsent) > 0 {
		if t.oldestUnsent.IsZero() || !v.Done.IsZero() && v.Done.Before(t.oldestUnsent) {
			t.oldestUnsent = v.Done
		}

		row := t.row(v, v.Done)
		row.Text = strings.Join(unsent, ", ")
		t.unsent.add(row)
	}

	if len(parked) > 0 {
		row := t.row(v, v.Done)
		row.Text = strings.Join(parked, ", ")
		t.parked.add(row)
	}
}

// addHour adds what a record says about the last hours.
func (t *Totals) addHour(v *operate.View) {
	if h := t.hourOf(v.Done); h != nil && v.State == "COMPLETED" {
		h.completed++
	}

	if h := t.hourOf(v.Born); h != nil && v.Status == operate.Failed {
		h.failed++
	}

	if v.SecondRun != nil {
		if h := t.hourOf(v.SecondRun.LeaseEnded); h != nil {
			h.again++
		}
	}
}

// hourOf returns the hour of a time; nil for one that is not shown.
func (t *Totals) hourOf(at time.Time) *hour {
	ago := int(t.now.Sub(at) / time.Hour)
	if ago >= hours || at.After(t.now) {
		return nil
	}

	return &t.hours[hours-1-ago]
}

// The sizes that docs/cost.md counts with.
const (
	unitBytes       = 1024
	plainRecord     = 300 // bytes of a record without its result, about
	dollarsPerWrite = 0.625e-6
)

// addWrites adds the write units that a record has cost at least: a claim for each attempt, the end of each attempt but the last,
// and the completion or the failure with its result. A record does not count its renewals, nor its transactions, which cost
// twice.
func (t *Totals) addWrites(v *operate.View) {
	first := math.Ceil(float64(plainRecord+len(v.Key)) / unitBytes)
	ends := float64(max(v.Attempts-1, 0)) * first

	switch v.Status {
	case operate.Completed, operate.Expired:
		ends += math.Ceil(float64(plainRecord+len(v.Key)+tableBytes(v)) / unitBytes)
	case operate.Failed, operate.Released:
		ends += first
	default:
	}

	units := float64(v.Attempts)*first + ends
	t.writes += units

	if t.now.Sub(v.Born) < 24*time.Hour {
		t.writesToday += units
	}
}

// tableBytes is the length of a result that is kept in the table. One in Options.Results costs no write units.
func tableBytes(v *operate.View) int {
	if v.ResultName != "" && !record.IsPart(v.ResultName) {
		return 0
	}

	return v.ResultBytes
}
