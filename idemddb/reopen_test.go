package idemddb_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestReopenSaysWhatStandsInTheTable(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		before func(f *fixture)
		want   error
	}{
		"no record":               {func(*fixture) {}, idemddb.ErrNoRecord},
		"a key that is claimed":   {func(f *fixture) { claim(f, f.store, "k") }, nil},
		"a key that is completed": {func(f *fixture) { must(f, claim(f, f.store, "k").Complete(f.Context(), nil)) }, idemddb.ErrCompleted},
		"a record of another version": {func(f *fixture) {
			claim(f, f.store, "k")
			f.edit("k", map[string]types.AttributeValue{"v": number(2)})
		}, idemddb.ErrCorrupt},
		"no answer": {func(f *fixture) { f.db.Intercept(always(idemddbtest.Throttle)) }, errNoAnswer},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, nil, func(f *fixture) {
				c.before(f)

				err := f.store.Reopen(f.Context(), "k")
				for _, known := range []error{idemddb.ErrNoRecord, idemddb.ErrCompleted, idemddb.ErrCorrupt} {
					if errors.Is(err, known) != errors.Is(c.want, known) || (err == nil) != (c.want == nil) {
						f.Errorf("got %v, want %v", err, c.want)
					}
				}
			})
		})
	}
}

var errNoAnswer = errors.New("no answer")
