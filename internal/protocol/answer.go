package protocol

import "errors"

// ErrNoContent is a successful answer that lacks what was asked for. Something between the client and DynamoDB answered, or
// dropped the content, so the outcome is unknown.
var ErrNoContent = errors.New("the answer has no content")

// Outcome says what is known of a write after one try of it.
type Outcome int

// The outcomes.
const (
	Applied       Outcome = iota // it was written
	Refused                      // its condition was false: nothing was written
	Taken                        // an INSERT found an item of its key: nothing was written
	Unprocessed                  // DynamoDB did not process the request now, and wrote nothing
	Rejected                     // DynamoDB refused the request for another reason than its condition, and wrote nothing
	Invalid                      // the request can never succeed as it is
	Unknown                      // no answer, or one that leaves it open: it may have been written
	NotShared                    // it must be sent by a request of its own
	EffectRefused                // another item of its transaction was refused, or its record as it would be: nothing was written
)

// Answer is the answer to one try of a write.
type Answer struct {
	Outcome Outcome

	// Item is the one that refused the try. If it was applied: the item as it is now, for an UpdateItem, and as it was before, for a
	// statement that returns it.
	Item Item

	Err      error // nil if it was applied
	IsShared bool  // it was a statement of a shared request

	Refusal *Refusal // if its effect was refused
}

// Step is what an answer asks for.
type Step int

// The steps.
const (
	Done   Step = iota // nothing: the write has its answer
	Other              // the other statement, at once
	Again              // the same once more, after a pause, unless the error is final
	Single             // a request of its own
)

// Refusal says that DynamoDB refused an effect of a part, its record as it would be, or the request.
type Refusal struct {
	Index   int    // of the effect in its part; -1 if the record or the request was refused
	Code    string // DynamoDB's code for the refusal
	Message string // DynamoDB's text for it
	Item    Item
	Cause   error // nil for an effect
}
