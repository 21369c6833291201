package idemddb_test

import (
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// newStore returns a Store on an in-memory table of its own.
func newStore(t testing.TB, opts *idemddb.Options) (*idemddb.Store, *idemddbtest.DB) {
	t.Helper()

	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), idemddb.Table("records")); err != nil {
		t.Fatal(err)
	}

	db.ResetRequests()

	s, err := idemddb.New(db, "records", "test", opts)
	if err != nil {
		t.Fatal(err)
	}

	return s, db
}

// claim demands a claim.
func claim(t testing.TB, s *idemddb.Store, key string) *idemddb.Claim {
	t.Helper()

	c, rec, err := s.Claim(t.Context(), key, nil)
	if c == nil {
		t.Fatalf("got record %v, error %v, want a claim", rec, err)
	}

	return c
}
