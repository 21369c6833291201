package record

import (
	"fmt"
	"strings"
)

// MaxCause is how many bytes of a failure's text are kept. A record without a result stays below 1 KB with it, unless its key is
// long.
const MaxCause = 256

// Cause returns the text of a failure as a record keeps it. It puts reason before last, the text of an earlier failure, and cuts
// the whole. last is "" for none.
func Cause(reason, last string) string {
	if last != "" {
		reason += "; last failure: " + last
	}

	if len(reason) <= MaxCause {
		return reason
	}

	return strings.ToValidUTF8(reason[:MaxCause-len("…")], "") + "…"
}

// CauseOf returns the text of an error as a record keeps it: bounded, and valid UTF-8.
func CauseOf(err error) string { return Cause(strings.ToValidUTF8(safeText(err), "\uFFFD"), "") }

// safeText is the text of an error. A typed nil pointer may panic in its Error method.
func safeText(err error) (text string) {
	defer func() {
		if v := recover(); v != nil {
			text = fmt.Sprintf("an error of type %T whose Error method panics: %v", err, v)
		}
	}()

	return err.Error()
}
