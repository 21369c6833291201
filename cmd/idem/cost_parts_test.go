package main

import (
	"testing"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// DynamoDB counts the parts of results as items, so that the mean of all is the size of no record.
func TestTheCostOfResultsBesideTheirRecordsIsNotThatOfTheMeanItem(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.aws.described = map[string]any{"ItemCount": 2000, "TableSizeBytes": 1000*550 + 1000*300_000}
	n.idem("cost", "--messages", "0", "--duplicates", "1e6", "--result", "307200")
	n.expect(exitDone, "1000000 WCU", "$5.38")
}

// A bill that leaves the announcements out would be too low.
func TestTheCostOfAnAnnouncementIsThatOfATransaction(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.idem("cost", "--table", "", "--announcement", "1024")
	n.expect(exitError, "--announcement: is for --exact")
}
