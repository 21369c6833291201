package protocol

import (
	"maps"
	"strings"
)

// Expressions, whole and in parts, for tests that change a request on its way.
var (
	Conditions = map[string]string{
		"condRecreate": condRecreate, "condHeld": condHeld, "condOwn": condOwn, "condExtend": condExtend, "condMarkFailed": condMarkFailed,
		"condFailed": condFailed, "condUnsent": condUnsent, "condParked": condParked,
	}
	ConditionParts = map[string]string{
		"condClaim": condClaim, "condReleased": condReleased, "condSameInput": condSameInput, "condAttempts": condAttempts,
	}
	Updates = map[string]string{
		"updateFail": updateFail, "updateExtend": updateExtend, "updateReopen": updateReopen,
		"updateSent": updateSent, "updateParked": updateParked,
	}

	UpdateParts = map[string]string{
		"updateClaim": updateClaim, "updateSetFP": updateSetFP, "updateSetNT": updateSetNT, "updateComplete": updateComplete,
		"what a claim removes": claimEnd(&Config{}, "", []string{"fp"}), "what a compared claim removes": claimEnd(&Config{}, "", nil),
		"what a claim without takeover removes": claimEnd(&Config{NoTakeover: true}, "", []string{"fp"})[len(updateSetNT):],
		"updateSetResult":                       updateSetResult, "updateDropError": updateDropError, "updateRelease": updateRelease,
		"updateSetError": updateSetError, "updateUnused": updateUnused, "updateReturn": updateReturn, "updateTookAt": updateTookAt, "updateSetTrace": updateSetTrace, "updateKeepTrace": updateKeepTrace,
	}

	// These are never sent as statements.
	TransactionParts = map[string]string{
		"updateCommit": updateCommit, "updateReject": updateReject, "updateSetTx": updateSetTx, "updateSetOutbox": updateSetOutbox,
		"what a commit removes": claimEnd(&Config{}, "", []string{"err", "fp"}), "updateLeft": updateLeft, "updateSetParked": updateSetParked, "updateDropParked": updateDropParked,
	}
)

// The same for what goes in groups.
var (
	GroupConditions = map[string]string{"condHeld": condHeld, "condOwn": condOwn, "condExtend": condExtend, "condUnsent": condUnsent}

	GroupConditionParts = map[string]string{
		"condAgain": condAgain, "condReleased": condReleased, "condSameInput": condSameInput, "condAttempts": condAttempts,
	}
	GroupUpdates = map[string]string{
		"updateFail": updateFail, "updateExtend": updateExtend, "updateSent": updateSent,
	}
	GroupUpdateParts = func() map[string]string {
		parts := maps.Clone(UpdateParts)
		delete(parts, "updateClaim")
		delete(parts, "updateKeepTrace")

		parts["updateAgain"], parts["updateKeepTraceAgain"] = updateAgain, updateKeepTraceAgain

		return parts
	}()
)

// Pair is a condition and an update that go together.
type Pair struct {
	Condition, Update string

	returns bool // it did before it was changed
}

// GroupPairs are all pairs that are sent as statements, by what they do.
func GroupPairs() map[string]Pair {
	pairs := map[string]Pair{
		"release unused":       {Condition: condOwn, Update: updateRelease + updateUnused},
		"remove what was sent": {Condition: condUnsent, Update: updateSent},
	}

	for name, w := range map[string]struct{ condition, update, more string }{
		"complete":               {condHeld, updateComplete, updateDropError},
		"complete with a result": {condHeld, updateComplete, updateSetResult + updateDropError},
		"release":                {condOwn, updateRelease, ""},
		"release with a cause":   {condOwn, updateRelease, updateSetError},
		"return a takeover":      {condOwn, updateReturn, ""},
		"fail":                   {condHeld, updateFail, ""},
		"extend":                 {condExtend, updateExtend, ""},
	} {
		pairs[name] = Pair{Condition: w.condition, Update: w.update + w.more}
		pairs[name+", tookat"] = Pair{Condition: w.condition, Update: w.update + updateTookAt + w.more}
	}

	for name, c := range map[string]Config{
		"claim": {}, "claim without takeover": {NoTakeover: true}, "claim with few attempts": {MaxAttempts: 1},
		"claim with few attempts and without takeover": {MaxAttempts: 1, NoTakeover: true},
	} {
		traced := c
		traced.IsTraced = true

		for what, e := range map[string]*Table{name: NewTable(c), name + ", traced": NewTable(traced)} {
			pairs[what] = Pair{Condition: e.forms[0].again, Update: e.forms[0].setAgain}
			pairs[what+", input compared"] = Pair{Condition: e.forms[1].again, Update: e.forms[1].setAgain}
		}
	}

	return pairs
}

// Changed is the pair with its expressions replaced.
func (p Pair) Changed(condition, update string) Pair {
	p.returns = strings.HasPrefix(p.Update, updateAgain)
	p.Condition, p.Update = condition, update

	return p
}

// StatementOf is a pair as a Table sends it: its text, and the placeholders of its parameters.
func StatementOf(c Config, p Pair) (text string, placeholders []string) {
	const returning = " RETURNING ALL OLD *"

	st := NewTable(c).translate(form{p.Condition, p.Update})
	if p.returns && !strings.HasSuffix(st.text, returning) {
		st.text += returning
	}

	return st.text, st.parameters
}

// Insert is the statement of a new claim: its text, and the attributes of its parameters.
func Insert(c Config, fingerprint bool) (text string, attributes []string) {
	st := NewTable(c).forms[0].insert
	if fingerprint {
		st = NewTable(c).forms[1].insert
	}

	return st.text, st.parameters
}

// IsShared reports whether the Table has the statement of a pair from the beginning.
func IsShared(c Config, p Pair) bool {
	c.IsShared = true
	_, ok := NewTable(c).statements[form{p.Condition, p.Update}]

	return ok
}
