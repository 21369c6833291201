package idemddb

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/idemddb/go-idemddb/internal/dbitem"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Stage adds effects to the completion of the claim whose work runs with this context: they are written when the work has
// succeeded, in one transaction with its completion. If the work fails, they are dropped. Stage(ctx, Effects{}) says that there
// is nothing to write. Stage copies what it is given and is safe for concurrent use. It makes no request.
//
// Errors: ErrNoClaim if the context is not that of work which can stage, as in lambdawrap.Batch; ErrFenced if the claim was
// settled, or its handler did not return in time; and ErrBadEffects, with a text that names the item or the message, if DynamoDB
// could only refuse it: more than 99 items, an item twice, the record itself, more than 4 MB of items, messages that do not fit
// into the record; or if a message's target is no entry of Options.Senders. If Options.Codec does not seal a message, the error
// is that of the Codec, and no ErrBadEffects. After either nothing of this call is staged, and what earlier calls staged stays.
// Work that goes on after that, and returns no error, is not completed: its completion is ErrNotStaged, unless [Unstage] was
// called since.
func Stage(ctx context.Context, e Effects) error {
	s := stagingOf(ctx)
	if s == nil {
		return fmt.Errorf("idemddb: stage: %w", ErrNoClaim)
	}

	return s.add(ctx, e)
}

// Unstage forgets what was staged with this context, and what Stage refused, for a handler that tries again inside of itself. It
// does nothing where Stage returns ErrNoClaim.
func Unstage(ctx context.Context) {
	if s := stagingOf(ctx); s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()

		s.effects, s.parts, s.staged, s.failed, s.bad = effects{}, nil, false, nil, nil
	}
}

// staging holds what a handler stages, until its claim is completed.
type staging struct {
	store     *Store
	key       string
	partition string // of the own record, which must not be staged

	mu      sync.Mutex
	staged  bool // Stage was called, perhaps with nothing
	closed  bool // Stage is refused: the claim was settled, or its handler did not return in time
	effects effects
	parts   []Effects // of which effects are made, as Stage was given them
	failed  error     // ErrNotStaged with the first error of Stage: the work must not count as done without what was refused
	bad     error     // ErrNotStaged with the error of the last CompleteWith, if nothing of it was written and the work has not decided anew
	sent    *effects  // of a CompleteWith that is under way, or whose outcome is not known
}

// stagingOf returns the staging of the innermost work that runs with a context, or nil.
func stagingOf(ctx context.Context) *staging {
	if w := workOf(ctx); w != nil {
		return w.staging
	}

	return nil
}

func (s *staging) add(ctx context.Context, e Effects) error {
	if s.isClosed() {
		return s.errClosed()
	}

	outbox, errSeal := s.store.sealer.outboxOf(ctx, s.partition, e.Messages) // it may take long

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.closed {
		return s.errClosed()
	}

	all, err := s.with(e, outbox, errSeal)
	if err == nil {
		s.effects, s.parts, s.staged, s.bad = all, append(s.parts, e), true, nil
	} else if s.failed == nil {
		s.failed = fmt.Errorf("%w: %w", ErrNotStaged, err)
	}

	return err
}

func (s *staging) errClosed() error {
	return fmt.Errorf("idemddb: stage: key %s: its claim was settled, or its handler did not return in time: %w",
		record.KeyHash(s.key), ErrFenced)
}

// failure says why work is not done although it returned no error: Stage refused what it has to write.
func (s *staging) failure() error {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.failed
}

// with returns what is staged together with e, which it copies, and whose messages are stored as outbox, unless errSeal says that
// they cannot be sealed. It is called with s.mu held.
func (s *staging) with(e Effects, outbox []record.Message, errSeal error) (effects, error) {
	all := effects{Effects: Effects{
		Items:    slices.Concat(s.effects.Items, dbitem.CopyWrites(e.Items)),
		Adds:     slices.Concat(s.effects.Adds, copyAdds(e.Adds)),
		Messages: slices.Concat(s.effects.Messages, copyMessages(e.Messages)),
	}, outbox: slices.Concat(s.effects.outbox, outbox)}

	for i := range all.outbox {
		all.outbox[i].Index = i
	}

	if err := cmp.Or(errSeal, s.store.checkEffects(s.partition, &all)); err != nil {
		return effects{}, fmt.Errorf("idemddb: stage: %w", err)
	}

	parts := slices.Concat(s.parts, []Effects{e})

	all.Refused = func(refused *EffectError) error {
		if meaning := refusedOf(parts, refused.Index, len(all.Items)); meaning != nil {
			return meaning(refused)
		}

		return refused
	}

	return all, nil
}

// refusedOf returns the Refused of the effects that have this item or, from the number of all items on, this addition.
func refusedOf(parts []Effects, index, items int) func(*EffectError) error {
	count := func(e *Effects) int { return len(e.Items) }
	if index >= items {
		index -= items
		count = func(e *Effects) int { return len(e.Adds) }
	}

	for i := range parts {
		n := count(&parts[i])
		if index < n {
			return parts[i].Refused
		}

		index -= n
	}

	return nil
}

// takeWith returns what is staged together with e, for CompleteWith. e itself is not staged: after a refusal, the next
// CompleteWith brings its own effects.
func (s *staging) takeWith(ctx context.Context, e Effects) (effects, error) {
	outbox, errSeal := s.store.sealer.outboxOf(ctx, s.partition, e.Messages)

	s.mu.Lock()
	defer s.mu.Unlock()

	all, err := s.with(e, outbox, errSeal)
	if err != nil {
		s.bad = fmt.Errorf("%w: %w", ErrNotStaged, err)

		return effects{}, err
	}

	s.closed, s.bad = true, nil
	s.sent = &all

	return all, nil
}

// end ends the staging without a completion.
func (s *staging) end() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.closed = true
}

func (s *staging) isClosed() bool {
	s.mu.Lock()
	defer s.mu.Unlock()

	return s.closed
}

// resume lets the work stage again: nothing of what was taken is written, because an effect was refused. Work that ignores that
// must not count as done without its effects.
func (s *staging) resume(refused error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.closed, s.sent, s.bad = false, nil, fmt.Errorf("%w: %w", ErrNotStaged, refused)
}

// written forgets the effects that were taken, because they are committed now.
func (s *staging) written() {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.effects, s.parts, s.sent = effects{}, nil, nil
}
