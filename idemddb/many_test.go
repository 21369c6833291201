package idemddb_test

import (
	"context"
	"errors"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
)

func TestAThousandGoroutinesRunEachKeyOnce(t *testing.T) {
	t.Parallel()

	const keys, goroutines = 50, 1000

	s, _ := newStore(t, &idemddb.Options{Cache: keys / 2})

	var (
		runs [keys]atomic.Int64
		all  sync.WaitGroup
	)

	for i := range goroutines {
		all.Go(func() {
			key := i % keys

			got, err := idemddb.Do(t.Context(), s, strconv.Itoa(key), nil, func(context.Context) (int, error) {
				runs[key].Add(1)

				return key, nil
			})
			if err == nil && got != key || err != nil && !errors.Is(err, idemddb.ErrInProgress) {
				t.Errorf("key %d: got %d, %v", key, got, err)
			}
		})
	}

	all.Wait()

	for key := range runs {
		if n := runs[key].Load(); n != 1 {
			t.Errorf("key %d ran %d times", key, n)
		}
	}
}
