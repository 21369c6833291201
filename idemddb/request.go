package idemddb

import (
	"context"
	"errors"
	"fmt"

	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// fenced sends a write after the claim. If its condition is false, fenced returns ErrFenced and the stored record, or nil if the
// item is gone.
func (s *Store) fenced(ctx context.Context, w engine.Write, build func() protocol.Write) (*record.Stored, error) {
	f := &protocol.Fenced{Table: s.records, Build: build}
	w.Operation = f

	if err := s.engine.Send(ctx, w); err != nil {
		return nil, s.explain(err)
	}

	return f.Found, refusalOf(f)
}

// refusalOf returns ErrFenced if the condition of a write was false.
func refusalOf(f *protocol.Fenced) error {
	switch {
	case f.Err != nil:
		return fmt.Errorf("%w: %w", ErrFenced, f.Err)
	case f.IsRefused:
		return ErrFenced
	default:
		return nil
	}
}

// explain adds a hint to an error that suggests a wrong configuration: what to check.
func (s *Store) explain(err error) error {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return err
	}

	switch api.ErrorCode() {
	case "ResourceNotFoundException":
		return fmt.Errorf("table %q is missing in this account and Region: %w", s.table, err)
	case "AccessDeniedException":
		return fmt.Errorf("table %q: access denied; the role needs dynamodb:UpdateItem and dynamodb:PutItem: %w", s.table, err)
	case "ValidationException":
		return fmt.Errorf("table %q: request not valid; is the table's key Options.PartitionKey %q, Options.SortKey %q, of type S: %w",
			s.table, s.opts.PartitionKey, s.opts.SortKey, err)
	default:
		return err
	}
}
