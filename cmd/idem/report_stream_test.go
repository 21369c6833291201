package main

import (
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestReportSaysWhyItHasNotReadTheStream(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())

	const why = "The stream was not read to its end: "

	if n.idem("report", "--out", "-"); strings.Contains(n.lastOut, why) {
		t.Errorf("of a table without a stream:\n%s", n.lastOut)
	}

	n.aws.set(func(c *cloud) { c.denied = "DescribeTable" })

	if n.idem("report", "--out", "-"); !strings.Contains(n.lastOut, why+"describe the table "+n.table) {
		t.Errorf("nobody may describe the table, and the report does not say so:\n%s", n.lastOut)
	}
}
