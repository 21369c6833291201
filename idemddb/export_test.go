package idemddb

import (
	"context"
	"maps"
	"strings"

	"github.com/idemddb/go-idemddb/internal/transactitem"
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
		"what a claim removes": claimEnd(&Options{}, "", []string{"fp"}), "what a compared claim removes": claimEnd(&Options{}, "", nil),
		"what a claim without takeover removes": claimEnd(&Options{NoTakeover: true}, "", []string{"fp"})[len(updateSetNT):],
		"updateSetResult":                       updateSetResult, "updateDropError": updateDropError, "updateRelease": updateRelease,
		"updateSetError": updateSetError, "updateUnused": updateUnused, "updateReturn": updateReturn, "updateTookAt": updateTookAt, "updateSetTrace": updateSetTrace, "updateKeepTrace": updateKeepTrace,
	}

	// These are never sent as statements.
	TransactionParts = map[string]string{
		"updateCommit": updateCommit, "updateReject": updateReject, "updateSetTx": updateSetTx, "updateSetOutbox": updateSetOutbox,
		"what a commit removes": claimEnd(&Options{}, "", []string{"err", "fp"}), "updateLeft": updateLeft, "updateSetParked": updateSetParked, "updateDropParked": updateDropParked,
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

	for name, o := range map[string]Options{
		"claim": {}, "claim without takeover": {NoTakeover: true}, "claim with few attempts": {MaxAttempts: 1},
		"claim with few attempts and without takeover": {MaxAttempts: 1, NoTakeover: true},
	} {
		traced := o
		traced.Trace = func(context.Context) string { return "" }

		for what, e := range map[string]expressions{name: newExpressions("", &o), name + ", traced": newExpressions("", &traced)} {
			pairs[what] = Pair{Condition: e.again.unnamed, Update: e.setAgain.unnamed}
			pairs[what+", input compared"] = Pair{Condition: e.again.named, Update: e.setAgain.named}
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

// Statement is a pair as a Store with these names of attributes sends it: its text, and the placeholders of its parameters.
func Statement(table string, o Options, p Pair) (text string, placeholders []string) {
	const returning = " RETURNING ALL OLD *"

	o = o.withDefaults()
	s := &Store{table: table, opts: o, expr: newExpressions(table, &o)}
	st := s.statement(p.Condition, p.Update)

	if p.returns && !strings.HasSuffix(st.Text, returning) {
		st.Text += returning
	}

	return st.Text, st.Parameters
}

// Insert is the statement of a new claim: its text, and the attributes of its parameters.
func Insert(table string, o Options, fingerprint bool) (text string, attributes []string) {
	o = o.withDefaults()

	st := newExpressions(table, &o).insert.unnamed
	if fingerprint {
		st = newExpressions(table, &o).insert.named
	}

	return st.Text, st.Parameters
}

// Commit commits a key together with others of its batch, as work without a claim that staged these effects.
func (b *Batch) Commit(ctx context.Context, key string, opts *ClaimOptions, result []byte, e Effects) (wait func() (*Record, error)) {
	c, err := b.store.newCommit(ctx, b, key, opts)
	if err != nil {
		return func() (*Record, error) { return nil, err }
	}

	e = Effects{Items: transactitem.Copy(e.Items), Messages: copyMessages(e.Messages), Refused: e.Refused}

	c.start(ctx, result, nil, e)

	return func() (*Record, error) { return c.finish(ctx) }
}

// Reject is what a Work without a claim writes if it does not succeed.
func (s *Store) Reject(ctx context.Context, key string, opts *ClaimOptions, cause error) (*Record, error) {
	c, err := s.newCommit(ctx, nil, key, opts)
	if err != nil {
		return nil, err
	}

	a, err := c.reject(ctx, cause)

	return a.record, err
}

// Meaning is what Effects.Refused says.
func (e *EffectError) Meaning() error { return e.meaning() }

// Settled is how a claim was settled; "" while it is open, and if the outcome of its settlement is not known.
func (c *Claim) Settled() Kind {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.settled
}

// Held reports whether the lease is not over, and no write of the claim was fenced.
func (c *Claim) Held() bool { return (&Work{store: c.store, claim: c}).Held() }
