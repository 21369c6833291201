package audit

import (
	"fmt"
	"sync"
)

// A Checker judges the changes of a table with the history of each key. It takes the changes of one key in their order, as each
// shard of a stream has them; the order of different keys does not matter. It is safe for concurrent use. It needs about 1 KB of
// memory for each key.
type Checker struct {
	settings *settings

	mu        sync.Mutex
	histories map[string]*history // by partition key
	report    Report
}

// NewChecker returns an error that names the field if an option is wrong.
func NewChecker(options Options) (*Checker, error) {
	s, err := options.withDefaults()
	if err != nil {
		return nil, err
	}

	return &Checker{settings: s, histories: map[string]*history{}, report: Report{Kinds: map[Kind]int{}}}, nil
}

// Check judges the next change of a key. It keeps nothing of the change that the caller could alter.
func (c *Checker) Check(change Change) Verdict {
	j := c.settings.judge(change)

	c.mu.Lock()
	defer c.mu.Unlock()

	if j.verdict.Kind == NoRecord {
		c.report.NoRecords++

		return j.verdict
	}

	h, isKnown := c.histories[j.verdict.Partition]
	if !isKnown {
		h = newHistory()
		c.histories[j.verdict.Partition] = h
	}

	h.judge(&j)
	h.tell(&j)
	c.report.add(&j, h)

	return j.verdict
}

// Story returns what happened to a key, one change a line, oldest first. The argument is the whole partition key. It is empty for
// a key that the Checker has not seen. Of a long story the changes in the middle are left out, and a line says so.
func (c *Checker) Story(partition string) string {
	c.mu.Lock()
	defer c.mu.Unlock()

	h, isKnown := c.histories[partition]
	if !isKnown {
		return ""
	}

	return h.story.String()
}

// Report says what the Checker has seen so far.
func (c *Checker) Report() Report {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.report.clone()
}

// history is what the Checker has seen of one key.
type history struct {
	last         digest // after the last change
	isSeen       bool
	owners       map[string]token // every token that has claimed the key
	oldest       []string         // the same tokens, oldest first
	stored       messages         // what the completion stored; nil: not known
	hasCompleted bool             // in this life of the record
	first        int64            // the fencing token with which this life began; if the beginning was not seen, the token less the attempts
	stamped      item             // the record with the last operator's stamp, if that says forget; else nil
	isUnstamped  bool             // the record has changed since that stamp
	story        story
}

// token is what the last write with an owner token set.
type token struct{ lease, end int64 }

// mostOwners is how many tokens of a key are kept.
const mostOwners = 1000

func newHistory() *history { return &history{owners: map[string]token{}} }

// judge adds to the verdict what only the history shows, and then adds the change to it.
func (h *history) judge(j *judgement) {
	v := &j.verdict

	if v.Gap = h.isSeen && h.last != j.before.digest(); v.Gap || !h.isSeen {
		h.reset(j.before)
	}

	found := h.violations(j)
	j.rename(found)
	v.Violations = append(v.Violations, found...)

	h.remember(j)
}

func (h *history) violations(j *judgement) []Violation {
	var found []Violation

	switch kind := j.verdict.Kind; {
	case kind.claims():
		found = append(h.owner(j), h.fences(j)...)
	case kind.sends():
		found = h.messages(j)
	case kind == Deletion && len(j.verdict.Violations) == 0:
		found = h.deletion()
	}

	if kind := j.verdict.Kind; kind.completes() && h.hasCompleted && !kind.makesAnew() {
		found = append(found, Violation{
			RuleCompletions, attrState, "This life of the record was completed before, and at most one completion is accepted.",
		})
	}

	return found
}

// reset begins the history anew with a record whose past is not known, or has a gap. Owner tokens stay: none is ever used again.
func (h *history) reset(before item) {
	h.stored, h.stamped, h.isUnstamped, h.first = nil, nil, false, before.number(attrFence)-before.number(attrAttempts)
	h.hasCompleted = before.is(completed)

	if before.has(attrOwner) {
		h.own(before)
	}
}

