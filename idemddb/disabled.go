package idemddb

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// Disabled reports whether IDEMDDB_DISABLED was set when the Store was made. It is for wrappers.
func (s *Store) Disabled() bool { s.mustExist(); return s.disabled }

// observeDisabled emits the event KindDisabled, once.
func (s *Store) observeDisabled(ctx context.Context) {
	if !s.disabledTold.Swap(true) {
		s.opts.Observe(ctx, Event{Kind: KindDisabled})
	}
}

// writeUnclaimed writes effects without a record, for a Store that IDEMDDB_DISABLED turned off.
func (s *Store) writeUnclaimed(ctx context.Context, key string, e effects) error {
	write, p, cancel := engine.SettleContext(ctx, s.opts.Lease)
	defer cancel()

	if len(e.Items)+len(e.Adds) > 0 {
		if err := s.writeItems(write, p, key, e); err != nil {
			return err
		}
	}

	if err := errors.Join(s.targets.Send(write, newTx(), e.outbox)...); err != nil {
		return keyError("send", key, fmt.Errorf("%w: %w", ErrUnsent, err))
	}

	return nil
}

// unrecorded makes the tries of a write of effects that has no record.
type unrecorded struct{ *effects }

func (u unrecorded) part() protocol.Part { return u.effects.part(nil) }

func (unrecorded) look() (none types.BatchStatementRequest) { return none } // it travels alone, so nothing is read first

func (unrecorded) hasEnded(item) bool { return false }

func (unrecorded) applied() {}

// tokenLife is how long DynamoDB recognises a client request token, at least: ten minutes after its transaction is done.
//
// https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
const tokenLife = 10 * time.Minute

// writeItems writes the items of effects in one transaction. Nothing but its client request token keeps them from being written
// twice, so it is not sent when DynamoDB may have forgotten the token.
func (s *Store) writeItems(ctx context.Context, p planner.Policy, key string, e effects) error {
	if forgotten := time.Now().Add(tokenLife); p.End.After(forgotten) {
		p.End = forgotten
	}

	j := &jointWrite{source: unrecorded{&e}}
	joint := e.joint(nil)
	joint.IsUnrecorded = true

	switch err := j.wait(ctx, s.engine.Begin(ctx, engine.Write{
		Operation: j, Policy: p, Key: key, Record: newTx(), Joint: joint, IsAlone: true,
	})); {
	case err != nil:
		return fmt.Errorf("%w: %w", keyError("write", key, err), ErrUncommitted)
	case j.answer.Outcome == protocol.EffectRefused:
		return e.refusal(j)
	default:
		return nil
	}
}

// claimDisabled returns the claim of a Store that is off: nothing is written, and every claim is won.
func (s *Store) claimDisabled(ctx context.Context, key string) *Claim {
	s.observeDisabled(ctx)

	return &Claim{
		store: s, key: key, held: protocol.Held{Attempt: 1}, lease: s.stamps(engine.LeaseBound(ctx))().Lease, staging: staging{store: s, key: key},
	}
}
