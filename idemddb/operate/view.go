package operate

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Status is what a record means at the moment at which it was read.
type Status string

// The statuses of a record.
const (
	Held       Status = "held"       // a worker has claimed the key, and its lease is not over
	Stuck      Status = "stuck"      // the lease of the worker ran out: it died or is late; the next claim takes the key over
	Released   Status = "released"   // the claim was given back; the next claim has the key
	Completed  Status = "completed"  // the work is done; claims are answered from the record
	Failed     Status = "failed"     // the key ended for good; claims are refused
	Expired    Status = "expired"    // the retention is over and Time to Live has not deleted the record; the key is new
	Unreadable Status = "unreadable" // the record is of another format version, or not one of this package
)

// View is a record as it was read. A change is made only if the record is still as its View says. A View that did not come from Look, List
// or a change cannot be changed. All times are by the clocks of the workers that wrote them; zero means that the record does not say.
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

	Result        []byte `json:"-"`                        // it may hold what should not be shown
	ResultBytes   int    `json:"result_bytes,omitempty"`   // length of the result, also of one in Options.Results
	ResultName    string `json:"result_name,omitempty"`    // of a large one, which idemddb.Options.Results keeps
	ResultOmitted bool   `json:"result_omitted,omitempty"` // the work had a result that was not kept

	Messages []Message `json:"messages,omitempty"` // that are not sent

	Last       *Change `json:"last_change,omitempty"` // the last change of an operator
	Unreadable string  `json:"unreadable,omitempty"`  // why the record cannot be read

	stored item
}

// Message is a message of a completed record that is not sent. Its body is not shown.
type Message struct {
	ID     string `json:"id"`              // the id with which it is sent
	To     string `json:"to"`              // the entry of Options.Senders
	Group  string `json:"group,omitempty"` // the message group; "" for none
	Bytes  int    `json:"bytes"`           // of its body
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

// attributes holds the attributes of a record that a View shows. Package idemddb decides whether the record is readable.
type attributes struct {
	State    string  `dynamodbav:"st"`
	Owner    string  `dynamodbav:"own"`
	Fence    int64   `dynamodbav:"fence"`
	Lease    *int64  `dynamodbav:"lease"`
	Attempts int     `dynamodbav:"att"`
	Born     int64   `dynamodbav:"born"`
	Done     int64   `dynamodbav:"done"`
	Ends     int64   `dynamodbav:"ends"`
	Cause    string  `dynamodbav:"err"`
	Tx       string  `dynamodbav:"tx"`
	Outbox   []entry `dynamodbav:"outbox"`
	Parked   []entry `dynamodbav:"parked"`
	Op       string  `dynamodbav:"op"`
}

type entry struct {
	Index int    `dynamodbav:"i"`
	To    string `dynamodbav:"to"`
	Body  string `dynamodbav:"body"`
	Group string `dynamodbav:"group"`
	Cause string `dynamodbav:"cause"`
}

const (
	hashedKey  = "sha256:" // the beginning of a key that is stored as its digest
	hashLength = 12        // characters of a digest in logs
	tokenMark  = "/"       // ends the request id in an owner token
)

// view shows a record that was read.
func (r *Records) view(stored item) View {
	v := View{stored: stored, Namespace: r.store.Namespace(), Trace: textOf(stored["trace"])}
	v.Key = strings.TrimPrefix(textOf(stored[r.opts.PartitionKey]), v.Namespace+"#")
	v.Hash = keyHash(v.Key)

	a, err := r.decode(stored)
	v.show(&a)
	v.showResult(stored["res"])

	expires := seconds(numberOf(stored[r.opts.TTLAttribute]))

	v.Ends = expires
	if a.Ends != 0 { // there are messages, and the record does not expire before they are sent
		v.Ends = seconds(a.Ends)
	}

	if err != nil {
		v.Status, v.Unreadable = Unreadable, err.Error()

		return v
	}

	v.Status = r.status(&v, a.Lease, expires)

	return v
}

// decode returns the attributes that can be decoded, and why the record is unreadable, or nil. The error of the store
// replaces that of the decoder, because the store checks the format version before it reads anything else.
func (r *Records) decode(stored item) (attributes, error) {
	var a attributes

	// What cannot be decoded is not shown, and the record is shown as unreadable.
	err := attributevalue.UnmarshalMap(stored, &a)
	if unreadable := r.store.Readable(stored); unreadable != nil {
		err = unreadable
	}

	return a, err
}

// show copies the attributes into the view.
func (v *View) show(a *attributes) {
	v.State, v.Owner, v.Fence, v.Attempts, v.Cause = a.State, a.Owner, a.Fence, a.Attempts, a.Cause
	v.Born, v.Done = milliseconds(a.Born), milliseconds(a.Done)

	if a.Lease != nil && *a.Lease > 0 {
		v.Lease = milliseconds(*a.Lease)
	}

	if id, _, ok := strings.Cut(a.Owner, tokenMark); ok {
		v.Request = id
	}

	v.Messages = a.messages()

	if a.Op != "" {
		v.Last = &Change{Why: a.Op} // another program may have written another text
		_ = json.Unmarshal([]byte(a.Op), v.Last)
	}
}

// messages returns the messages that are not sent, those that are parked last.
func (a *attributes) messages() []Message {
	var ms []Message

	for i, list := range [][]entry{a.Outbox, a.Parked} {
		for _, m := range list {
			ms = append(ms, Message{
				ID: messageID(a.Tx, m.Index), To: m.To, Group: m.Group, Bytes: len(m.Body), Parked: i == 1, Cause: m.Cause,
			})
		}
	}

	return ms
}

// showResult shows a result by the type of its attribute: the bytes themselves, the name of a large result that is kept elsewhere, or the
// mark of one that was not kept.
func (v *View) showResult(stored types.AttributeValue) {
	switch result := stored.(type) {
	case *types.AttributeValueMemberB:
		v.Result, v.ResultBytes = result.Value, len(result.Value)
	case *types.AttributeValueMemberM:
		v.ResultBytes = int(numberOf(result.Value["len"]))
		v.ResultName = textOf(result.Value["name"])
	case *types.AttributeValueMemberNULL:
		v.ResultOmitted = true
	}
}

// textOf returns the text of an attribute, and "" for an attribute that is missing or of another type. A view is shown without such a text.
func textOf(value types.AttributeValue) string {
	s, ok := value.(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}

	return s.Value
}

func (r *Records) status(v *View, lease *int64, expires time.Time) Status {
	now := r.opts.Now()

	switch {
	case expires.Unix() <= now.Unix():
		return Expired
	case v.State == stateCompleted:
		return Completed
	case v.State == stateFailed:
		return Failed
	case lease != nil && *lease <= 0:
		return Released
	case lease != nil && v.Lease.Before(now.Add(-r.opts.ClockSkew)):
		return Stuck
	default:
		return Held
	}
}

// keyHash returns the hash of a stored key as it stands in logs.
func keyHash(stored string) string {
	if strings.HasPrefix(stored, hashedKey) && len(stored) >= len(hashedKey)+hashLength {
		return stored[:len(hashedKey)+hashLength]
	}

	return idemddb.KeyHash(stored)
}

// messageID is the id of a message, as its receiver sees it.
func messageID(tx string, index int) string { return tx + "-" + strconv.Itoa(index) }

func milliseconds(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}

	return time.UnixMilli(n).UTC()
}

func seconds(n int64) time.Time { return milliseconds(n * 1000) }

func numberOf(value types.AttributeValue) int64 {
	number, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}

	n, err := strconv.ParseInt(number.Value, 10, 64)
	if err != nil {
		return 0
	}

	return n
}
