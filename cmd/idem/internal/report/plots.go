package report

import (
	"fmt"
	"html/template"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/operate"
)

var order = []operate.Status{operate.Held, operate.Stuck, operate.Released, operate.Completed, operate.Failed, operate.Expired, operate.Corrupt}

// statesPlot draws how many keys are in which state, and for how long. Each state has its own scale of ages, and all one scale of
// numbers; a state with few keys is at least a line.
func (t *Totals) statesPlot() template.HTML {
	var rows []bar

	for _, status := range order {
		n := t.statuses[status]
		if n == 0 {
			continue
		}

		row := bar{label: string(status), end: number(float64(n))}

		of := t.ages[status]
		if of == nil {
			row.segments = []segment{{float64(n), "bad", number(float64(n))}}
		} else {
			for i, count := range of {
				title := fmt.Sprintf("%s, %s: %s", status, ageLabels[i], number(float64(count)))
				row.segments = append(row.segments, segment{float64(count), fmt.Sprintf("a%d", i), title})
			}
		}

		rows = append(rows, row)
	}

	return bars("keys by state and age", rows)
}

func (t *Totals) attemptsPlot() template.HTML {
	var rows []bar

	for i, n := range t.attempts {
		if n > 0 {
			rows = append(rows, bar{attemptLabels[i], []segment{{float64(n), "ok", ""}}, number(float64(n))})
		}
	}

	return bars("keys by attempts", rows)
}

// workPlot draws the times of work, a column for each third of a decade.
func (t *Totals) workPlot() template.HTML {
	const group = perDecade / 4

	values := make([]float64, steps/group)
	for i, n := range t.work.counts {
		values[i/group] += float64(n)
	}

	labels := map[int]string{}
	for i, d := 0, time.Millisecond; d <= 10_000*time.Second; i, d = i+1, 10*d {
		labels[i*perDecade/group] = d.String()
	}

	name := func(i int) string { return "up to " + Span(stepEnd(i*group+group-1)) }

	return columns("how long work takes", "ok", values, axis{name, labels})
}

func (t *Totals) hoursPlot(title, class string, of func(hour) int) template.HTML {
	values := make([]float64, hours)
	for i, h := range t.hours {
		values[i] = float64(of(h))
	}

	name := func(i int) string {
		return t.now.Add(time.Duration(i-hours) * time.Hour).UTC().Format("2006-01-02 15:04Z")
	}
	labels := map[int]string{}

	for i := 0; i < hours; i += 24 {
		labels[i] = fmt.Sprintf("%d days ago", (hours-i)/24)
	}

	labels[hours-24] = "1 day ago"

	return columns(title, class, values, axis{name, labels})
}
