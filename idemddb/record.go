package idemddb

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Record is what a completed key answers.
type Record struct {
	Key           string    // as it was claimed
	Fence         int64     // of the claim that completed it
	Trace         string    // that claim's traceparent, by Options.Trace; "" for none
	Attempts      int       // claims whose work began, that one included
	Result        []byte    // nil if the work had none, if it was omitted, or with ClaimOptions.SkipResult; the caller's own copy
	ResultOmitted bool      // the work had a result that was not kept: too large, not encodable, or gone from Options.Results
	CompletedAt   time.Time // by the clock of the worker that completed it; zero if the record does not say
	ExpiresAt     time.Time // the end of its retention, whole seconds
}

// The attributes of a record besides the key and the TTL attribute, whose names Options holds. doc.go lists what they mean.
const (
	attrVersion     = "v"
	attrState       = "st"
	attrToken       = "own"
	attrFence       = "fence"
	attrLease       = "lease"
	attrPrevious    = "prev"
	attrAttempts    = "att"
	attrBorn        = "born"
	attrFingerprint = "fp"
	attrDone        = "done"
	attrResult      = "res"
	attrError       = "err"
	attrTx          = "tx"
	attrOutbox      = "outbox"
	attrEnds        = "ends"
	attrDue         = "due"
	attrDueNS       = "due_ns"
	attrParked      = "parked"
	attrOperator    = "op" // of package operate
	attrTrace       = "trace"
	attrPrevTrace   = "ptrace"
)

var attributeNames = []string{
	attrVersion, attrState, attrToken, attrFence, attrLease, attrPrevious, attrAttempts, attrBorn, attrFingerprint,
	attrDone, attrResult, attrError, attrTx, attrOutbox, attrEnds, attrDue, attrDueNS, attrParked, attrOperator,
	attrTrace, attrPrevTrace,
}

const (
	formatVersion = 1

	stateInProgress = "INPROGRESS"
	stateCompleted  = "COMPLETED"
	stateFailed     = "FAILED"

	maxErrorText = 256 // bytes of err: a record without a result stays below 1 KB unless its key is long
)

type item = map[string]types.AttributeValue

// storedRecord is an item as read. Pointers tell an absent attribute from a zero.
type storedRecord struct {
	State       string  `dynamodbav:"st"`
	Token       *string `dynamodbav:"own"`
	Fence       *int64  `dynamodbav:"fence"`
	Lease       *int64  `dynamodbav:"lease"`
	Previous    int64   `dynamodbav:"prev"`
	Attempts    int     `dynamodbav:"att"`
	Born        int64   `dynamodbav:"born"`
	Fingerprint *string `dynamodbav:"fp"`
	Done        int64   `dynamodbav:"done"`
	Error       string  `dynamodbav:"err"`
	Tx          string  `dynamodbav:"tx"`
	Ends        int64   `dynamodbav:"ends"` // the end of the retention, while there are messages

	Outbox []storedMessage `dynamodbav:"outbox"`
	Parked []parkedMessage `dynamodbav:"parked"`

	Trace         string `dynamodbav:"-"` // of the last claim
	PreviousTrace string `dynamodbav:"-"` // of the claim before

	Expires int64                `dynamodbav:"-"` // epoch seconds, under the user's name for it
	Result  types.AttributeValue `dynamodbav:"-"` // nil, B, M for one in Options.Results, or NULL for one that was omitted
}

// decode reads an item. An error is ErrCorrupt: the record is of another version, or not one of ours.
func (s *Store) decode(stored item) (*storedRecord, error) {
	if err := checkVersion(stored); err != nil {
		return nil, err
	}

	rec := &storedRecord{
		Result: stored[attrResult], Trace: traceAt(stored, attrTrace), PreviousTrace: traceAt(stored, attrPrevTrace),
	}
	if err := attributevalue.UnmarshalMap(stored, rec); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}

	expires, ok := numberAt(stored, s.opts.TTLAttribute)
	if !ok {
		return nil, fmt.Errorf("%w: attribute %s is not a number of seconds", ErrCorrupt, s.opts.TTLAttribute)
	}

	rec.Expires = expires

	return rec, rec.validate()
}

