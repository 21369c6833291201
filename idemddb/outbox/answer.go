package outbox

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
)

// ErrPermanent is [idemddb.ErrUnsendable]: an answer that wraps it parks the message. It has a name here for senders of your own.
var ErrPermanent = idemddb.ErrUnsendable

// errNoAnswer is the answer for a message that the service's answer leaves out. The message may have been accepted.
var errNoAnswer = errors.New("the answer does not say what became of the message")

// entryError is what a service says of one message of a request that it accepted as a whole.
type entryError struct{ smithy.GenericAPIError }

func newEntryError(code, message *string, senderFault bool) error {
	e := &entryError{smithy.GenericAPIError{Code: aws.ToString(code), Message: aws.ToString(message)}}
	if senderFault {
		e.Fault = smithy.FaultClient
	}

	return e
}

// answer is the answer of Send for a message, made from what the request said of it.
func answer(target string, err error) error {
	switch {
	case err == nil:
		return nil
	case isPermanent(err):
		return fmt.Errorf("outbox: %s: %w: %w", target, ErrPermanent, err)
	default:
		return fmt.Errorf("outbox: %s: %w", target, err)
	}
}

// isPermanent reports whether no later try can send the message. For a single message the service says whose fault the failure
// is. For a whole request it does not, and the SDK calls throttled and denied requests faults of the client, too; so their codes
// must be known.
func isPermanent(err error) bool {
	if entry, ok := errors.AsType[*entryError](err); ok {
		return entry.Fault == smithy.FaultClient && !mayPass(entry.Code)
	}

	return isRefusal(errorCode(err))
}

// isRefusal reports whether a code means that the same request would be refused again.
func isRefusal(code string) bool { return isInvalid(code) || isGone(code) }

// isGone reports whether a code means that the target does not exist.
func isGone(code string) bool {
	switch code {
	case "QueueDoesNotExist", "NonExistentQueue", // SQS
		"NotFound",                  // SNS
		"ResourceNotFoundException": // EventBridge
		return true
	default:
		return false
	}
}

// isInvalid reports whether a code is for what the request contains: a size, a character, an attribute, a group.
func isInvalid(code string) bool {
	switch code {
	case "BatchRequestTooLong", "RequestEntityTooLarge", "RequestEntityTooLargeException",
		"InvalidMessageContents", "MalformedDetail",
		"InvalidAttributeName", "InvalidAttributeValue",
		"InvalidParameter", "InvalidParameterValue", "InvalidParameterValueException", "ParameterValueInvalid", "InvalidArgument",
		"ValidationError", "ValidationException":
		return true
	default:
		return false
	}
}

// mayPass reports whether a refusal is one of the rate, of a permission or of a KMS key. A service may call it the sender's
// fault, but time or an operator mends it.
func mayPass(code string) bool {
	code = strings.ToLower(code)

	return strings.Contains(code, "throttl") || strings.Contains(code, "denied") || strings.Contains(code, "authoriz") ||
		strings.HasPrefix(code, "kms")
}

// errorCode is the service's code for an error, or "" for an error that is not the service's. SQS puts its name before some
// codes.
func errorCode(err error) string {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return ""
	}

	return strings.TrimPrefix(api.ErrorCode(), "AWS.SimpleQueueService.")
}

// entryAnswers collects the answers for the messages of one request whose entries have their indexes as ids. A message is sent if
// it stands among the successful and not among the failed.
type entryAnswers []error

func newEntryAnswers(n int) entryAnswers {
	answers := make(entryAnswers, n)
	for i := range answers {
		answers[i] = errNoAnswer
	}

	return answers
}

// set ignores an id that the request did not have.
func (a entryAnswers) set(id *string, err error) {
	if i, parseErr := strconv.Atoi(aws.ToString(id)); parseErr == nil && i >= 0 && i < len(a) {
		a[i] = err
	}
}
