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

// A Violation is a rule that a change breaks.
type Violation struct {
	Rule      Rule   // the rule that is broken
	Attribute string // of the item; empty if it is about the whole item
	Text      string // a sentence with the values. It has no key, no result, no message and no text of a failure
}

// A Rule is the name of a rule. It stays the same, so that tests and alarms can compare it.
type Rule string

// The rules.
const (
	RuleKey         Rule = "key"               // the partition key of the two images, and its form
	RuleVersion     Rule = "version"           // the format version is 1
	RuleForm        Rule = "form"              // the type and the form of an attribute
	RuleState       Rule = "state"             // which attributes a record of its state has, and how they fit together
	RuleStays       Rule = "stays"             // a write leaves what it does not name as it was
	RuleSets        Rule = "sets"              // what a write sets
	RuleCondition   Rule = "condition"         // what a write demands of the record before
	RuleLease       Rule = "lease not over"    // a claim was taken over, or ended for another, while it was held
	RuleEnd         Rule = "not past its end"  // a record was made anew before its end
	RulePastEnd     Rule = "past its end"      // a record was claimed by an update after its end
	RuleAhead       Rule = "clock ahead"       // a worker's time is later than that of the change
	RuleTooLate     Rule = "too late"          // a worker's time is older than a request can be
	RuleOwner       Rule = "owner token"       // a claim has a token of its own
	RuleFence       Rule = "fencing token"     // the fencing token rises, also across a deletion
	RuleCompletions Rule = "second completion" // a life of a record has at most one
	RuleMessages    Rule = "messages"          // a message that the completion did not store
	RuleDeletion    Rule = "deletion"          // a record was deleted by neither Time to Live nor an operator
	RuleTimeToLive  Rule = "time to live"      // Time to Live deleted a record before its end
)

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
