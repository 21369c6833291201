package contract

import (
	"errors"
	"fmt"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb"
)

// answer is what a claim returns.
type answer struct {
	claim  *idemddb.Claim
	record *idemddb.Record
	err    error
}

// String is the answer without keys and owner tokens, so that the answers for two keys can be compared.
func (a answer) String() string {
	switch c := a.claim; {
	case c != nil && a.record == nil && a.err == nil:
		return fmt.Sprintf("claim: fence %d, attempt %d, takeover %t, until %d", c.Fence(), c.Attempt(), c.Takeover(), c.Deadline().UnixMilli())
	case c == nil && a.record != nil && a.err == nil:
		return describeRecord(a.record)
	case c == nil && a.record == nil && a.err != nil:
		return describeError(a.err)
	}

	return fmt.Sprintf("not exactly one of claim %t, record %t and error %v", a.claim != nil, a.record != nil, a.err)
}

func describeRecord(r *idemddb.Record) string {
	if r == nil {
		return "no record"
	}

	return fmt.Sprintf("record: fence %d, attempts %d, result %q (none: %t, omitted: %t), completed %d, until %d",
		r.Fence, r.Attempts, r.Result, r.Result == nil, r.ResultOmitted, r.CompletedAt.UnixMilli(), r.ExpiresAt.Unix())
}

func describeError(err error) string {
	if err == nil {
		return "success"
	}

	if e, ok := errors.AsType[*idemddb.InProgressError](err); ok {
		return fmt.Sprintf("in progress until %d", e.Until.UnixMilli())
	}

	if e, ok := errors.AsType[*idemddb.FailedError](err); ok {
		return fmt.Sprintf("failed after %d attempts: %s", e.Attempts, e.Cause)
	}

	if e, ok := errors.AsType[*idemddb.FencedError](err); ok {
		return fmt.Sprintf("fenced: held %d, current %d, %s", e.Held, e.Current, describeRecord(e.Record))
	}

	if kinds := kindsOf(err); kinds != nil {
		return strings.Join(kinds, ", ")
	}

	return fmt.Sprintf("another error, %T", errors.Unwrap(err))
}

// kindsOf are the sentinels that the error is.
func kindsOf(err error) []string {
	var kinds []string

	for _, sentinel := range []error{
		idemddb.ErrMismatch, idemddb.ErrUnrecorded, idemddb.ErrTooLarge, idemddb.ErrBadKey, idemddb.ErrCorrupt, idemddb.ErrInProgress,
		idemddb.ErrFenced, idemddb.ErrFailed,
	} {
		if errors.Is(err, sentinel) {
			kinds = append(kinds, sentinel.Error())
		}
	}

	return kinds
}
