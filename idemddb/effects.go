package idemddb

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/transact"
	"github.com/idemddb/go-idemddb/internal/transactitem"
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
	cause   error  // of a request that was refused as a whole
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

// meaning returns what Effects.Refused says of the error, or the error itself.
func (e *EffectError) meaning() error {
	if e.refused == nil || e.Code != transact.ConditionFailed {
		return e
	}

	if err := e.refused(e); err != nil {
		return err
	}

	return e
}

// isPermanent reports whether an error is marked as one that no retry mends.
func isPermanent(err error) bool {
	p, ok := errors.AsType[interface {
		error
		Permanent() bool
	}](err)

	return ok && p.Permanent()
}

// staging holds what a handler stages, until its claim is completed.
type staging struct {
	store     *Store
	key       string
	partition string // of the own record, which must not be staged

	mu      sync.Mutex
	staged  bool // Stage was called, perhaps with nothing
	closed  bool // Stage is refused: the claim was settled, or its handler did not return in time
	effects Effects
	failed  error    // ErrNotStaged with the first error of Stage: the work must not count as done without what was refused
	sent    *Effects // of a CompleteWith that is under way, or whose outcome is not known
}

// stagingOf returns the staging of the innermost work that runs with a context.
func stagingOf(ctx context.Context) *staging {
	switch work := ctx.Value(workKey{}).(type) {
	case *Claim:
		return &work.staging
	case *staging:
		return work
	default:
		return nil
	}
}

// Stage adds effects to the completion of the claim whose work runs with this context: they are written when the work has succeeded, in
// one transaction with its completion. If the work fails, they are dropped. Stage(ctx, Effects{}) says that there is nothing to
// write. Stage copies what it is given and is safe for concurrent use. It makes no request.
//
// Errors: ErrNoClaim if the context has no claim, as in lambdawrap.Batch; ErrFenced if the claim was settled, or its handler did not return
// in time; and an error that names the item or the message if DynamoDB could only refuse it: more than 99 items, an item twice, the record
// itself, more than 4 MB of items, messages that do not fit into the record. Work that goes on after that error, and returns none, is not
// completed: its completion is ErrNotStaged, unless [Unstage] was called since.
func Stage(ctx context.Context, e Effects) error {
	s := stagingOf(ctx)
	if s == nil {
		return fmt.Errorf("idemddb: stage: %w", ErrNoClaim)
	}

	return s.add(e)
}

// Unstage forgets what was staged with this context, and what Stage refused, for a handler that tries again inside of itself.
func Unstage(ctx context.Context) {
	if s := stagingOf(ctx); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()

		s.effects, s.staged, s.failed = Effects{}, false, nil
	}
}

func (s *staging) add(e Effects) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.closed {
		return fmt.Errorf("idemddb: stage: key %s: its claim was settled, or its handler did not return in time: %w",
			KeyHash(s.key), ErrFenced)
	}

	all, err := s.with(e)
	if err == nil {
		s.effects, s.staged = all, true
	} else if s.failed == nil {
		s.failed = fmt.Errorf("%w: %w", ErrNotStaged, err)
	}

	return err
}

// failure says why work is not done although it returned no error: Stage refused what it has to write.
func (s *staging) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.failed
}

// with returns what is staged together with e, which it copies. It is called with s.mu held.
func (s *staging) with(e Effects) (Effects, error) {
	all := Effects{
		Items:    slices.Concat(s.effects.Items, transactitem.Copy(e.Items)),
		Messages: slices.Concat(s.effects.Messages, copyMessages(e.Messages)),
	}

	if err := s.store.checkEffects(s.partition, all); err != nil {
		return Effects{}, fmt.Errorf("idemddb: stage: %w", err)
	}

	first, earlier := len(s.effects.Items), s.effects.Refused

	all.Refused = func(refused *EffectError) error {
		meaning := e.Refused
		if refused.Index < first {
			meaning = earlier
		}

		if meaning == nil {
			return refused
		}

		return meaning(refused)
	}

	return all, nil
}

// take ends the staging and returns what a completion writes. After a CompleteWith whose outcome is not known, it returns the same effects
// again.
func (s *staging) take() Effects {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.closed = true

	if s.sent != nil {
		return *s.sent
	}

	return s.effects
}

// takeWith is take for a CompleteWith. The effects that CompleteWith was given are not staged: if it is refused, the next call has its own.
func (s *staging) takeWith(e Effects) (Effects, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	all, err := s.with(e)
	if err != nil {
		return Effects{}, err
	}

	s.closed = true
	s.sent = &all

	return all, nil
}

// end ends the staging without a completion.
func (s *staging) end() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.closed = true
}

// reopen lets the work stage again: nothing of what was taken is written.
func (s *staging) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.closed, s.sent = false, nil
}

// written forgets what was taken: it is committed.
func (s *staging) written() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.effects, s.sent = Effects{}, nil
}
