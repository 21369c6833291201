package audit

// A Kind is the name of a transition: what a change did to a record. Its text is for people and for counts.
type Kind string

// The claims of a key.
const (
	NewClaim   Kind = "new claim"   // there was no item
	ClaimAgain Kind = "claim again" // of a key that was released
	Takeover   Kind = "takeover"    // of a key whose lease ran out, or was given back after a takeover or by an operator
)

// What a worker does with the claim that it holds.
const (
	Extension             Kind = "extension"
	Completion            Kind = "completion"
	CompletionWithEffects Kind = "completion with effects"
	Failure               Kind = "failure"
	Release               Kind = "release"
	Return                Kind = "return" // a release of a claim whose work had not begun: its attempt does not count
)

// What a worker does without a claim of its own.
const (
	GiveUp    Kind = "give-up" // ends the key of a worker that is gone, because of MaxAttempts or NoTakeover
	Reopen    Kind = "reopen"
	Commit    Kind = "commit"
	Rejection Kind = "rejection"
)

// The whole item anew, because the record before was past its end.
const (
	AnewByClaim     Kind = "made anew by claim"
	AnewByCommit    Kind = "made anew by commit"
	AnewByRejection Kind = "made anew by rejection"
)

// What a sender does with the messages of a completed record.
const (
	Removal         Kind = "removal" // of messages that were sent, some or all
	Parking         Kind = "parking" // of messages that can never be sent
	SendingOfParked Kind = "sending of parked"
)

// What an operator does.
const (
	OperatorRelease Kind = "operator's release"
	OperatorFail    Kind = "operator's fail"
	OperatorReopen  Kind = "operator's reopen"
	Stamp           Kind = "stamp"    // who is about to send or forget, and why
	Deletion        Kind = "deletion" // after a stamp that says forget
)

// What happens to a part of a result that is kept beside its record.
const (
	ResultPut      Kind = "result put"
	ResultDeletion Kind = "result deletion" // by an operator, with its record
)

// What is not a write of a worker or an operator.
const (
	TimeToLive      Kind = "Time to Live"     // DynamoDB deleted the record, or a part of a result
	NoChange        Kind = "no change"        // a write that left everything as it was
	OtherAttributes Kind = "other attributes" // another program changed attributes that are not the library's
	NoRecord        Kind = "no record"        // the item is no record, and the change is not judged
)

// Kinds returns all kinds, in the order in which a report lists them.
func Kinds() []Kind {
	return []Kind{
		NewClaim, ClaimAgain, Takeover, Extension, Completion, CompletionWithEffects, Failure, Release, Return, GiveUp, Reopen, Commit,
		Rejection, AnewByClaim, AnewByCommit, AnewByRejection, Removal, Parking, SendingOfParked, OperatorRelease, OperatorFail,
		OperatorReopen, Stamp, Deletion, ResultPut, ResultDeletion, TimeToLive, NoChange, OtherAttributes, NoRecord,
	}
}

// claims reports whether a change of this kind has a new owner token.
func (k Kind) claims() bool {
	switch k {
	case NewClaim, ClaimAgain, Takeover, Commit, Rejection, AnewByClaim, AnewByCommit, AnewByRejection:
		return true
	default:
		return false
	}
}

// completes reports whether a change of this kind completes the key.
func (k Kind) completes() bool {
	return k == Completion || k == CompletionWithEffects || k == Commit || k == AnewByCommit
}

// makesAnew reports whether a change of this kind replaces a record that was past its end.
func (k Kind) makesAnew() bool { return k == AnewByClaim || k == AnewByCommit || k == AnewByRejection }

// sends reports whether a change of this kind is a sender's.
func (k Kind) sends() bool { return k == Removal || k == Parking || k == SendingOfParked }
