package idemddbtest_test

import (
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestExpireDeletesWhatTimeToLiveWould(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	clock := idemddbtest.NewClock(now)
	db := openDB(t, &idemddbtest.Options{Now: clock.Now})
	seconds := func(d time.Duration) string { return strconv.FormatInt(now.Add(d).Unix(), 10) }
	for name, exp := range map[string]types.AttributeValue{
		"past": n(seconds(-time.Second)), "future": n(seconds(time.Hour)), "text": s(seconds(-time.Hour)),
		"milliseconds": n(seconds(-time.Hour) + "000"), "six years ago": n(seconds(-6 * 366 * 24 * time.Hour)), "none": n("0"),
	} {
		put(t, db, attributes{"pk": s(name), "exp": exp})
	}

	if got := db.Expire(); got != 0 {
		t.Errorf("without Time to Live: got %d deleted", got)
	}

	if _, err := db.UpdateTimeToLive(t.Context(), timeToLive()); err != nil {
		t.Fatal(err)
	}

	if db.Item(table, attributes{"pk": s("past")}) == nil {
		t.Error("an expired item went by itself")
	}

	if got := db.Expire(); got != 1 || db.Item(table, attributes{"pk": s("past")}) != nil {
		t.Errorf("got %d deleted, want the one that is past", got)
	}

	clock.Advance(2 * time.Hour)

	if got := db.Expire(); got != 1 || db.Item(table, attributes{"pk": s("future")}) != nil {
		t.Errorf("later: got %d deleted, want the one that was in the future", got)
	}
}
