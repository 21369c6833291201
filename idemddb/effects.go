package idemddb

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Effects are written in one transaction with the completion of a claim: all of them exactly when the key is completed, none otherwise.
// So they happen exactly once, whatever dies.
type Effects struct {
	// Items are the caller's own writes, in any table of the account and Region. An item may stand in them once. With the record there
	// can be 99 of them. DynamoDB charges twice the write units of a plain write.
	Items []types.TransactWriteItem

	// Messages are stored in the record and sent after the completion, at least once and each under one id. See [Message].
	Messages []Message

	// Refused says what it means that the condition of one of Items was false: an error that is marked as permanent, as by
	// lambdawrap.Permanent, ends the key; any other error releases it, so that the work runs again. Only [Do] and wrappers ask it.
	// Nil: the *EffectError itself, so the work runs again.
	Refused func(*EffectError) error
}

// EffectError says that DynamoDB refused one of the staged items. Nothing was written, unless Unknown is set, and the claim is still
// held. It unwraps to ErrEffectRefused.
type EffectError struct {
	Index int    // in Effects.Items, over all calls of Stage
	Code  string // DynamoDB's cancellation code, such as ConditionalCheckFailed
	Item  map[string]types.AttributeValue

	// Unknown says that an earlier try of the same transaction had no answer, and may be what made the condition false. Then only a
	// write that settles the claim decides: Release, Fail and a new CompleteWith are refused if that try was applied.
	Unknown bool

	refused func(*EffectError) error
	message string // DynamoDB's
}

func (e *EffectError) Error() string {
	return fmt.Sprintf("idemddb: effect %d was refused: %s: %s", e.Index, e.Code, e.message)
}

// Unwrap returns ErrEffectRefused.
func (*EffectError) Unwrap() error { return ErrEffectRefused }

// Meaning returns what Effects.Refused says of the error, or the error itself. It is for wrappers.
func (e *EffectError) Meaning() error {
	if e.refused == nil || e.Code != conditionFailed {
		return e
	}

	if err := e.refused(e); err != nil {
		return err
	}

	return e
}

// isPermanent tells whether an error is marked as one that no retry mends.
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
	closed  error
	effects Effects
	refused []func(*EffectError) error // by the index of the item
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
// Errors: ErrNoClaim if the context has no claim, as in lambdawrap.Batch; ErrFenced if the claim was settled, or its handler did not
// return in time; and an error that names the item or the message if DynamoDB could only refuse it: more than 99 items, an item
// twice, the record itself, more than 4 MB of items, messages that do not fit into the record.
func Stage(ctx context.Context, e Effects) error {
	s := stagingOf(ctx)
	if s == nil {
		return fmt.Errorf("idemddb: stage: %w", ErrNoClaim)
	}

	return s.add(e)
}

// Unstage forgets what was staged with this context, for a handler that tries again inside of itself.
func Unstage(ctx context.Context) {
	if s := stagingOf(ctx); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()

		s.effects, s.refused, s.staged = Effects{}, nil, false
	}
}

func (s *staging) add(e Effects) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.closed != nil {
		return s.closed
	}

	items := append(s.effects.Items[:len(s.effects.Items):len(s.effects.Items)], copyItems(e.Items)...)
	messages := append(s.effects.Messages[:len(s.effects.Messages):len(s.effects.Messages)], copyMessages(e.Messages)...)

	if err := s.store.checkEffects(s.partition, items, messages); err != nil {
		return fmt.Errorf("idemddb: stage: %w", err)
	}

	for range e.Items {
		s.refused = append(s.refused, e.Refused)
	}

	s.effects, s.staged = Effects{Items: items, Messages: messages}, true

	return nil
}

// take ends the staging and returns what was staged. It returns false if Stage was not called.
func (s *staging) take() (Effects, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.closed = fmt.Errorf("idemddb: stage: key %s: its claim was settled, or its handler did not return in time: %w", KeyHash(s.key), ErrFenced)

	refused := s.refused
	s.effects.Refused = func(e *EffectError) error {
		if e.Index < len(refused) && refused[e.Index] != nil {
			return refused[e.Index](e)
		}

		return e
	}

	return s.effects, s.staged
}

// reopen lets the work stage again: nothing of what was taken is written.
func (s *staging) reopen() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.closed = nil
}

func (e *Effects) isEmpty() bool { return len(e.Items) == 0 && len(e.Messages) == 0 }

// Limits of DynamoDB's transactions.
const (
	maxEffects     = 99 // with the record 100
	maxTransaction = 4 << 20
)

// checkEffects returns an error for what DynamoDB could only refuse.
func (s *Store) checkEffects(partition string, items []types.TransactWriteItem, messages []Message) error {
	if len(items) > maxEffects {
		return fmt.Errorf("%d items: 1 record and %d of yours; DynamoDB takes 100 in a transaction", len(items)+1, len(items))
	}

	if err := s.checkItems(partition, items); err != nil {
		return err
	}

	return checkMessages(messages)
}

func (s *Store) checkItems(partition string, items []types.TransactWriteItem) error {
	keyNames := map[string][]string{s.table: s.keyNames()} // :: table → names of its key attributes, as far as they are known

	for _, it := range items {
		if table, key := keyOf(it); key != nil {
			keyNames[table] = names(key)
		}
	}

	seen, total := map[string]int{s.table + "\n" + itemText(s.key(partition)): -1}, 0

	for i, it := range items {
		table, size, err := measure(it)
		if err != nil {
			return fmt.Errorf("item %d: %w", i, err)
		}

		total += size

		id, ok := identify(it, table, keyNames[table])
		if !ok {
			continue // a Put into a table whose key is not known
		}

		if earlier, twice := seen[id]; twice && earlier < 0 {
			return fmt.Errorf("item %d: it is the record of the key itself", i)
		} else if twice {
			return fmt.Errorf("item %d: it is the same item as item %d; a transaction takes an item once", i, earlier)
		}

		seen[id] = i
	}

	if total > maxTransaction {
		return fmt.Errorf("the items have %d bytes, a transaction takes %d", total, maxTransaction)
	}

	return nil
}

func (s *Store) keyNames() []string {
	return names(s.key(""))
}
