// Package record defines how a record is stored: its attributes, its states and its texts. Package idemddb, which writes records,
// and the packages around it, which find, show and change them, read a record here.
package record

import (
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Stored is an item as read. Pointers tell an absent attribute from a zero.
type Stored struct {
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

	Outbox []Message `dynamodbav:"outbox"`
	Parked []Message `dynamodbav:"parked"`

	// A value of another type is ignored, so that the record stays readable.
	Trace         string `dynamodbav:"-"` // of the last claim
	PreviousTrace string `dynamodbav:"-"` // of the claim before
	Operator      string `dynamodbav:"-"` // the last change of an operator, as package operate writes it
	Shard         string `dynamodbav:"-"` // in the index of unsent messages; "" for none
	NoTakeover    bool   `dynamodbav:"-"` // the last claim was made with Options.NoTakeover

	Expires int64 `dynamodbav:"-"` // epoch seconds, under the user's name for it

	// Result is nil, B, M for one that is sealed or is kept outside of its record, or NULL for one that was omitted.
	Result types.AttributeValue `dynamodbav:"-"`
}

// ErrCorrupt is the error for an item that cannot be read as a record.
var ErrCorrupt = errors.New("record unreadable")

// Read reads an item, or returns ErrCorrupt with the reason for which the item is no record that this package knows.
func Read(item map[string]types.AttributeValue, ttlAttribute string) (*Stored, error) {
	rec, err := Inspect(item, ttlAttribute)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCorrupt, err)
	}

	return rec, nil
}

// Inspect reads what can be read of an item. An error says why the item is no record that this package knows. An unknown version
// is reported before anything else, because nobody can know what else stands in such a record.
func Inspect(item map[string]types.AttributeValue, ttlAttribute string) (*Stored, error) {
	rec, unread := readAttributes(item)
	rec.Result, rec.Operator, rec.Shard = item[Result], TextOf(item[Operator]), TextOf(item[DueNS])
	rec.Trace, rec.PreviousTrace = KeptTrace(TextOf(item[Trace])), KeptTrace(TextOf(item[PrevTrace]))

	version, hasVersion := NumberOf(item[Version])
	expires, hasExpires := NumberOf(item[ttlAttribute])
	noTakeover, _ := NumberOf(item[NoTakeover])
	rec.Expires, rec.NoTakeover = expires, noTakeover == 1

	switch {
	case !hasVersion:
		return rec, fmt.Errorf("it has no version (attribute %s): not a record of this package", Version)
	case version != FormatVersion:
		return rec, fmt.Errorf("it has format version %d, this package knows %d: deploy the version that wrote it", version, FormatVersion)
	case unread != nil:
		return rec, unread
	case !hasExpires:
		return rec, fmt.Errorf("attribute %s is not a number of seconds", ttlAttribute)
	default:
		return rec, rec.validate()
	}
}

// readAttributes reads the attributes of an item. If some of them cannot be read, it leaves these out as a whole, and the error
// says why the first of them by name cannot be read.
func readAttributes(item map[string]types.AttributeValue) (*Stored, error) {
	rec := &Stored{}
	if attributevalue.UnmarshalMap(item, rec) == nil {
		return rec, nil
	}

	// UnmarshalMap has stopped at the first of them that it met, in no order. What it has read until then is not used.
	rec = &Stored{}

	var unread error

	for _, name := range slices.Sorted(maps.Keys(item)) {
		next := *rec
		if err := attributevalue.UnmarshalMap(map[string]types.AttributeValue{name: item[name]}, &next); err == nil {
			rec = &next
		} else if unread == nil {
			unread = fmt.Errorf("attribute %s: %w", name, err)
		}
	}

	return rec, unread
}

// IsOwn reports whether the record was last claimed with this token.
func (r *Stored) IsOwn(token string) bool { return *r.Token == token }

// Holder returns the request id in the token, for people; "" if there is none.
func (r *Stored) Holder() string {
	id, _, ok := strings.Cut(aws.ToString(r.Token), TokenMark)
	if !ok {
		return ""
	}

	return id
}

// Expired reports whether the retention is over at now.
func (r *Stored) Expired(now time.Time) bool { return r.Expires <= now.Unix() }

// LeaseOver reports whether the key may be taken over at now. A record without a lease (a foreign writer) keeps it to its end.
func (r *Stored) LeaseOver(now time.Time, skew time.Duration) bool {
	return r.Lease != nil && *r.Lease < now.Add(-skew).UnixMilli()
}

