package protocol

import (
	"slices"
	"strings"

	"github.com/idemddb/go-idemddb/internal/record"
)

// claimForms are the composed expressions of the writes that claim a key. There are two sets of them, because a claim names a
// fingerprint only if its caller gave one.
type claimForms struct {
	claim, setClaim string    // the condition and the update of a claim
	again, setAgain string    // the same for a record that exists
	setReject       string    // the update of a rejection
	endCommit       string    // the end of the update of a commit, whose other parts depend on what is committed
	insert          statement // of a new record
}

// newClaimForms composes the forms of claims with or without a fingerprint.
func newClaimForms(c *Config, isNamed bool) claimForms {
	limits, inserted := claimLimits(c), insertedAttributes(c)
	setTrace, keepTrace, keepTraceAgain, setInput := "", "", "", ""

	if c.IsTraced {
		setTrace, keepTrace, keepTraceAgain = updateSetTrace, updateKeepTrace, updateKeepTraceAgain
	}

	removed := []string{record.Fingerprint}
	if isNamed {
		limits += condSameInput
		removed, setInput = nil, updateSetFP
		inserted = append(inserted, record.Fingerprint)
	}

	end := claimEnd(c, setInput, removed)

	return claimForms{
		claim:     condClaim + limits + condEnd,
		setClaim:  updateClaim + setTrace + keepTrace + end,
		again:     condAgain + limits,
		setAgain:  updateAgain + setTrace + keepTraceAgain + end,
		setReject: updateReject + setTrace + end,
		endCommit: setTrace + claimEnd(c, setInput, append([]string{record.Error}, removed...)),
		insert:    insertStatement(c.Table, inserted),
	}
}

// claimEnd returns the end of an update that claims a key. It sets what the claim has, and removes what an earlier claim may have
// left.
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
