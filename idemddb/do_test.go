package idemddb_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestDoShowsTheErrorOfTheWorkBeforeThatOfTheRelease(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		s, db := newStore(t, nil)
		_, err := idemddb.Do(t.Context(), s, "k", nil, func(context.Context) (int, error) {
			db.Intercept(always(idemddbtest.AccessDenied))

			return 0, errors.New("bank closed")
		})

		if err == nil || !strings.HasPrefix(err.Error(), "bank closed\nidemddb: release of key sha256:") {
			t.Errorf("got %v, want both", err)
		}
	})
}

func TestDoReturnsTheValueOfWorkWhoseRecordWasDeleted(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		got, err := idemddb.Do(f.Context(), f.store, "k", nil, func(context.Context) (string, error) {
			erase(f, f.db, "k")

			return "paid", nil
		})
		if got != "paid" || err != nil || f.record("k") != nil {
			f.Errorf("got %q, %v, record%s; want the value and no record", got, err, show(f.record("k")))
		}

		f.events.want(f, idemddb.KindClaimed, idemddb.KindFenced)
	})
}