// Until returns when the holder's lease ends.
func (r *Stored) Until() time.Time {
	if r.Lease == nil {
		return time.Unix(r.Expires, 0)
	}

	return time.UnixMilli(*r.Lease)
}

// Matches reports whether an input with this stored fingerprint is the one that the record stands for. It returns true if either
// of them has no fingerprint, or if the record has one of another version.
func (r *Stored) Matches(fingerprint string) bool {
	return fingerprint == "" || r.Fingerprint == nil || *r.Fingerprint == fingerprint || !strings.HasPrefix(*r.Fingerprint, FingerprintVersion)
}

func (r *Stored) validate() error {
	switch r.State {
	case InProgress, Completed, Failed:
	default:
		return fmt.Errorf("attribute %s is none of its states", State)
	}

	if r.Token == nil || r.Fence == nil {
		return fmt.Errorf("attribute %s or %s is missing", Token, Fence)
	}

	if r.Result != nil && !IsResult(r.Result) {
		return fmt.Errorf("attribute %s is neither binary nor the name of a result", Result)
	}

	return nil
}

// MaxTrace is the longest traceparent that is kept, in bytes. One of W3C Trace Context has 55.
const MaxTrace = 128

// KeptTrace returns the text if a record may keep it as a traceparent, else "".
func KeptTrace(text string) string {
	if len(text) > MaxTrace {
		return ""
	}

	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return ""
		}
	}

	return text
}

// Text returns an attribute that holds a text.
func Text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

// Number returns an attribute that holds a whole number.
func Number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// TextOf returns the text of an attribute, and "" for an attribute that is missing or of another type.
func TextOf(value types.AttributeValue) string {
	s, _ := value.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}

	return s.Value
}

// NumberOf returns a whole number, and false for an attribute that is missing or anything else.
func NumberOf(value types.AttributeValue) (n int64, ok bool) {
	number, _ := value.(*types.AttributeValueMemberN)
	if number == nil {
		return 0, false
	}

	n, err := strconv.ParseInt(number.Value, 10, 64)

	return n, err == nil
}

// A long key is stored as DigestPrefix and its digest. The first HashLength bytes of that stand for the key in logs, whether it
// is long or not.
const (
	DigestPrefix = "sha256:"
	HashLength   = len(DigestPrefix) + 12

	maxKey = 1024 // bytes; a longer key is stored as its digest
)

// ErrBadKey is the error for a key that no record can have.
var ErrBadKey = errors.New("bad key")

// ErrNoRecord is the error for a key that has no record.
var ErrNoRecord = errors.New("no record")

// Partition returns the value of the partition key for an idempotency key of a namespace, or ErrBadKey. If hashed is true, every
// key is stored as its digest.
//
// A long key is stored as its digest. So is a short one that looks like a digest, so that nobody can choose a key that stands for
// a long one.
func Partition(namespace, key string, hashed bool) (string, error) {
	switch {
	case key == "":
		return "", fmt.Errorf("%w: it is empty", ErrBadKey)
	case !utf8.ValidString(key):
		return "", fmt.Errorf("%w: it is not UTF-8; encode it, such as in hex", ErrBadKey)
	case hashed || len(key) > maxKey || strings.HasPrefix(key, DigestPrefix):
		return namespace + "#" + DigestPrefix + Digest(key), nil
	default:
		return namespace + "#" + key, nil
	}
}

// FingerprintOf returns a fingerprint as the record holds it, "" for none: the version of the algorithm and a digest, so that
// neither its length nor what it shows depends on the caller. Another algorithm gets another number and never matches this one's.
func FingerprintOf(fingerprint string) string {
	if fingerprint == "" {
		return ""
	}

	return FingerprintVersion + Digest(fingerprint)
}

// KeyHash returns what stands for a key in messages and logs.
func KeyHash(key string) string { return (DigestPrefix + Digest(key))[:HashLength] }

// StoredKeyHash returns the same for a key as it is stored, perhaps as its digest.
func StoredKeyHash(stored string) string {
	if strings.HasPrefix(stored, DigestPrefix) && len(stored) >= HashLength {
		return stored[:HashLength]
	}

	return KeyHash(stored)
}

// Digest returns the SHA-256 of a text, in URL-safe base64.
func Digest(text string) string { return DigestText(sha256.Sum256([]byte(text))) }

// DigestText returns a SHA-256 in URL-safe base64.
func DigestText(sum [sha256.Size]byte) string { return base64.RawURLEncoding.EncodeToString(sum[:]) }
