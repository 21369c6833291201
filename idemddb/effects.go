package idemddb

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// Effects are written in one transaction with the completion of a claim: all of them exactly when the key is completed, none otherwise.
// So they happen exactly once, whatever dies.
type Effects struct {
	// Items are the caller's own writes, in any table of the account and Region. Each item may occur once. There can be 99 of them beside
	// the record. DynamoDB charges twice the write units of a plain write.
	Items []types.TransactWriteItem

	// Messages are stored in the record and sent after the completion, at least once and each under one id. See [Message].
	Messages []Message

	// Refused says what it means that the condition of one of Items was false: an error that is marked as permanent, as by
	// lambdawrap.Permanent, ends the key; any other error releases it, so that the work runs again. Only [Do] and wrappers call it.
	// If it panics, the key is released, and the error is the *EffectError joined with the panic.
	// Defaults to nil: the error is the *EffectError itself, so the work runs again.
	Refused func(*EffectError) error
}

// EffectError says that DynamoDB refused one of the staged items. Nothing was written, unless Unknown is set, and the claim is still
// held. It unwraps to ErrEffectRefused.
type EffectError struct {
	// Index is the position of the item in Effects.Items, counted over all calls of Stage. It is -1 if DynamoDB refused the request as a
	// whole, because an item is not valid or access to its table is denied, or if it refused the record of the key, because it would be too
	// large.
	Index int
	Code  string                          // DynamoDB's, such as ConditionalCheckFailed
	Item  map[string]types.AttributeValue // the item as it is, if its condition was false

	// Unknown says that an earlier try of the same transaction had no answer, and may be what made the condition false. Then only a
	// write that settles the claim decides: Release, Fail and a new CompleteWith are refused if that try was applied.
	Unknown bool

	refused func(*EffectError) error
	message string // DynamoDB's
	cause   error  // the error of a request that DynamoDB refused as a whole; nil if it refused one item
}

// Error says which item was refused, with the text of DynamoDB.
func (e *EffectError) Error() string {
	if e.cause != nil {
		return "idemddb: the effects were refused: " + e.message
	}

	return fmt.Sprintf("idemddb: effect %d was refused: %s: %s", e.Index, e.Code, e.message)
}

// Unwrap returns ErrEffectRefused, and the SDK's error if the request was refused as a whole.
func (e *EffectError) Unwrap() []error {
	if e.cause == nil {
		return []error{ErrEffectRefused}
	}

	return []error{ErrEffectRefused, e.cause}
}

// meaning returns what Effects.Refused says of the error, or the error itself. If Effects.Refused panics, or its error cannot be read, the
// error is returned together with that panic, because the key must be settled all the same.
func (e *EffectError) meaning() (meaning error) {
	if e.refused == nil || e.Code != protocol.ConditionFailed {
		return e
	}

	defer func() {
		if v := recover(); v != nil {
			meaning = errors.Join(e, panicerror.New("Effects.Refused", v))
		}
	}()

	if err := panicerror.Readable(e.refused(e)); err != nil {
		return err //nolint:wrapcheck // it is the error of the user
	}

	return e
}
