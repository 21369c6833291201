package audited_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// witness stands in for a test that is to fail.
type witness struct {
	failures []string
	ends     []func()
}

func (w *witness) Helper() {}
func (w *witness) Errorf(format string, a ...any) {
	w.failures = append(w.failures, fmt.Sprintf(format, a...))
}
func (w *witness) Cleanup(end func()) { w.ends = append(w.ends, end) }

func (w *witness) end() string {
	for _, end := range w.ends {
		end()
	}

	return strings.Join(w.failures, "\n")
}

// world is a Store on a DB whose changes are judged.
func world(t *testing.T, w *witness) (*idemddb.Store, *idemddbtest.DB) {
	t.Helper()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))

	audited.DB(w, db, nil, audit.Options{})

	s, err := idemddb.New(db, "records", "n", nil)
	if err != nil {
		t.Fatal(err)
	}

	return s, db
}

func claimed(t *testing.T, s *idemddb.Store) *idemddb.Claim {
	t.Helper()

	c, _, err := s.Claim(t.Context(), "k", nil)
	if c == nil {
		t.Fatal(err)
	}

	return c
}

func erase(t *testing.T, db *idemddbtest.DB) {
	t.Helper()

	if _, err := db.DeleteItem(t.Context(), &dynamodb.DeleteItemInput{
		TableName: new("records"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "n#k"}},
	}); err != nil {
		t.Error(err)
	}
}

func TestATestThatBreaksARuleFailsWithTheStoryOfTheKey(t *testing.T) {
	t.Parallel()

	w := &witness{}
	s, db := world(t, w)
	claimed(t, s)
	erase(t, db)

	if got := w.end(); !strings.Contains(got, "claims the key with fencing token") || !strings.Contains(got, "VIOLATION (deletion)") {
		t.Errorf("got %q, want the violation with the story of the key", got)
	}
}

func TestWhatATestDoesByHandIsNotJudged(t *testing.T) {
	t.Parallel()

	w := &witness{}
	s, db := world(t, w)
	claimed(t, s)
	audited.ByHand(db, func() { erase(t, db) })
	claimed(t, s)

	if got := w.end(); got != "" {
		t.Error(got)
	}
}

func TestTimesAreJudgedUntilATestSaysThatClocksAreWrong(t *testing.T) {
	t.Parallel()

	for said, want := range map[bool]bool{true: false, false: true} {
		w := &witness{}
		_, db := world(t, w)

		if said {
			audited.OtherClocks(db)
		}

		ahead, err := idemddb.New(db, "records", "n", &idemddb.Options{Now: func() time.Time { return time.Now().Add(time.Hour) }})
		if err != nil {
			t.Fatal(err)
		}

		claimed(t, ahead)

		if got := w.end(); strings.Contains(got, "clock ahead") != want {
			t.Errorf("wrong clocks said %t: got %q", said, got)
		}
	}
}

func TestAChangeThatWasNotSeenFailsTheTest(t *testing.T) {
	t.Parallel()

	w := &witness{}
	changes := audited.New(w, audit.Options{})
	s, db := world(t, &witness{})

	db.OnChange(changes.See)

	c := claimed(t, s)

	db.OnChange(nil)

	if err := c.Release(t.Context(), nil); err != nil {
		t.Fatal(err)
	}

	db.OnChange(changes.See)
	claimed(t, s)

	if got := w.end(); !strings.Contains(got, "did not show every change of n#k") {
		t.Errorf("got %q, want the key whose change is missing", got)
	}
}

// This test sets the environment, so it does not run in parallel.
func TestTheNumbersOfAllTestsAreAddedUp(t *testing.T) {
	name := filepath.Join(t.TempDir(), "audit.jsonl")
	t.Setenv(audited.Variable, name)

	for range 2 {
		w := &witness{}
		s, _ := world(t, w)

		if err := claimed(t, s).Complete(t.Context(), nil); err != nil {
			t.Fatal(err)
		}

		if got := w.end(); got != "" {
			t.Error(got)
		}
	}

	file, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	total, judged, err := audited.Total(file)
	if want := "audit: 4 changes judged: 2 new claim, 2 completion; 0 violations, 0 late, 0 gaps"; err != nil || total.String() != want || judged[strings.TrimSuffix(filepath.Base(os.Args[0]), ".test")] != 4 {
		t.Errorf("got %q, %v, %v, want %q", total, judged, err, want)
	}
}
