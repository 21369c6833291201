package contract

import (
	"bytes"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/idemddb/go-idemddb/idemddb"
)

// Shelf is an idemddb.Results in memory.
type Shelf struct {
	OnPut func(context.Context) error // nil for success
	OnGet func() error

	Kept map[string][]byte
	Gets int

	mu sync.Mutex
}

// Put implements idemddb.Results.
func (s *Shelf) Put(ctx context.Context, name string, b []byte) error {
	if s.OnPut != nil {
		if err := s.OnPut(ctx); err != nil {
			return err
		}
	}

	s.mu.Lock()
	defer s.mu.Unlock()

	if s.Kept == nil {
		s.Kept = map[string][]byte{}
	}

	s.Kept[name] = bytes.Clone(b)

	return nil
}

// Get implements idemddb.Results.
func (s *Shelf) Get(_ context.Context, name string) ([]byte, error) {
	s.mu.Lock()
	s.Gets++
	b, ok := s.Kept[name]
	s.mu.Unlock()

	switch {
	case s.OnGet != nil:
		return nil, s.OnGet()
	case !ok:
		return nil, idemddb.ErrResultOmitted
	default:
		return bytes.Clone(b), nil
	}
}

// Names returns what is kept, in order.
func (s *Shelf) Names() []string {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Sorted(maps.Keys(s.Kept))
}
