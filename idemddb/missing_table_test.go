package idemddb_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
)

func TestAnEffectInAMissingTableSaysThatATableIsMissing(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		effect := counted("a")
		effect.Update.TableName = new("nosuch")

		_, err := f.store.Commit(f.Context(), "k", nil, nil, items(effect))

		refused, ok := errors.AsType[*idemddb.EffectError](err)
		if !ok || refused.Index != -1 || !strings.Contains(err.Error(), "missing in this account and Region") {
			f.Errorf("got %v, want an *EffectError that says so", err)
		}
	})
}
