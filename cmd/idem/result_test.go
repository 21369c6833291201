package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// A result that is kept beside its record is shown, listed with its record alone, and deleted with it.
func TestALargeResultIsShownAndForgotten(t *testing.T) {
	onEachEngine(t, func(n *night) {
		t := n.t
		result := `"` + strings.Repeat("line of a report, ", 30_000) + `"`

		if err := n.claim("p-9", "").Complete(t.Context(), []byte(result)); err != nil {
			t.Fatal(err)
		}

		n.idem("show", "p-9")
		n.expect(exitDone, "540002 bytes, beside the record in the table")
		n.idem("show", "p-9", "--result")

		if n.lastCode != exitDone || !strings.Contains(n.lastOut, result) {
			t.Errorf("the result is not shown: exit code %d, %d bytes; %.2000s", n.lastCode, len(n.lastOut), n.shown())
		}

		n.idem("show", "p-9", "--result", "--json")
		n.expect(exitDone, `"result":"Imxpbm`, `"result_name":"payments#sha256:`)
		n.screen.Reset()
		n.idem("list", "completed")
		n.expect(exitDone, "1 found among")

		if strings.Contains(n.screen.String(), "corrupt") {
			t.Errorf("a part is listed:\n%s", n.shown())
		}

		n.idem("forget", "p-9", "--why", "the report is wrong", "--yes")
		n.expect(exitDone)

		out, err := n.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &n.table})
		if err != nil || len(out.Items) > 0 {
			t.Errorf("%d items are left, %v", len(out.Items), err)
		}
	})
}

func TestAResultInOptionsResultsIsNamed(t *testing.T) {
	t.Parallel()

	v := operate.View{Namespace: "payments", ResultName: "payments/abc/own-sum", ResultBytes: 50_000}
	if got := resultText(v); got != "50000 bytes, in Options.Results as payments/abc/own-sum" {
		t.Errorf("got %q", got)
	}

	if got := shownResult(v); !bytes.Contains(got, []byte("kept by Options.Results")) {
		t.Errorf("got %q", got)
	}
}

// docs/cost.md: a first run of a result of 300 KB costs 303 WCU, and a duplicate 1 WCU and 37.5 read units.
func TestTheCostOfLargeResults(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.idem("cost", "--table", "", "--messages", "1", "--result", "307200")
	n.expect(exitDone, "303 WCU")
	n.idem("cost", "--table", "", "--messages", "0", "--duplicates", "1e6", "--result", "307200")
	n.expect(exitDone, "1000000 WCU", "RCU", "$5.38")
	n.idem("cost", "--table", "", "--messages", "0", "--duplicates", "1", "--result", "32768", "--json")
	n.expect(exitDone, `"write_units":33,`)
}
