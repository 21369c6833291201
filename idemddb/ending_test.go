package idemddb_test

import (
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
)

// A worker that does not take over has ended the key as failed while its work ran. What the work staged has not happened then;
// all else is done.
func TestTheEndingOfAKeyThatWasGivenUpIsDoneUnlessAnEffectIsStaged(t *testing.T) {
	t.Parallel()

	for _, c := range []struct {
		stages bool
		kind   idemddb.Kind
		done   bool
	}{{false, idemddb.KindFenced, true}, {true, idemddb.KindRefused, false}} {
		bubble(t, nil, func(f *fixture) {
			work, _ := f.store.Begin(f.Context(), "k", nil)
			ctx := work.Context(f.Context())

			if c.stages {
				must(f, idemddb.Stage(ctx, items(counted("x"))))
			}

			_, _, err := aheadWithoutTakeover(f).Claim(f.Context(), "k", nil)
			is(f, err, idemddb.ErrFailed)

			if e := work.Settle(f.Context(), nil, nil); e.Kind != c.kind || e.Done != c.done {
				f.Errorf("got %s, done %t, error %v; want %s, done %t", e.Kind, e.Done, e.Err, c.kind, c.done)
			}
		})
	}
}
