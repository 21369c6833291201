package report

import (
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// Totals are the sums of what was read. The zero value is not ready; NewTotals makes one.
type Totals struct {
	now      time.Time
	showKeys bool

	statuses map[operate.Status]int
	ages     map[operate.Status]*[len(ageBounds) + 1]int // by the time since the record came into its status
	attempts [len(attemptLabels)]int
	reasons  map[operate.Reason]int
	groups   map[Group]int
	work     histogram // of keys whose work began once
	atOnce   int       // of them, those that were committed without a claim
	byHand   map[string]int

	hours [hours]hour // the last ones, the oldest first

	stuck, failed, twice, unsent, parked top
	causes, targets, parkedCauses        counts
	messages, parkedMessages             int
	oldestUnsent                         time.Time

	writes, writesToday float64
}

// hours is how many hours the plots over time have.
const hours = 7 * 24

// hour is what was done in an hour.
type hour struct{ completed, failed, again int }

// ageBounds divide the ages, and ageLabels name what is between them.
var (
	ageBounds = [...]time.Duration{time.Minute, 10 * time.Minute, time.Hour, 6 * time.Hour, 24 * time.Hour, 7 * 24 * time.Hour, 30 * 24 * time.Hour}
	ageLabels = [...]string{"< 1 min", "< 10 min", "< 1 h", "< 6 h", "< 1 day", "< 7 days", "< 30 days", "older"}

	attemptLabels = [...]string{"0", "1", "2", "3", "4", "5 to 9", "10 and more"}
)

// Group is what is known of the second run of a key.
type Group int

// The groups of keys whose work began again.
const (
	InDoubt Group = iota // a run before the last may have had its effects
	Staged               // what was staged happened once
	Pending              // the second run has not begun
	Retried              // the handler returned an error
)

// NewTotals returns empty totals. Ages count up to now. Without showKeys no key, and no text that has one, is kept.
func NewTotals(now time.Time, showKeys bool) *Totals {
	return &Totals{
		now: now, showKeys: showKeys,
		statuses: map[operate.Status]int{}, ages: map[operate.Status]*[len(ageBounds) + 1]int{}, reasons: map[operate.Reason]int{},
		groups: map[Group]int{}, byHand: map[string]int{},
		causes: counts{}, targets: counts{}, parkedCauses: counts{},
	}
}

// Add adds a record.
func (t *Totals) Add(v *operate.View) {
	t.statuses[v.Status]++

	if v.Status == operate.Corrupt {
		return
	}

	t.addAge(v)
	t.attempts[attemptsIndex(v.Attempts)]++
	t.addWrites(v)
	t.addMessages(v)
	t.addHour(v)

	if v.Last != nil {
		t.byHand[v.Last.What]++
	}

	if v.SecondRun != nil {
		t.addSecondRun(v)
	} else if v.Attempts == 1 && !v.Done.IsZero() && !v.Born.IsZero() {
		t.addWork(v.Done.Sub(v.Born))
	}

	switch v.Status {
	case operate.Stuck:
		t.stuck.add(t.row(v, v.Lease))
	case operate.Failed:
		t.causes.add(pattern(t.hide(v, v.Cause)))
		t.failed.add(t.row(v, v.Born))
	default:
	}
}

// addWork adds the time of work that began once. That of work which is committed without a claim is not recorded: it begins and
// ends in one write.
func (t *Totals) addWork(took time.Duration) {
	if took <= 0 {
		t.atOnce++

		return
	}

	t.work.add(took)
}

// addAge counts the time since a record came into its status.
func (t *Totals) addAge(v *operate.View) {
	since := v.Born

	switch {
	case !v.Done.IsZero():
		since = v.Done
	case v.Status == operate.Stuck:
		since = v.Lease
	}

	of := t.ages[v.Status]
	if of == nil {
		of = new([len(ageBounds) + 1]int)
		t.ages[v.Status] = of
	}

	age := t.now.Sub(since)
	i, _ := slices.BinarySearchFunc(ageBounds[:], age, func(bound, age time.Duration) int {
		if bound <= age {
			return -1
		}

		return 1
	})
	of[i]++
}

func attemptsIndex(n int) int {
	switch {
	case n < 5:
		return max(n, 0)
	case n < 10:
		return 5
	default:
		return 6
	}
}

// row is the line of a list that a record has.
func (t *Totals) row(v *operate.View, at time.Time) Row {
	name := v.Hash
	if t.showKeys {
		name = v.Key
	}

	return Row{Name: name, Status: string(v.Status), Attempts: v.Attempts, At: at, Text: t.hide(v, v.Cause)}
}

// hide takes the key out of a text, unless keys are shown.
func (t *Totals) hide(v *operate.View, text string) string {
	if t.showKeys {
		return text
	}

	for _, said := range spoken(v.Key) {
		text = strings.ReplaceAll(text, said, "(key)")
	}

	return text
}

// spoken returns what a handler may say of a key. lambdawrap writes a # before the JSON of a number, or of a list of parts.
func spoken(key string) []string {
	value := strings.TrimPrefix(key, "#")
	all := []string{value}

	var parts []json.RawMessage
	if value != key && json.Unmarshal([]byte(value), &parts) == nil {
		for _, part := range parts {
			all = append(all, strings.Trim(string(part), `"`))
		}
	}

	return slices.DeleteFunc(all, func(said string) bool { return said == "" })
}
