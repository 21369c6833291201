package protocol_test

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Every statement that is sent, with its parameters, stands in the file: a change of an expression, or of its translation, is
// seen. (That a statement does what the request of its own does is for the contract to show, on every engine.)
func TestStatementsReadAsTheFileSays(t *testing.T) {
	t.Parallel()

	var got strings.Builder

	for _, c := range []struct {
		name  string
		names protocol.Config
	}{
		{"the default names", protocol.Config{Table: "records", PartitionKey: "pk", TTLAttribute: "exp"}},
		{"a user's names", protocol.Config{Table: `my "own"-table.1`, PartitionKey: `the "partition"`, SortKey: "user's sort", TTLAttribute: `user's "TTL"`}},
	} {
		fmt.Fprintf(&got, "# %s\n", c.name)

		for what, fingerprint := range map[string]bool{"insert": false, "insert, input compared": true} {
			if fingerprint == (c.names.SortKey == "") { // one statement for each schema is enough
				text, attributes := protocol.Insert(c.names, fingerprint)
				fmt.Fprintf(&got, "\n%s\n  %s\n  %s\n", what, text, strings.Join(attributes, " · "))
			}
		}

		pairs := protocol.GroupPairs()
		for _, what := range slices.Sorted(maps.Keys(pairs)) {
			if c.names.SortKey != "" && !strings.HasPrefix(what, "claim") && what != "extend" {
				continue // the statements of a claim and of an extension show the names
			}

			text, placeholders := protocol.StatementOf(c.names, pairs[what])
			fmt.Fprintf(&got, "\n%s\n  %s\n  %s\n", what, text, strings.Join(placeholders, " "))
		}

		look := protocol.NewTable(c.names).Look("p")
		fmt.Fprintf(&got, "\nread\n  %s\n  %d parameters, consistent %t\n", *look.Statement, len(look.Parameters), *look.ConsistentRead)

		got.WriteString("\n")
	}

	const file = "testdata/statements.txt"

	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("%s (-want +got):\n%s\n%s", file, diff, got.String())
	}
}

// DynamoDB refuses a longer statement.
func TestStatementsFitWithTheLongestNames(t *testing.T) {
	t.Parallel()

	long := func(s string) string { return strings.Repeat(s, 255/len(s)) }
	c := protocol.Config{
		Table: strings.Repeat("t", 255), PartitionKey: long(`"`), SortKey: long(`'`), TTLAttribute: long(`"'`), MaxAttempts: 1, NoTakeover: true,
		IsTraced: true,
	}

	texts := map[string]string{}
	for what, pair := range protocol.GroupPairs() {
		texts[what], _ = protocol.StatementOf(c, pair)
	}

	texts["insert"], _ = protocol.Insert(c, true)
	texts["read"] = *protocol.NewTable(c).Look("p").Statement

	for what, text := range texts {
		if len(text) > 8192 {
			t.Errorf("%s has %d bytes, a statement holds 8192", what, len(text))
		}
	}
}

func TestTheStatementsOfATableAreTranslatedOnce(t *testing.T) {
	t.Parallel()

	for what, pair := range protocol.GroupPairs() {
		for _, limits := range []protocol.Config{{}, {NoTakeover: true}, {MaxAttempts: 1}, {NoTakeover: true, MaxAttempts: 1}} {
			for _, isTraced := range []bool{false, true} {
				limits.IsTraced = isTraced
				if protocol.IsShared(limits, pair) {
					what = ""
				}
			}
		}

		if what != "" {
			t.Errorf("%s: no table has the statement from its beginning", what)
		}
	}
}

// Writes that are rarely shared, and those of a table that shares none as a rule, are translated when they are sent.
func TestAStatementIsTheSameWhenItIsTranslated(t *testing.T) {
	t.Parallel()

	c := protocol.Config{Table: "records", PartitionKey: "pk", TTLAttribute: "exp"}
	shared := c
	shared.IsShared = true

	rec := &record.Stored{Token: new("other"), Fence: new(int64(7)), Lease: new(int64(1))}

	for name, write := range map[string]protocol.Write{
		"a release": protocol.NewTable(c).Release(&protocol.Held{}, nil),
		"giving up": protocol.NewTable(c).GiveUp("p", rec, protocol.Stamp{}, "cause"),
	} {
		got, want := *protocol.NewTable(shared).Statement(write).Statement, *protocol.NewTable(c).Statement(write).Statement
		if got != want || !strings.HasPrefix(got, "UPDATE ") {
			t.Errorf("%s: got %q, translated %q", name, got, want)
		}
	}
}
