package audit

import (
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A Change is what happened to one item, as a stream of the table has it.
type Change struct {
	Before, After map[string]types.AttributeValue // nil: there was no item, or there is none any more
	Time          time.Time                       // of the change, by the service's clock; zero: not known, and times are not judged
	ByTimeToLive  bool                            // DynamoDB deleted the item: the stream's userIdentity is dynamodb.amazonaws.com
}

// A Verdict says which transition a change is, and what is wrong with it. A change that is no transition of the page has the kind
// that is nearest to it, and a violation for each rule that keeps it from being one.
type Verdict struct {
	Kind       Kind          // the transition
	Partition  string        // the value of the partition key; empty if it is no string
	Late       bool          // the request was made earlier than the change, by more than clocks explain
	Lateness   time.Duration // by how much at least, if Late is set and times are known
	Gap        bool          // the record before is not the one after the last change of the key: a change is missing. Never set by Judge
	Untimed    bool          // the times of the change were not compared with Change.Time
	Violations []Violation   // the rules that the change breaks; none if it is right
}

func (v *Verdict) breaks(rule Rule) bool {
	return slices.ContainsFunc(v.Violations, func(v Violation) bool { return v.Rule == rule })
}

// Judge judges one change by itself. It has no memory: [Checker] has. Options that are wrong are read as their defaults.
func Judge(change Change, options Options) Verdict {
	return newSettings(options).judge(change).verdict
}

// A judgement is a verdict with what it was made from.
type judgement struct {
	pair

	verdict Verdict
}

func (s *settings) judge(c Change) judgement {
	j := judgement{pair: pair{settings: s, before: s.read(c.Before), after: s.read(c.After), at: c.Time}}
	j.changed = changed(j.before, j.after)
	v := &j.verdict

	v.Partition = j.partition()
	v.Untimed = !j.isTimed()

	if s.isPart(j.before) || s.isPart(j.after) {
		j.part(c.ByTimeToLive)
		s.rename(v.Violations)

		return j
	}

	if !s.isRecord(j.before) && !s.isRecord(j.after) {
		v.Kind = NoRecord

		return j
	}

	switch {
	case c.ByTimeToLive && j.after == nil:
		v.Kind = TimeToLive
		v.Violations = j.expired()
	case j.after == nil:
		v.Kind = Deletion
		v.Violations = j.deleted()
	default:
		j.write()
	}

	s.rename(v.Violations)

	return j
}

// write judges a change that leaves an item.
func (j *judgement) write() {
	v := &j.verdict

	switch {
	case len(j.changed) == 0:
		v.Kind = NoChange

		return
	case j.before != nil && onlyOthers(j.changed):
		v.Kind = OtherAttributes // the page lets records live in a table that exists already, and its other programs write there

		return
	}

	m := j.nearest()

	v.Kind = m.name(&j.pair)
	v.Lateness, v.Late = m.lateness, m.lateness > 0
	v.Violations = append(merge(j.key(), j.flaws(), m.violations(&j.pair)), m.timed...)
}

func onlyOthers(names []string) bool {
	for _, name := range names {
		if !strings.HasPrefix(name, other) {
			return false
		}
	}

	return true
}

// merge joins lists of violations. Of several that are about one attribute after the change it keeps those of the first list,
// because the others follow.
func merge(lists ...[]Violation) []Violation {
	var all []Violation

	seen := map[string]bool{}

	for _, list := range lists {
		for _, v := range list {
			if v.Attribute == "" || v.Rule == RuleCondition || !seen[v.Attribute] {
				all = append(all, v)
			}
		}

		for _, v := range list {
			seen[v.Attribute] = true
		}
	}

	return all
}

// rename gives the attributes the names that they have in this table.
func (s *settings) rename(all []Violation) {
	for i, v := range all {
		if name, ours := s.names[v.Attribute]; ours {
			all[i].Attribute = name
		} else {
			all[i].Attribute = strings.TrimPrefix(v.Attribute, other)
		}
	}
}
