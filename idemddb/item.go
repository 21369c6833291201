package idemddb

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/jsonkey"
)

const (
	sortKeyValue = "idemddb"

	maxStoredKey       = 1024 // bytes; a longer key is stored as its digest
	digestPrefix       = "sha256:"
	fingerprintVersion = "1:" // of the algorithm
)

// TextKey returns the idempotency key that lambdawrap.Body makes of a string. Use it for ids that come from outside, such as
// with an HTTP request, so that [Do] and the handler of a queue find the same record:
//
//	idemddb.Do(ctx, store, idemddb.TextKey(paymentID), nil, pay)
//
// The key is the string itself, so that a person can type it. Only a string that begins with '#' gets a second one in front,
// because a single '#' begins every key that lambdawrap makes of something else: a number, a list of parts, a message's id.
// So the string "#123" and the number 123 are two keys. Two different strings never have the same key.
//
// TextKey neither checks nor shortens the key: [Store.Claim] refuses one that is empty or not valid UTF-8 with [ErrBadKey].
func TextKey(s string) string { return jsonkey.Text(s) }

// KeyHash returns the form of a key that stands in messages and logs: keys may hold what should not be there. It is the
// beginning of the key's SHA-256, in URL-safe base64, behind "sha256:".
func KeyHash(key string) string { return digestPrefix + digest(key)[:12] }

// key returns the primary key of the item behind a partition key.
func (s *Store) key(partition string) item {
	key := item{s.opts.PartitionKey: stringValue(partition)}
	if s.opts.SortKey != "" {
		key[s.opts.SortKey] = sortValue
	}

	return key
}

// partition returns the partition key's value for a key, or ErrBadKey.
//
// A long key is stored as its digest; a short one that looks like a digest is, too, so that nobody can choose a key that
// stands for a long one.
func (s *Store) partition(key string) (string, error) {
	switch {
	case key == "":
		return "", fmt.Errorf("%w: it is empty", ErrBadKey)
	case !utf8.ValidString(key):
		return "", fmt.Errorf("%w: it is not UTF-8; encode it, such as in hex", ErrBadKey)
	case s.opts.HashKeys || len(key) > maxStoredKey || strings.HasPrefix(key, digestPrefix):
		return s.namespace + "#" + digestPrefix + digest(key), nil
	default:
		return s.namespace + "#" + key, nil
	}
}

// storedFingerprint is a fingerprint as the record holds it: the algorithm's version and a digest, so that neither its
// length nor what it shows depends on the caller. Another algorithm gets another number and never matches this one's.
func storedFingerprint(fingerprint string) string {
	if fingerprint == "" {
		return ""
	}

	return fingerprintVersion + digest(fingerprint)
}

func digest(text string) string { return digestText(sha256.Sum256([]byte(text))) }

func digestText(sum [sha256.Size]byte) string { return base64.RawURLEncoding.EncodeToString(sum[:]) }

// expiry returns the TTL attribute's value in epoch seconds, rounded up: Retention from now, and never at the lease's end or
// within ClockSkew of it, or the record would die under a holder whose clock is behind.
func (s *Store) expiry(now, lease time.Time) int64 {
	end := now.Add(s.opts.Retention)
	if held := lease.Add(2 * s.opts.ClockSkew); held.After(end) {
		end = held
	}

	return end.Add(time.Second - 1).Unix()
}

// Values that all requests share: never written.
var (
	versionValue            = numberValue(formatVersion)
	zeroValue               = numberValue(0)
	noTraceValue            = stringValue("")
	oneValue                = numberValue(1)
	returnedValue           = numberValue(-1)
	inProgressValue         = stringValue(stateInProgress)
	completedValue          = stringValue(stateCompleted)
	failedValue             = stringValue(stateFailed)
	sortValue               = stringValue(sortKeyValue)
	omittedValue            = &types.AttributeValueMemberNULL{Value: true} // in place of a result that is not kept
	fingerprintVersionValue = stringValue(fingerprintVersion)
)

func stringValue(s string) *types.AttributeValueMemberS {
	return &types.AttributeValueMemberS{Value: s}
}

func numberValue(n int64) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func marshal(v any) types.AttributeValue {
	value, err := attributevalue.Marshal(v)
	if err != nil {
		panic(err) // never: texts and numbers
	}

	return value
}

// ownValues returns the values of the placeholders in condOwn.
func (c *Claim) ownValues() item {
	return item{":mine": stringValue(c.token), ":fence": numberValue(c.fence), ":inprogress": inProgressValue}
}

// heldValues returns the values of the placeholders in condHeld.
func (c *Claim) heldValues() item {
	values := c.ownValues()
	values[":zero"] = zeroValue

	return values
}

// tokenMark ends the request id in an owner token.
const tokenMark = "/"

// newToken returns the owner token of one call of Claim: the record that an earlier try of the same call wrote is recognised by it.
// The request id is there for operators.
func newToken(requestID string) string {
	if requestID == "" {
		return rand.Text()
	}

	return requestID + tokenMark + rand.Text()
}

// requestID is the id of the Lambda invocation; "" outside of Lambda.
func requestID(ctx context.Context) string {
	if lc, ok := lambdacontext.FromContext(ctx); ok {
		return lc.AwsRequestID
	}

	return ""
}

// maxTrace is the longest text of Options.Trace that is kept, in bytes. A traceparent of W3C Trace Context has 55.
const maxTrace = 128

// keptTrace returns the text if a record may hold it, else "".
func keptTrace(text string) string {
	if len(text) > maxTrace {
		return ""
	}

	for i := range len(text) {
		if text[i] <= ' ' || text[i] > '~' {
			return ""
		}
	}

	return text
}
