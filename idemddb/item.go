package idemddb

import (
	"context"
	"crypto/rand"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

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
