package idemddb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/transact"
)

// Disabled reports whether IDEMDDB_DISABLED was set when the Store was made. It is for wrappers.
func (s *Store) Disabled() bool { s.mustExist(); return s.disabled }

func readDisabled() (bool, error) {
	const name = "IDEMDDB_DISABLED"

	text := cmp.Or(os.Getenv(name), "false")

	disabled, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("idemddb: environment variable %s: must be true, 1, false, 0 or empty, is %q", name, text)
	}

	return disabled, nil
}

// claimDisabled returns the claim of a Store that is off: nothing is written, and every claim is won.
func (s *Store) claimDisabled(ctx context.Context, key string) *Claim {
	s.observeDisabled(ctx)

	return &Claim{
		store: s, key: key, held: protocol.Held{Attempt: 1}, lease: s.stamp(leaseBound(ctx)).Lease, staging: staging{store: s, key: key},
	}
}

// observeDisabled emits the event Disabled, once.
func (s *Store) observeDisabled(ctx context.Context) {
	s.disabledOnce.Do(func() { s.opts.Observe(ctx, Event{Kind: Disabled}) })
}

// writeUnclaimed writes effects without a record, for a Store that IDEMDDB_DISABLED turned off.
func (s *Store) writeUnclaimed(ctx context.Context, key string, e Effects) error {
	write, p, cancel := s.settleContext(ctx)
	defer cancel()

	if len(e.Items) > 0 {
		if err := s.writeItems(write, p, key, e); err != nil {
			return err
		}
	}

	if err := errors.Join(s.targets.Send(write, newTx(), outboxOf(e.Messages))...); err != nil {
		return keyError("send", key, fmt.Errorf("%w: %w", ErrUnsent, err))
	}

	return nil
}

// writeItems writes the items of effects in one transaction.
func (s *Store) writeItems(ctx context.Context, p planner.Policy, key string, e Effects) error {
	t := &transact.Transaction{Client: s.transactions, Key: key}
	answer := t.Add(nil, e.Items)

	switch err := t.Send(ctx, p); {
	case err != nil:
		return fmt.Errorf("%w: %w", keyError("write", key, err), ErrUncommitted)
	case answer.Refusal != nil:
		return e.refusal(answer.Refusal)
	default:
		return nil
	}
}
