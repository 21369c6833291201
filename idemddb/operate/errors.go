package operate

import (
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/internal/record"
)

// The errors of this package, for errors.Is. After each of them, and after idemddb.ErrMisuse, nothing was changed. A Forget that
// is refused between its two writes stays in the record as its last change by an operator, and nothing else was written. After
// any other error of a change the outcome is unknown: look again. Repeating a change with the same View is safe: it is made at
// most once.
//
// A change is an idemddb.ErrMisuse if by or why is empty, too long or not UTF-8, or if its View did not come from this package.
var (
	// ErrNoRecord: the key has no record. Check the namespace and the text of the key. It is the ErrNoRecord of package idemddb.
	ErrNoRecord = record.ErrNoRecord

	// ErrChanged: the record is not as the View says any more. Look again, and decide anew. [ChangedError] has the record as it is.
	// It is not the ErrChanged of package idemddb, with which a worker gives up asking.
	ErrChanged = errors.New("changed meanwhile, look again")

	// ErrNotAllowed: a record of this status cannot be changed in this way. The text says why, and what can be done.
	ErrNotAllowed = errors.New("not possible")

	// ErrUnsent: the record has messages that are not sent. Send them first; or call ForgetUnsent, and the messages are lost. It is
	// not the ErrUnsent of package idemddb, with which a completed work asks for its next delivery.
	ErrUnsent = errors.New("the record has messages that are not sent")

	// ErrBudget: a List of unsent messages by their index is not complete. Raise Selection.Budget, and call List again.
	ErrBudget = errors.New("the budget ended before all unsent messages were read; raise Selection.Budget")
)

// ChangedError is the ErrChanged of one change.
type ChangedError struct {
	What    string // the change that was refused
	Key     string // as stored
	Current *View  // the record as it is; nil if it is gone
}

// Error says which change was refused and what the record is now.
func (e *ChangedError) Error() string {
	now := "it is gone"
	if e.Current != nil {
		now = "it is " + string(e.Current.Status)
		if last := e.Current.Last; last != nil {
			now += fmt.Sprintf("; the last change by an operator is %s by %s: %s", last.What, last.By, last.Why)
		}
	}

	return fmt.Sprintf("operate: %s of key %s: %v: %s", e.What, record.StoredKeyHash(e.Key), ErrChanged, now)
}

// Unwrap returns ErrChanged.
func (*ChangedError) Unwrap() error { return ErrChanged }

func changeError(what, key string, err error) error {
	return fmt.Errorf("operate: %s of key %s: %w", what, record.StoredKeyHash(key), err)
}
