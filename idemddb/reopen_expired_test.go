package idemddb_test

import (
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A record past its end answers nothing, also before Time to Live has deleted it.
func TestReopenOfARecordPastItsEndDoesNotSayThatItAnswers(t *testing.T) {
	t.Parallel()

	bubble(t, &idemddb.Options{Retention: time.Hour}, func(f *fixture) {
		must(f, claim(f, f.store, "key").Complete(f.Context(), nil))

		is(f, f.store.Reopen(f.Context(), "key"), idemddb.ErrCompleted)

		<-time.After(time.Hour + time.Second)

		is(f, f.store.Reopen(f.Context(), "key"), idemddb.ErrNoRecord)
		must(f, claim(f, f.store, "key").Release(f.Context(), nil))
	})
}
