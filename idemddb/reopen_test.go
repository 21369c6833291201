package idemddb_test

import (
	"errors"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestAReopeningWithoutAnAnswerSaysNothingOfTheRecord(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		f.db.Intercept(always(idemddbtest.Throttle))

		err := f.store.Reopen(f.Context(), "k")
		if err == nil || errors.Is(err, idemddb.ErrNoRecord) || errors.Is(err, idemddb.ErrCompleted) || errors.Is(err, idemddb.ErrCorrupt) {
			f.Errorf("got %v", err)
		}
	})
}