// checkVersion is called before anything else is read, because nobody can know what else stands in a record of another version.
func checkVersion(stored item) error {
	version, ok := numberAt(stored, attrVersion)
	if !ok {
		return fmt.Errorf("%w: it has no version (attribute %s): not a record of this package", ErrCorrupt, attrVersion)
	}

	if version != formatVersion {
		return fmt.Errorf("%w: it has format version %d, this package knows %d: deploy the version that wrote it",
			ErrCorrupt, version, formatVersion)
	}

	return nil
}

func (r *storedRecord) validate() error {
	switch r.State {
	case stateInProgress, stateCompleted, stateFailed:
	default:
		return fmt.Errorf("%w: attribute %s is none of its states", ErrCorrupt, attrState)
	}

	if r.Token == nil || r.Fence == nil {
		return fmt.Errorf("%w: attribute %s or %s is missing", ErrCorrupt, attrToken, attrFence)
	}

	switch r.Result.(type) {
	case nil, *types.AttributeValueMemberB, *types.AttributeValueMemberNULL:
		return nil
	}

	if _, ok := keptResultOf(r.Result); !ok {
		return fmt.Errorf("%w: attribute %s is neither binary nor the name of a result", ErrCorrupt, attrResult)
	}

	return nil
}

// record returns the answer of a completed key.
func (r *storedRecord) record(key string) *Record {
	rec := &Record{
		Key:       key,
		Fence:     *r.Fence,
		Trace:     r.Trace,
		Attempts:  r.Attempts,
		ExpiresAt: time.Unix(r.Expires, 0),
	}

	if r.Ends != 0 {
		rec.ExpiresAt = time.Unix(r.Ends, 0)
	}

	if r.Done != 0 {
		rec.CompletedAt = time.UnixMilli(r.Done)
	}

	switch result := r.Result.(type) {
	case *types.AttributeValueMemberB:
		rec.Result = result.Value
	case *types.AttributeValueMemberNULL:
		rec.ResultOmitted = true
	}

	return rec
}

// isOwn reports whether the record was last claimed with this token.
func (r *storedRecord) isOwn(token string) bool { return *r.Token == token }

// holder returns the request id in the token, for people.
func (r *storedRecord) holder() string {
	id, _, ok := strings.Cut(*r.Token, tokenMark)
	if !ok {
		return ""
	}

	return id
}

// expired reports whether the retention is over at now.
func (r *storedRecord) expired(now time.Time) bool { return r.Expires <= now.Unix() }

// leaseOver reports whether a taker may have the key at now. A record without a lease (a foreign writer) keeps it to its end.
func (r *storedRecord) leaseOver(now time.Time, skew time.Duration) bool {
	return r.Lease != nil && *r.Lease < now.Add(-skew).UnixMilli()
}

// until returns when the holder's lease ends.
func (r *storedRecord) until() time.Time {
	if r.Lease == nil {
		return time.Unix(r.Expires, 0)
	}

	return time.UnixMilli(*r.Lease)
}

// matches reports whether an input with this stored fingerprint is the one that the record stands for. It returns true if either of them
// has no fingerprint, or if the record has one of another version.
func (r *storedRecord) matches(fingerprint string) bool {
	return fingerprint == "" || r.Fingerprint == nil || *r.Fingerprint == fingerprint || !strings.HasPrefix(*r.Fingerprint, fingerprintVersion)
}

// traceAt reads a traceparent from a record. Any other value counts as none, because it must not make the record unreadable.
func traceAt(stored item, name string) string {
	text, ok := stored[name].(*types.AttributeValueMemberS)
	if !ok {
		return ""
	}

	return keptTrace(text.Value)
}

// numberAt reads a whole number; ok is false if there is none under that name.
func numberAt(it item, name string) (n int64, ok bool) {
	value, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}

	n, err := strconv.ParseInt(value.Value, 10, 64)

	return n, err == nil
}
