package protocol

import (
	"slices"
	"strings"

	"github.com/idemddb/go-idemddb/internal/partiql"
	"github.com/idemddb/go-idemddb/internal/record"
)

// expressions are the composed expressions of one Table.
type expressions struct {
	claim, setClaim byInput[string] // the condition and the update of a claim
	again, setAgain byInput[string] // the same for a record that exists

	setReject byInput[string] // the update of a rejection
	endCommit byInput[string] // the end of the update of a commit, whose other parts depend on what is committed

	insert byInput[partiql.Statement] // of a new record
	hasKey string                     // the condition of every other statement that names the key

	names      map[string]string // expression attribute names, shared by all requests: never written
	nameOfExp  map[string]string // the same for expressions that do not name the key
	translated map[string]string // the same for statements
}

// byInput is an expression in two forms, because a claim names a fingerprint only if its caller gave one.
type byInput[T any] struct{ unnamed, named T }

// of returns the form for a fingerprint, "" for none.
func (b byInput[T]) of(fingerprint string) T {
	if fingerprint == "" {
		return b.unnamed
	}

	return b.named
}

func newExpressions(c *Config) expressions {
	limits, inserted := claimLimits(c), insertedAttributes(c)
	setTrace, keepTrace, keepTraceAgain := "", "", ""

	if c.IsTraced {
		setTrace, keepTrace, keepTraceAgain = updateSetTrace, updateKeepTrace, updateKeepTraceAgain
	}

	return expressions{
		claim:     byInput[string]{condClaim + limits + condEnd, condClaim + limits + condSameInput + condEnd},
		setClaim:  claimUpdates(c, updateClaim+setTrace+keepTrace),
		again:     byInput[string]{condAgain + limits, condAgain + limits + condSameInput},
		setAgain:  claimUpdates(c, updateAgain+setTrace+keepTraceAgain),
		setReject: claimUpdates(c, updateReject+setTrace),
		endCommit: claimUpdates(c, setTrace, record.Error),
		insert: byInput[partiql.Statement]{
			partiql.Insert(c.Table, inserted), partiql.Insert(c.Table, append(slices.Clone(inserted), record.Fingerprint)),
		},
		hasKey:     keyCondition(c),
		nameOfExp:  map[string]string{nameExp: c.TTLAttribute},
		names:      map[string]string{namePK: c.PartitionKey, nameExp: c.TTLAttribute},
		translated: map[string]string{namePK: c.PartitionKey, nameSK: c.SortKey, nameExp: c.TTLAttribute},
	}
}

// claimUpdates returns both forms of an update that claims a key. removed are further attributes that it removes.
func claimUpdates(c *Config, update string, removed ...string) byInput[string] {
	return byInput[string]{
		update + claimEnd(c, "", append(slices.Clone(removed), record.Fingerprint)),
		update + claimEnd(c, updateSetFP, removed),
	}
}

// claimEnd returns the end of an update that claims a key. It sets what the claim has, and removes what an earlier claim may have left.
func claimEnd(c *Config, set string, removed []string) string {
	if c.NoTakeover {
		set += updateSetNT
	} else {
		removed = append(slices.Clone(removed), record.NoTakeover)
	}

	if len(removed) == 0 {
		return set
	}

	return set + " REMOVE " + strings.Join(removed, ", ")
}

// claimLimits returns the conditions that NoTakeover and MaxAttempts add to those of every claim.
func claimLimits(c *Config) string {
	limits := ""
	if c.NoTakeover {
		limits += condReleased
	}

	if c.MaxAttempts > 0 {
		limits += condAttempts
	}

	return limits
}

// keyCondition returns the condition of a statement that names the key of the record.
func keyCondition(c *Config) string {
	if c.SortKey == "" {
		return namePK + " = " + placePartition
	}

	return namePK + " = " + placePartition + " AND " + nameSK + " = " + placeSort
}

// insertedAttributes returns the names of the attributes of a new record without a fingerprint, in the order of its statement.
func insertedAttributes(c *Config) []string {
	inserted := []string{
		c.PartitionKey, c.TTLAttribute, record.Version, record.State, record.Token, record.Fence, record.Previous, record.Took, record.Lease,
		record.Attempts, record.Born,
	}
	if c.SortKey != "" {
		inserted = append(inserted, c.SortKey)
	}

	if c.IsTraced {
		inserted = append(inserted, record.Trace, record.PrevTrace)
	}

	if c.NoTakeover {
		inserted = append(inserted, record.NoTakeover)
	}

	return inserted
}
