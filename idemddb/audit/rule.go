package audit

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