// owner: a claim has a token of its own. Another try of an earlier claim has that one's: it can claim the key again after others
// have released it, or after the record was deleted. If it was made before the try that was applied, its lease and its end are no
// later, and it is counted as late. If it was made after it, because the answer of that one was lost, they are later by less than
// a call tries.
func (h *history) owner(j *judgement) []Violation {
	earlier, isKnown := h.owners[j.after.str(attrOwner)]
	if !isKnown || j.before.same(j.after, attrOwner) {
		return nil // the transition has said what is wrong
	}

	if j.after.number(attrLease) <= earlier.lease && j.after.end() <= earlier.end {
		j.verdict.Late = true

		return nil
	}

	if tried := j.Lifetime.Milliseconds(); j.after.number(attrLease) <= earlier.lease+tried && j.after.end() <= earlier.end+tried/1000 {
		return nil
	}

	return []Violation{{RuleOwner, attrOwner, fmt.Sprintf("The owner token %q claimed this key before, and this is no other try of that claim.",
		cut(j.after.str(attrOwner)))}}
}

// fences: the token starts at the time, so it also rises across a deletion, but for the difference of two clocks, and for the
// claims of the life before, each of which has raised it by one, however soon they came. A late try begins at an older time; one
// that is not counted as late is older than its change by no more than the tolerance, and the clock before was ahead of its
// change by no more.
func (h *history) fences(j *judgement) []Violation {
	fence := j.after.number(attrFence)
	if j.before != nil || j.verdict.Late || j.verdict.Untimed || fence > h.first-2*j.tolerance().Milliseconds() {
		return nil
	}

	return []Violation{{RuleFence, attrFence, fmt.Sprintf(
		"The fencing token of a record that was deleted began with %d, and that of the new one is %d, which is lower by more than clocks may differ.",
		h.first, fence,
	)}}
}

// messages: whatever a sender leaves is among the messages that the completion stored.
func (h *history) messages(j *judgement) []Violation {
	if h.stored == nil {
		return nil
	}

	for number, content := range j.after.messages() {
		if stored, isThere := h.stored[number]; !isThere || stored != content {
			return []Violation{{RuleMessages, attrOutbox, fmt.Sprintf("The completion did not store message %d as it is now.", number)}}
		}
	}

	return nil
}

// deletion: an operator forgets the record as it was when op was stamped.
func (h *history) deletion() []Violation {
	if h.stamped == nil || !h.isUnstamped {
		return nil // the stamp may be older than this history
	}

	return []Violation{{RuleDeletion, "", "The record was deleted, and has changed since an operator wrote into op that it is to be forgotten."}}
}

// seen are the attributes that an operator's change demands to be as they were read.
var seen = []string{
	attrExp, attrVersion, attrState, attrOwner, attrFence, attrLease, attrAttempts, attrTx, attrDue, attrEnds, attrOp,
}

func (h *history) remember(j *judgement) {
	kind, after := j.verdict.Kind, j.after

	h.last, h.isSeen = after.digest(), true

	if after.has(attrOwner) {
		h.own(after)
	}

	switch {
	case kind.completes():
		h.stored, h.hasCompleted = after.messages(), true
	case kind.makesAnew() && !j.verdict.breaks(RuleEnd), kind == NewClaim, after == nil:
		h.stored, h.hasCompleted = nil, false
	}

	if kind.makesAnew() || kind == NewClaim || kind == Commit && j.before == nil || kind == Rejection && j.before == nil {
		h.first = after.number(attrFence)
	}

	h.rememberStamp(j)
}

func (h *history) rememberStamp(j *judgement) {
	if o, isNew := j.operation(); j.after != nil && isNew {
		h.stamped, h.isUnstamped = nil, false

		if o.what == whatForget {
			h.stamped = j.after
		}
	}

	if h.stamped == nil {
		return
	}

	if j.after == nil {
		h.stamped, h.isUnstamped = nil, false

		return
	}

	for _, name := range seen {
		h.isUnstamped = h.isUnstamped || !h.stamped.same(j.after, name)
	}
}

// own keeps the token of the record.
func (h *history) own(it item) {
	own := it.str(attrOwner)

	last, isKnown := h.owners[own]
	h.owners[own] = token{max(last.lease, it.number(attrLease)), max(last.end, it.end())}

	if isKnown {
		return
	}

	if h.oldest = append(h.oldest, own); len(h.oldest) > mostOwners {
		delete(h.owners, h.oldest[0])
		h.oldest = h.oldest[1:]
	}
}
