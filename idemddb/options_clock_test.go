package idemddb_test

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A released key has a lease of 0, which is over ClockSkew later.
func TestAClockByWhichAReleasedKeyStaysHeldIsRefused(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		opts idemddb.Options
		want string // "" for a Store that claims a released key again
	}{
		"the first moment":     {idemddb.Options{Now: func() time.Time { return time.Unix(0, 0) }}, "idemddb: Options.Now: "},
		"the zero time":        {idemddb.Options{Now: func() time.Time { return time.Time{} }}, "idemddb: Options.Now: "},
		"ClockSkew after 1970": {idemddb.Options{Now: func() time.Time { return time.Unix(1, 0) }}, "idemddb: Options.Now: "},
		"a huge ClockSkew":     {idemddb.Options{ClockSkew: math.MaxInt64}, "idemddb: Options.Now: "},
		"a moment later":       {idemddb.Options{Now: func() time.Time { return time.UnixMilli(1001) }}, ""},
	} {
		db := idemddbtest.New(nil)
		if _, err := db.CreateTable(t.Context(), idemddbtest.CreateTable("records", "")); err != nil {
			t.Fatal(err)
		}

		s, err := idemddb.New(db, "records", "n", &c.opts)
		if c.want != "" {
			if err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("%s: got %v, want %q", name, err, c.want)
			}

			continue
		}

		must(t, err)

		for range 2 {
			_, err := idemddb.Do(t.Context(), s, "k", nil, func(context.Context) (int, error) { return 0, errDown })
			if !errors.Is(err, errDown) {
				t.Errorf("%s: got %v, want the error of the work", name, err)
			}
		}
	}
}

var errDown = errors.New("the bank is down")
