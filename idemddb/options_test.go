package idemddb_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A Store without options has the defaults that the options document. Those whose zero value is the default are not here.
func TestAStoreHasTheDefaultsThatItsOptionsDocument(t *testing.T) {
	t.Parallel()

	s, err := idemddb.New(idemddbtest.New(nil), "t", "n", nil)
	must(t, err)

	got := s.Options()
	got.Now, got.Observe = nil, nil // the clock of the machine, and nobody

	if diff := cmp.Diff(idemddb.Options{
		ClaimPatience: 5 * time.Second, ClockSkew: time.Second, InlineResult: 32 << 10, Lease: 30 * time.Second, PartitionKey: "pk",
		Retention: 7 * 24 * time.Hour, TTLAttribute: "exp", UnsentShards: 16,
	}, got); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
}

// Whoever makes a second Store from the options of a first one adds to them.
func TestOptionsOfAStoreAreACopy(t *testing.T) {
	t.Parallel()

	s, _ := newStore(t, &idemddb.Options{Senders: map[string]idemddb.Sender{"bank": nil}})
	s.Options().Senders["receipts"] = nil

	if got := s.Options().Senders; len(got) != 1 {
		t.Errorf("got %v, want the senders of New", got)
	}
}
