package record

// The attributes of a record besides the key and the TTL attribute, whose names the user chooses. docs/record.md says what they
// mean. A struct tag and an expression cannot name a constant, so both repeat these names.
const (
	Version     = "v"
	State       = "st"
	Token       = "own"
	Fence       = "fence"
	Lease       = "lease"
	Previous    = "prev"
	Took        = "took"
	TookAt      = "tookat"
	Attempts    = "att"
	Born        = "born"
	Fingerprint = "fp"
	Done        = "done"
	Result      = "res"
	Error       = "err"
	Tx          = "tx"
	Outbox      = "outbox"
	Ends        = "ends"
	Due         = "due"
	DueNS       = "due_ns"
	Parked      = "parked"
	Operator    = "op"
	Trace       = "trace"
	PrevTrace   = "ptrace"
	NoTakeover  = "nt"

	Part = "part" // of an item that holds a part of a result, and no other attribute but the TTL attribute
)

// Names are the names of all these attributes.
var Names = []string{
	Version, State, Token, Fence, Lease, Previous, Took, TookAt, Attempts, Born, Fingerprint, Done, Result, Error, Tx, Outbox, Ends, Due, DueNS,
	Parked, Operator, Trace, PrevTrace, NoTakeover, Part,
}

// FormatVersion is the version of the records that this package reads.
const FormatVersion = 1

// The states of a record.
const (
	InProgress = "INPROGRESS"
	Completed  = "COMPLETED"
	Failed     = "FAILED"
)

// TokenMark ends the request id in an owner token.
const TokenMark = "/"

// FingerprintVersion begins a fingerprint and names its algorithm.
const FingerprintVersion = "1:"
