package main

// rule is the number of a rule.
type rule int

// The rules that have a property here.
const (
	ruleAlone     rule = 1
	ruleTogether  rule = 2
	ruleItself    rule = 3
	ruleLeft      rule = 4
	ruleLimits    rule = 5
	ruleConflict  rule = 6
	ruleGate      rule = 7
	ruleAdditions rule = 8
	ruleProof     rule = 9
	ruleProbe     rule = 10
	ruleRead      rule = 11
)

// rules are the properties, and how each one is shown to be checked.
var rules = []struct {
	rule     rule
	property string
	dropped  string // what is done instead, with -without
	shows    setup  // where that breaks the property
}{
	{
		ruleAlone, "a write that is alone leaves in the same step",
		"a wrapper announces writes that do not come", setup{keys: "a"},
	},
	{
		ruleTogether, "no write waits behind a flight for longer than a third of T",
		"the planner is asked for flights only where a write comes or a flight lands", setup{keys: "ab"},
	},
	{
		ruleItself, "a write that was answered never waits for the retry of another one",
		"a shared request is sent again as a whole until all of its writes are answered", setup{keys: "aab", faults: 1},
	},
	{
		ruleLeft, "after its caller has left, no new flight holds a write",
		"the planner does not learn that a caller has left", setup{keys: "ab", leaves: 1},
	},
	{
		ruleLimits, "no flight has more than 25 writes, or a record twice",
		"the planner does not know which writes have the same record", setup{keys: "aaa"},
	},
	{
		ruleConflict, "no two flights under way have the same record, unless the older one has been under way for 4 T",
		"the planner does not know which writes have the same record", setup{keys: "aa"},
	},
	{
		ruleGate, "a write that touches no hot item never stands at the gate",
		"the items of all writes of a cancelled transaction count as those that another one held", setup{keys: "abc", items: "xyz", faults: 2},
	},
	{
		ruleAdditions, "an item has the sum of what the completed records add to it",
		"the sum of a flight is kept, and sent again with whichever writers its first one travels with",
		setup{keys: "aab", items: "xxx", isAdded: true},
	},
	{
		ruleProof, "no write ends as done without its proof in the table, and one claimant at a time has a key",
		"a request without an answer counts as one that was applied", setup{keys: "a", faults: 1},
	},
	{
		ruleProbe, "after a denial, no request is shared for five minutes, and then one flight at a time probes",
		"the planner does not learn of the denial", setup{keys: "abcde", isDenied: true, isClaimed: true},
	},
	{
		ruleRead, "no transaction whose records are read first leaves with a key that had ended before, unless that read is lost",
		"the records of a flight are not read first", setup{keys: "aab", items: "xxx", isAdded: true, isMet: true},
	},
}
