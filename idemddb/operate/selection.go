package operate

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Selection says which records List finds. The zero value selects all records of the namespace. A record must fit every field.
type Selection struct {
	Status  []Status // one of these; none: any
	Unsent  bool     // with messages that are not sent; Options.UnsentIndex finds them without a scan, but not those that are parked
	Parked  bool     // with parked messages
	Request string   // last claimed by the worker with this request id, as it stands in logs
	Hash    string   // the hash of the key, as it stands in logs: "sha256:" and 12 characters

	// Twice selects the records whose work may have been done twice: View.SecondRun has a reason other than a retry. Retries adds
	// those that ran again because their handler had returned an error, and is nothing without Twice. Both default to false.
	Twice, Retries bool

	// Since leaves out, of the records that Twice selects, those which show that the second run began before it. A record that does
	// not show when is selected. Defaults to zero: no limit.
	Since time.Time

	// Budget is how many read units the call may use. It stops before a page that would use more, by the size of the records so far,
	// and List's Progress has a Cursor with which the next call goes on. The first page is read in any case. Negative is an error.
	// Defaults to 10,000: about 80 MB of records, for about $0.00125.
	Budget float64

	// Rate is how many read units a second the call may use, on average. Negative is an error. Defaults to 0: no limit.
	Rate float64

	// Segments is how many parts of the table are scanned at the same time. Negative, and above 1,000, is an error. Defaults to 4.
	Segments int

	// Cursor is where an earlier call stopped. Its other fields must be those of that call. Defaults to "": the beginning.
	Cursor string

	// Progress is called after each page. Defaults to none.
	Progress func(Progress)
}

// Progress is how far a List has come.
type Progress struct {
	Read   int     `json:"read"`             // records, of any namespace
	Found  int     `json:"found"`            // records that fit the selection
	Units  float64 `json:"read_units"`       // used by this call
	Cursor string  `json:"cursor,omitempty"` // where the next call goes on; "" if everything was read
}

// The defaults of Selection, each only here.
const (
	defaultBudget   = 10_000
	defaultSegments = 4
	maxSegments     = 1_000
)

func (s *Selection) validate() error {
	switch {
	case s.Budget < 0 || !isFinite(s.Budget):
		return fmt.Errorf("operate: Selection.Budget: must not be negative, infinite or no number, is %v", s.Budget)
	case s.Rate < 0 || !isFinite(s.Rate):
		return fmt.Errorf("operate: Selection.Rate: must not be negative, infinite or no number, is %v", s.Rate)
	case s.Segments < 0 || s.Segments > maxSegments:
		return fmt.Errorf("operate: Selection.Segments: must be 0 to %d, is %d", maxSegments, s.Segments)
	case s.Hash != "" && (!strings.HasPrefix(s.Hash, record.DigestPrefix) || len(s.Hash) < record.HashLength):
		return fmt.Errorf("operate: Selection.Hash: must be %q and %d characters, as a log line has it, is %q",
			record.DigestPrefix, record.HashLength-len(record.DigestPrefix), s.Hash)
	}

	return nil
}

func isFinite(f float64) bool { return !math.IsNaN(f) && !math.IsInf(f, 0) }

// fits reports whether a record is selected.
func (s *Selection) fits(v *View) bool {
	isParked := func(m Message) bool { return m.Parked }

	switch {
	case len(s.Status) > 0 && !slices.Contains(s.Status, v.Status),
		s.Unsent && len(v.Messages) == 0,
		s.Parked && !slices.ContainsFunc(v.Messages, isParked),
		s.Request != "" && v.Request != s.Request,
		s.Hash != "" && v.Hash != s.Hash[:record.HashLength],
		s.Twice && !s.wantsSecondRun(v):
		return false
	default:
		return true
	}
}

// filter returns a condition by which DynamoDB leaves out records that fits would refuse. DynamoDB bills the reads anyway, but
// does not send the records.
func (s *Selection) filter(r *Records) expression {
	e := expression{
		text: "begins_with(#pk, :namespace) AND attribute_not_exists(part)", names: map[string]string{"#pk": r.opts.PartitionKey},
		values: item{":namespace": record.Text(r.store.Namespace() + "#")},
	}

	if r.opts.SortKey != "" { // others may have items under the partition key of a record
		e.text += " AND #sk = :sk"
		e.names["#sk"], e.values[":sk"] = r.opts.SortKey, record.Text(protocol.SortKeyValue)
	}

	if s.Request != "" {
		e.text += " AND begins_with(own, :request)"
		e.values[":request"] = record.Text(s.Request + record.TokenMark)
	}

	switch {
	case s.Parked:
		e.text += " AND attribute_exists(parked)"
	case s.Unsent:
		e.text += " AND (attribute_exists(outbox) OR attribute_exists(parked))"
	}

	if s.Twice {
		s.secondRunFilter(&e)
	}

	if state, ok := s.state(); ok {
		e.text += " AND st = :state"
		e.values[":state"] = record.Text(state)
	}

	return e
}

// state returns the one state that all selected statuses have.
func (s *Selection) state() (state string, ok bool) {
	states := map[Status]string{
		Held: record.InProgress, Stuck: record.InProgress, Released: record.InProgress, Completed: record.Completed, Failed: record.Failed,
	}

	for _, status := range s.Status {
		if states[status] == "" || state != "" && state != states[status] {
			return "", false
		}

		state = states[status]
	}

	return state, state != ""
}
