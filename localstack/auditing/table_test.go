package auditing_test

import (
	"context"
	"crypto/rand"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/realengine"
	"github.com/idemddb/go-idemddb/localstack/auditing"
)

func TestMain(m *testing.M) { os.Exit(realengine.Main(m)) }

// tester is a new table without a stream, and a worker that writes records in it.
type tester struct {
	*testing.T

	client *dynamodb.Client
	table  string
	store  *idemddb.Store
}

func newTester(t *testing.T) tester {
	t.Helper()

	client, table := realengine.Client(t), "records-"+rand.Text()
	if _, err := client.CreateTable(t.Context(), idemddbtest.CreateTable(table, "")); err != nil {
		t.Fatal(err)
	}

	store, err := idemddb.New(client, table, "payments", nil)
	if err != nil {
		t.Fatal(err)
	}

	return tester{t, client, table, store}
}

func (t tester) enable() {
	t.Helper()

	if err := auditing.Enable(t.Context(), t.client, t.table); err != nil {
		t.Fatal(err)
	}
}

func (t tester) do(key string) {
	t.Helper()

	if _, err := idemddb.Do(t.Context(), t.store, key, nil, func(context.Context) (string, error) { return "paid", nil }); err != nil {
		t.Fatal(err)
	}
}

// set changes an attribute of a record as a person does.
func (t tester) set(key, attribute, value string) {
	t.Helper()

	if _, err := t.client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &t.table, Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: key}},
		UpdateExpression:         new("SET #a = :v"),
		ExpressionAttributeNames: map[string]string{"#a": attribute},
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":v": &types.AttributeValueMemberS{Value: value},
		},
	}); err != nil {
		t.Fatal(err)
	}
}

func (t tester) audit() (audit.Report, error) {
	t.Helper()

	return auditing.Table(t.Context(), t.client, t.table, audit.Options{Namespaces: []string{"payments"}})
}

func TestTableJudgesEachChange(t *testing.T) {
	t.Parallel()

	w := newTester(t)
	w.enable()

	for _, key := range []string{"p-1", "p-2", "p-1"} { // the last one is a replay, which changes nothing
		w.do(key)
	}

	w.set("another program's", "note", "this is no record")

	report, err := w.audit()
	if err != nil || report.Err() != nil {
		t.Errorf("got %v, %v, want neither a loss nor a violation", err, report.Err())
	}

	want := map[audit.Kind]int{audit.NewClaim: 2, audit.Completion: 2}
	if diff := cmp.Diff(want, report.Kinds); diff != "" || report.Judged != 4 || report.NoRecords != 1 {
		t.Errorf("%v (-want +got):\n%s", report, diff)
	}

	if line := report.String(); !strings.Contains(line, "times not judged") {
		t.Errorf("got %q, want that DynamoDB Local's times are too coarse", line)
	}
}

func TestTableFindsAnEditByHand(t *testing.T) {
	t.Parallel()

	w := newTester(t)
	w.enable()
	w.do("p-1")
	w.do("p-2")
	w.set("payments#p-1", "st", "INPROGRESS")

	report, err := w.audit()
	if err != nil {
		t.Error(err)
	}

	if report.Judged != 5 || report.Violations != 1 || report.Found[0].Partition != "payments#p-1" {
		t.Fatalf("got %v, want one violation at p-1 in five changes", report)
	}

	story := strings.Split(strings.TrimSpace(report.Found[0].Story), "\n")
	if len(story) != 3 || !strings.Contains(story[0], "claims the key") || !strings.Contains(story[1], "completes the key") ||
		!strings.Contains(story[2], "VIOLATION") {
		t.Errorf("got the story\n%s\nwant the claim, the completion and the edit", report.Found[0].Story)
	}
}

func TestTableRefusesAStreamThatIsNotWhole(t *testing.T) {
	t.Parallel()

	t.Run("because there is none", func(t *testing.T) {
		t.Parallel()

		if _, err := newTester(t).audit(); err == nil || !strings.Contains(err.Error(), "has no stream") {
			t.Errorf("got %v, want that there is no stream", err)
		}
	})
	t.Run("because it began after a claim", func(t *testing.T) {
		t.Parallel()

		w := newTester(t)

		claim, _, err := w.store.Claim(t.Context(), "p-1", nil)
		if err != nil {
			t.Fatal(err)
		}

		w.enable()

		if err := claim.Release(t.Context(), nil); err != nil {
			t.Fatal(err)
		}

		if _, err := w.audit(); err == nil || !strings.Contains(err.Error(), "records that were there before: 1") {
			t.Errorf("got %v, want that the stream began too late", err)
		}
	})
	t.Run("because nothing was written", func(t *testing.T) {
		t.Parallel()

		w := newTester(t)
		w.enable()

		if _, err := w.audit(); err == nil || !strings.Contains(err.Error(), "changes in it: 0") {
			t.Errorf("got %v, want that nothing was judged", err)
		}
	})
}

func TestSumAddsReports(t *testing.T) {
	t.Parallel()

	one := audit.Report{
		Judged: 3, NoRecords: 1, Kinds: map[audit.Kind]int{audit.NewClaim: 2, audit.Commit: 1}, Late: 1, Gaps: 2, Untimed: 3, Violations: 1,
		Found: []audit.Finding{{Partition: "payments#p-1"}},
	}
	want := audit.Report{
		Judged: 6, NoRecords: 2, Kinds: map[audit.Kind]int{audit.NewClaim: 4, audit.Commit: 2}, Late: 2, Gaps: 4, Untimed: 6, Violations: 2,
		Found: []audit.Finding{{Partition: "payments#p-1"}, {Partition: "payments#p-1"}},
	}

	if diff := cmp.Diff(want, auditing.Sum(one, one)); diff != "" {
		t.Errorf("sum (-want +got):\n%s", diff)
	}
}
