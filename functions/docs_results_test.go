package functions_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// An object that expires before its record would make replays of "done, result not kept".
func TestObjectsOfThePageLiveLongerThanTheirRecords(t *testing.T) {
	t.Parallel()

	source, err := os.ReadFile("testdata/results/template.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var template struct {
		Resources map[string]struct {
			Properties struct {
				LifecycleConfiguration struct {
					Rules []struct{ ExpirationInDays int }
				}
			}
		}
	}

	decode(t, source, &template)

	rules := template.Resources["Results"].Properties.LifecycleConfiguration.Rules
	if len(rules) != 1 {
		t.Fatalf("%d lifecycle rules, want 1", len(rules))
	}

	if kept := time.Duration(rules[0].ExpirationInDays) * 24 * time.Hour; kept <= defaultRetention(t) {
		t.Errorf("objects expire after %v, and records after %v", kept, defaultRetention(t))
	}

	for _, action := range []string{"s3:PutObject", "s3:GetObject", "s3:ListBucket"} {
		if !strings.Contains(string(source), action) {
			t.Errorf("the role lacks %s", action)
		}
	}
}

// defaultRetention is how long a record answers by default.
func defaultRetention(t *testing.T) time.Duration {
	t.Helper()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))

	store, err := idemddb.New(db, "records", "reports", nil)
	if err != nil {
		t.Fatal(err)
	}

	if _, err := store.Commit(t.Context(), "k", nil, nil, idemddb.Effects{}); err != nil {
		t.Fatal(err)
	}

	_, rec, err := store.Claim(t.Context(), "k", nil)
	if rec == nil {
		t.Fatal(err)
	}

	return rec.ExpiresAt.Sub(rec.CompletedAt)
}
