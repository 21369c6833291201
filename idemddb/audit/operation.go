package audit

import (
	"bytes"
	"encoding/json"
	"time"
)

// What an operator does, as op says it. The page names forget and send; the others are the commands of idem.
const (
	whatRelease = "release"
	whatFail    = "fail"
	whatReopen  = "reopen"
	whatSend    = "send"
	whatForget  = "forget"
)

// operation is the attribute op.
type operation struct {
	what, by, why string
	from, to      int64 // the time, in epoch milliseconds; to is later where it is given in seconds
}

// readOperation reads op. The page says that it has what, by, why, at and id, and not how at is written: a number of
// milliseconds, or a text as in RFC 3339.
func readOperation(v value) (operation, bool) {
	var o struct {
		What *string         `json:"what"`
		By   *string         `json:"by"`
		Why  *string         `json:"why"`
		At   json.RawMessage `json:"at"`
		ID   *string         `json:"id"`
	}

	decoder := json.NewDecoder(bytes.NewReader([]byte(v.str)))
	decoder.DisallowUnknownFields()

	if v.kind != "S" || decoder.Decode(&o) != nil || decoder.InputOffset() != int64(len(v.str)) ||
		o.What == nil || o.By == nil || o.Why == nil || o.ID == nil || *o.ID == "" {
		return operation{}, false
	}

	from, to, isTime := readTime(o.At)

	return operation{*o.What, *o.By, *o.Why, from, to}, isTime
}

func readTime(raw json.RawMessage) (from, to int64, isTime bool) {
	if json.Unmarshal(raw, &from) == nil {
		return from, from, from > 0
	}

	var at time.Time
	if json.Unmarshal(raw, &at) != nil {
		return 0, 0, false
	}

	from = at.UnixMilli()
	if at.Nanosecond() == 0 {
		return from, from + time.Second.Milliseconds() - 1, true
	}

	return from, from, true
}

// operation returns what the change says that an operator does, and whether it says so: op has changed.
func (p *pair) operation() (operation, bool) {
	if p.before.same(p.after, attrOp) {
		return operation{}, false
	}

	return readOperation(p.after[attrOp])
}
