package audit

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// A Report is what a [Checker] has seen.
type Report struct {
	Judged    int          // changes of records
	NoRecords int          // changes of other items, which are not judged
	Kinds     map[Kind]int // how many of the judged changes are of each kind
	Late      int          // requests that were made earlier than their change, by more than clocks explain
	Gaps      int          // changes before which one is missing
	Untimed   int          // changes whose times were not compared with the service's

	// Violations is how many judged changes have at least one violation.
	Violations int

	// Found are the first of them, at most 100.
	Found []Finding
}

// A Finding is a change with violations.
type Finding struct {
	Partition  string      // the whole partition key, which can have personal data. Texts have its digest
	Number     int         // of the change among the judged ones, from 1
	Kind       Kind        // as in the [Verdict]
	Violations []Violation // as in the [Verdict]; at least one
	Story      string      // of the key, up to this change
}

const mostFindings = 100

// String returns one line for a log.
func (r Report) String() string {
	var kinds []string

	for _, kind := range Kinds() {
		if n := r.Kinds[kind]; n > 0 {
			kinds = append(kinds, fmt.Sprintf("%d %s", n, kind))
		}
	}

	text := fmt.Sprintf("audit: %d changes judged", r.Judged)
	if len(kinds) > 0 {
		text += ": " + strings.Join(kinds, ", ")
	}

	text += fmt.Sprintf("; %d violations, %d late, %d gaps", r.Violations, r.Late, r.Gaps)

	if r.NoRecords > 0 {
		text += fmt.Sprintf("; %d changes of other items", r.NoRecords)
	}

	switch r.Untimed {
	case 0:
		return text
	case r.Judged:
		return text + "; times not judged"
	default:
		return fmt.Sprintf("%s; times of %d changes not judged", text, r.Untimed)
	}
}

// Err returns nil if there is no violation, else an error with the first ones and the story of each key.
func (r Report) Err() error {
	if r.Violations == 0 {
		return nil
	}

	return &ViolationsError{r}
}

// Plus returns the report on the changes of both. A finding keeps its number among the changes of its own [Checker].
func (r Report) Plus(other Report) Report {
	sum := r.clone()
	if sum.Kinds == nil {
		sum.Kinds = map[Kind]int{}
	}

	for kind, n := range other.Kinds {
		sum.Kinds[kind] += n
	}

	sum.Judged += other.Judged
	sum.NoRecords += other.NoRecords
	sum.Late += other.Late
	sum.Gaps += other.Gaps
	sum.Untimed += other.Untimed
	sum.Violations += other.Violations
	sum.Found = append(sum.Found, other.Found...)

	return sum
}

// GapsErr returns nil if no change is missing, else an error. Behind a gap a key's history begins anew, so that less is found.
func (r Report) GapsErr() error {
	if r.Gaps == 0 {
		return nil
	}

	return fmt.Errorf("audit: %d changes are missing before others: the stream was not read from its start to its end, or in order", r.Gaps)
}

func (r *Report) add(j *judgement, h *history) {
	v := &j.verdict

	r.Judged++
	r.Kinds[v.Kind]++
	r.Late += count(v.Late)
	r.Gaps += count(v.Gap)
	r.Untimed += count(v.Untimed)

	if len(v.Violations) == 0 {
		return
	}

	if r.Violations++; len(r.Found) < mostFindings {
		r.Found = append(r.Found, Finding{v.Partition, r.Judged, v.Kind, slices.Clone(v.Violations), h.story.String()})
	}
}

func count(is bool) int {
	if is {
		return 1
	}

	return 0
}

func (r *Report) clone() Report {
	copied := *r
	copied.Kinds, copied.Found = maps.Clone(r.Kinds), slices.Clone(r.Found)

	return copied
}

// A ViolationsError says that changes broke rules. Its text has no keys, only their digests.
type ViolationsError struct {
	Report Report // what the [Checker] has seen
}

// mostShown is how many findings the text of an error has.
const mostShown = 5

// Error says how many changes are violations, and shows the first findings.
func (e *ViolationsError) Error() string {
	var b strings.Builder

	fmt.Fprintf(&b, "audit: %d of %d changes are violations", e.Report.Violations, e.Report.Judged)

	for i, f := range e.Report.Found {
		if i == mostShown {
			fmt.Fprintf(&b, "\n%d more are not shown", e.Report.Violations-mostShown)

			break
		}

		fmt.Fprintf(&b, "\nchange %d, the last one of this story of %s:\n  %s",
			f.Number, hidden(f.Partition), strings.ReplaceAll(strings.TrimSuffix(f.Story, "\n"), "\n", "\n  "))
	}

	return b.String()
}
