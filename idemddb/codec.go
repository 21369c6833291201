package idemddb

import "context"

// Codec encrypts or compresses results, answers of HTTP and messages before they are stored, and undoes that when they are read.
// The record, and what is kept beside it, then hold of them only the bytes that Seal returned. It must be safe for concurrent
// use.
//
// A Store with a Codec still reads what was stored without one. Every process that reads sealed bytes needs a Codec that opens
// them: the workers and, for messages, the sweep. To rotate a key, first give each of them a Codec that opens both, and then let
// it seal with the new key; the old key is needed until the last record that it sealed has ended.
//
// What is not sealed: the idempotency key (Options.HashKeys), the text of the last failure, the target of a message
// ([Message].To), and the items of [Effects], which are the caller's own.
type Codec interface {
	// Seal returns what is stored in the place of plain, which it must not change. It may return something else each time. If a
	// result cannot be sealed, its key is completed without it, as one that is too large: the work is done. If a message cannot be
	// sealed, [Stage], [Claim.CompleteWith] or [Store.Commit] returns the error and writes nothing. Seal must return when ctx ends,
	// which for a result is after 5 s at the latest.
	Seal(ctx context.Context, plain []byte, of Sealed) ([]byte, error)

	// Open returns what Seal was given. of is the same as then. After an error the call that needs the result returns [ErrCorrupt],
	// unless ctx has ended: the key stays completed, its work does not run again, and a later call opens the result again. A message
	// that cannot be opened is not sent and stays in its record, with an event [KindUnsent], and so do those behind it to its target.
	Open(ctx context.Context, sealed []byte, of Sealed) ([]byte, error)
}

// Sealed says what a [Codec] seals or opens. It holds nothing that is confidential.
type Sealed struct {
	Namespace string // of the Store

	// Record stands for the record: the SHA-256 of its partition key, in URL-safe base64 without padding. The same key of another
	// namespace has another one.
	Record string

	// Target is the [Message].To of a message; "" for a result.
	Target string
}

// AssociatedData binds what is sealed to its place: as the associated data of an AEAD, it keeps what was stored for one record,
// or for another target, from being opened for this one. It is the same when the bytes are opened, and will never change: Record,
// a slash and Target.
func (s Sealed) AssociatedData() []byte { return []byte(s.Record + "/" + s.Target) }
