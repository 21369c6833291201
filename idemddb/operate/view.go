package operate

import (
	"cmp"
	"encoding/json"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// Status is what a record means at the moment at which it was read.
type Status string

// The statuses of a record.
const (
	Held      Status = "held"      // a worker has claimed the key, and its lease is not over
	Stuck     Status = "stuck"     // the lease of the worker ran out; the next claim takes the key over or, with View.NoTakeover, fails it
	Released  Status = "released"  // the claim was given back; the next claim has the key
	Completed Status = "completed" // the work is done; claims are answered from the record
	Failed    Status = "failed"    // the key ended for good; claims are refused
	Expired   Status = "expired"   // the retention is over and Time to Live has not deleted the record; the key is new
	Corrupt   Status = "corrupt"   // the record is of another format version, or not one of this package
)

// View is a record as it was read. A change is made only if the record is still as its View says. A View that did not come from
// Look, List or a [ChangedError] cannot be changed. All times are by the clocks of the workers that wrote them; zero means that
// the record does not say.
type View struct {
	Namespace string `json:"namespace"` // of the Store
	Key       string `json:"key"`       // as it is stored behind the namespace; "sha256:" and the digest of a key that is long or hashed
	Hash      string `json:"hash"`      // of the key, as it stands in logs

	Status   Status    `json:"status"`            // what the record means at the moment at which it was read
	State    string    `json:"state,omitempty"`   // INPROGRESS, COMPLETED or FAILED
	Owner    string    `json:"owner,omitempty"`   // owner token of the last claim
	Request  string    `json:"request,omitempty"` // the request id in it, to find the logs of that worker; "" outside of Lambda
	Trace    string    `json:"trace,omitempty"`   // the traceparent of that claim, by Options.Trace; "" for none
	Fence    int64     `json:"fence"`             // fencing token of the last claim
	Lease    time.Time `json:"lease,omitzero"`    // end of the lease; zero once released
	Attempts int       `json:"attempts"`          // claims whose work began
	Born     time.Time `json:"born,omitzero"`     // first claim
	Done     time.Time `json:"done,omitzero"`     // completion
	Ends     time.Time `json:"ends,omitzero"`     // end of the retention
	Cause    string    `json:"cause,omitempty"`   // text of the last failure

	// NoTakeover says that the last claim was made with idemddb.Options.NoTakeover. When its lease runs out, a next claim of such a
	// worker ends the key as failed, because nobody knows whether the effect happened.
	NoTakeover bool `json:"no_takeover,omitempty"`

	PreviousTrace string     `json:"previous_trace,omitempty"` // the traceparent that the last claim found; "" for none
	SecondRun     *SecondRun `json:"second_run,omitempty"`     // why the work began more than once; nil if it did not

	Result        []byte `json:"-"`                        // it may hold what should not be shown
	ResultBytes   int    `json:"result_bytes,omitempty"`   // length of the result, also of a large one
	ResultName    string `json:"result_name,omitempty"`    // of a large one, which is kept outside of the record; see Records.Result
	ResultOmitted bool   `json:"result_omitted,omitempty"` // the work had a result that was not kept
	ResultSealed  bool   `json:"result_sealed,omitempty"`  // by idemddb.Options.Codec: Result is nil, and ResultBytes is the length of what is stored

	Messages []Message `json:"messages,omitempty"` // that are not sent

	Last    *Change `json:"last_change,omitempty"` // the last change of an operator
	Corrupt string  `json:"corrupt,omitempty"`     // why the record cannot be read

	stored item
}

// Message is a message of a completed record that is not sent. Its body is not shown.
type Message struct {
	ID     string `json:"id"`              // the id with which it is sent
	To     string `json:"to"`              // the entry of Options.Senders
	Group  string `json:"group,omitempty"` // the message group; "" for none
	Bytes  int    `json:"bytes"`           // of its body; of a sealed one, of all that is stored of it
	Sealed bool   `json:"sealed,omitzero"` // by idemddb.Options.Codec; Group is then unknown
	Parked bool   `json:"parked"`          // it can never be sent, unless an operator sends it
	Cause  string `json:"cause,omitempty"` // why it is parked
}

// Change is what an operator did to a record.
type Change struct {
	What string    `json:"what"` // release, fail, reopen, forget or send
	By   string    `json:"by"`   // who did it
	Why  string    `json:"why"`  // the reason that was given
	At   time.Time `json:"at"`   // when, by the operator's clock
	ID   string    `json:"id"`   // new for each change, so that a change whose answer was lost is recognised
}

// view shows a record that was read. What cannot be read is not shown, and the record is then shown as corrupt.
func (r *Records) view(stored item) View {
	v := View{stored: stored, Namespace: r.store.Namespace()}
	v.Key = strings.TrimPrefix(record.TextOf(stored[r.opts.PartitionKey]), v.Namespace+"#")
	v.Hash = record.StoredKeyHash(v.Key)

	rec, err := record.Inspect(stored, r.opts.TTLAttribute)
	v.show(rec)
	v.showResult(rec.Result)
	v.SecondRun = secondRun(&v)

	if err != nil {
		v.Status, v.Corrupt = Corrupt, err.Error()

		return v
	}

	v.Status = r.status(rec)

	return v
}

// show copies the attributes into the view.
func (v *View) show(rec *record.Stored) {
	v.State, v.Owner, v.Request, v.Trace = rec.State, aws.ToString(rec.Token), rec.Holder(), rec.Trace
	v.Fence, v.Attempts, v.Cause = aws.ToInt64(rec.Fence), rec.Attempts, rec.Error
	v.Born, v.Done = milliseconds(rec.Born), milliseconds(rec.Done)
	v.Ends = seconds(cmp.Or(rec.Ends, rec.Expires)) // with messages, the record does not expire before they are sent
	v.Lease = milliseconds(max(0, aws.ToInt64(rec.Lease)))
	v.NoTakeover, v.PreviousTrace = rec.NoTakeover, rec.PreviousTrace
	v.Messages = messages(rec)

	if rec.Operator != "" {
		v.Last = &Change{Why: rec.Operator} // another program may have written another text
		_ = json.Unmarshal([]byte(rec.Operator), v.Last)
	}
}

// messages returns the messages that are not sent, those that are parked last.
func messages(rec *record.Stored) []Message {
	var ms []Message

	for i, list := range [][]record.Message{rec.Outbox, rec.Parked} {
		for _, m := range list {
			ms = append(ms, Message{
				ID: m.ID(rec.Tx), To: m.To, Group: m.Group, Bytes: max(len(m.Body), len(m.Sealed)), Sealed: m.IsSealed(), Parked: i == 1, Cause: m.Cause,
			})
		}
	}

	return ms
}

// hasMessages reports whether the record has messages, also in a form that cannot be read.
func (v *View) hasMessages() bool {
	return v.stored[record.Outbox] != nil || v.stored[record.Parked] != nil
}

// showResult shows a result by the type of its attribute: the bytes themselves, the name of a large result that is kept
// elsewhere, or the mark of one that was not kept.
func (v *View) showResult(stored types.AttributeValue) {
	stored, v.ResultSealed = record.ResultIn(stored)

	switch result := stored.(type) {
	case *types.AttributeValueMemberB:
		if v.ResultBytes = len(result.Value); !v.ResultSealed {
			v.Result = result.Value
		}
	case *types.AttributeValueMemberM:
		kept, _ := record.KeptResultOf(result)
		v.ResultBytes, v.ResultName = kept.Length, kept.Name
	case *types.AttributeValueMemberNULL:
		v.ResultOmitted = true
	}
}

func (r *Records) status(rec *record.Stored) Status {
	now := r.opts.Now()

	switch {
	case rec.Expired(now):
		return Expired
	case rec.State == record.Completed:
		return Completed
	case rec.State == record.Failed:
		return Failed
	case rec.Lease != nil && *rec.Lease <= 0:
		return Released
	case rec.LeaseOver(now, r.opts.ClockSkew):
		return Stuck
	default:
		return Held
	}
}

// The seconds of the years 1 to 9999, beyond which no time can be written as JSON.
const (
	firstSecond = -62135596800 // the zero time
	lastSecond  = 253402300799
)

// milliseconds returns a time of a record. One behind the year 9999, as another program may have written it in nanoseconds, is
// shown as the end of that year: a list must not end at it.
func milliseconds(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}

	return time.UnixMilli(max(firstSecond*1000, min(n, lastSecond*1000))).UTC()
}

func seconds(n int64) time.Time { return milliseconds(max(firstSecond, min(n, lastSecond)) * 1000) }
