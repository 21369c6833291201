package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// Names that a reader looks up on a page have a row there, and a row stands for a name that exists.
func TestTablesHaveARowForEachName(t *testing.T) {
	t.Parallel()

	parameters, alarms := namesOf(readTemplate(t))

	for name, test := range map[string]struct {
		page, head string // of the table: its first heading
		want       []string
	}{
		"options of the wrapper": {"README.md", "field", fieldsOf[lambdawrap.Options]()},
		"options of HTTP":        {"docs/http.md", "field", fieldsOf[lambdawrap.HTTPOptions]()},
		"options of a Store":     {"docs/do.md", "field", fieldsOf[idemddb.Options]()},
		"kinds of events":        {"docs/outcomes.md", "event", constantsOf(t, "idemddb", "Kind")},
		"errors":                 {"docs/do.md", "error", append(errorsOf(t, "idemddb"), "any other")},
		"attributes of a record": {"docs/record.md", "attribute", attributesOf(t)},
		"metrics":                {"docs/outcomes.md", "metric", metricsOf(t)},
		"parameters":             {"docs/deploy.md", "parameter", parameters},
		"alarms":                 {"docs/operations.md", "alarm", alarms},
		"outcomes":               {"docs/what-a-message-becomes.md", "outcome", constantsOf(t, "lambdawrap", "Outcome")},
		"files of idemddb":       {"docs/code.md", "file of idemddb", filesOf(t, "idemddb")},
		"files of lambdawrap":    {"docs/code.md", "file of lambdawrap", filesOf(t, "lambdawrap")},
		"files of idem":          {"docs/code.md", "file of cmd/idem", filesOf(t, "cmd/idem")},
		"files of idemlint":      {"docs/code.md", "file of cmd/idemlint", filesOf(t, "cmd/idemlint")},
		"internal packages":      {"docs/code.md", "package", packagesOf(t, "internal", "internal/checks", "idemddb/idemddbtest/internal")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			got := firstColumn(readRoot(t, test.page), test.head)
			slices.Sort(got)
			slices.Sort(test.want)

			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("%s (-code +page):\n%s", test.page, diff)
			}
		})
	}
}

// filesOf are the files of a package without its tests.
func filesOf(t *testing.T, dir string) (names []string) {
	t.Helper()

	for _, entry := range entriesOf(t, dir) {
		if name := entry.Name(); strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			names = append(names, name)
		}
	}

	return names
}

// packagesOf are the packages in these directories. Some consist of tests alone.
func packagesOf(t *testing.T, dirs ...string) (names []string) {
	t.Helper()

	for _, dir := range dirs {
		for _, entry := range entriesOf(t, dir) {
			name := dir + "/" + entry.Name()
			if files, err := filepath.Glob("../" + name + "/*.go"); err != nil {
				t.Fatal(err)
			} else if len(files) > 0 {
				names = append(names, name)
			}
		}
	}

	return names
}

func entriesOf(t *testing.T, dir string) []os.DirEntry {
	t.Helper()

	entries, err := os.ReadDir("../" + dir)
	if err != nil {
		t.Fatal(err)
	}

	return entries
}

// namesOf are the parameters of the template and its alarms.
func namesOf(t template) (parameters, alarms []string) {
	for name, r := range t.Resources {
		if r.Type == "AWS::CloudWatch::Alarm" {
			alarms = append(alarms, name)
		}
	}

	return slices.Collect(maps.Keys(t.Parameters)), alarms
}

// firstColumn is the first column of the tables whose first heading is head, without its marks of code.
func firstColumn(text, head string) (cells []string) {
	inTable := false

	for line := range strings.Lines(text) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")

		switch {
		case !strings.HasPrefix(line, "|"):
			inTable = false
		case strings.HasPrefix(line, "|--"):
		case !inTable && !strings.HasPrefix(line, "| "+head+" |"):
			// Another table: its rows must not begin this one.
		case !inTable:
			inTable = true
		default:
			for part := range strings.SplitSeq(cell, ", ") {
				cells = append(cells, strings.Trim(part, "`"))
			}
		}
	}

	return cells
}

func fieldsOf[T any]() (names []string) {
	for field := range reflect.TypeFor[T]().Fields() {
		names = append(names, field.Name)
	}

	return names
}

// declared calls found with each package-level name of a package that is a variable or a constant.
func declared(t *testing.T, dir string, found func(name *ast.Ident, spec *ast.ValueSpec, index int)) {
	t.Helper()

	files, err := filepath.Glob(filepath.Join("..", dir, "*.go"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s: no Go files: %v", dir, err)
	}

	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}

		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}

		for _, declaration := range file.Decls {
			general, ok := declaration.(*ast.GenDecl)
			if !ok {
				continue
			}

			for _, spec := range general.Specs {
				if values, ok := spec.(*ast.ValueSpec); ok {
					for i, name := range values.Names {
						found(name, values, i)
					}
				}
			}
		}
	}
}

// constantsOf are the values of the exported string constants of a type.
func constantsOf(t *testing.T, dir, typeName string) (values []string) {
	t.Helper()

	declared(t, dir, func(name *ast.Ident, spec *ast.ValueSpec, index int) {
		if ident, ok := spec.Type.(*ast.Ident); !ok || ident.Name != typeName || !name.IsExported() {
			return
		}

		literal, ok := spec.Values[index].(*ast.BasicLit)
		if !ok {
			t.Fatalf("%s.%s is no literal", dir, name.Name)
		}

		value, err := strconv.Unquote(literal.Value)
		if err != nil {
			t.Fatal(err)
		}

		values = append(values, value)
	})

	if len(values) == 0 {
		t.Errorf("%s has no constants of type %s", dir, typeName)
	}

	return values
}

// errorsOf are the names of a package's sentinels.
func errorsOf(t *testing.T, dir string) (names []string) {
	t.Helper()

	declared(t, dir, func(name *ast.Ident, _ *ast.ValueSpec, _ int) {
		if regexp.MustCompile(`^Err[A-Z]`).MatchString(name.Name) {
			names = append(names, name.Name)
		}
	})

	if len(names) == 0 {
		t.Errorf("%s has no errors", dir)
	}

	return names
}

// metricsOf are the names of the metrics that a line has.
func metricsOf(t *testing.T) (names []string) {
	t.Helper()

	var (
		out  bytes.Buffer
		line struct {
			AWS struct {
				CloudWatchMetrics []struct{ Metrics []struct{ Name string } }
			} `json:"_aws"`
		}
	)

	metrics := lambdawrap.NewMetrics(&out, "Payments")
	metrics.Observe(t.Context(), idemddb.Event{}) // or it warns that it gets no events

	handler := lambdawrap.Measure(metrics, func(context.Context, events.SQSEvent) (response events.SQSEventResponse, err error) {
		return response, nil
	})
	if _, err := handler(t.Context(), events.SQSEvent{}); err != nil {
		t.Fatal(err)
	}

	if err := json.Unmarshal(out.Bytes(), &line); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}

	for _, directive := range line.AWS.CloudWatchMetrics {
		for _, metric := range directive.Metrics {
			names = append(names, metric.Name)
		}
	}

	return names
}

// attributesOf are the attributes of the golden records, which hold all that are written.
func attributesOf(t *testing.T) []string {
	t.Helper()

	content, err := os.ReadFile("../idemddb/testdata/record-v1.json")
	if err != nil {
		t.Fatal(err)
	}

	var records map[string]map[string]any
	if err := json.Unmarshal(content, &records); err != nil {
		t.Fatal(err)
	}

	names := map[string]bool{}

	for _, record := range records {
		for name := range record {
			names[name] = true
		}
	}

	return slices.Collect(maps.Keys(names))
}

// The conditions on the page are those that a Store sends.
func TestRecordPageHasTheConditionsThatAreSent(t *testing.T) {
	t.Parallel()

	clock := idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC))
	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))

	claim := func(key string, opts *idemddb.Options, claimOpts *idemddb.ClaimOptions) (*idemddb.Store, *idemddb.Claim) {
		opts.Now = clock.Now

		store, err := idemddb.New(db, "records", "payments", opts)
		if err != nil {
			t.Fatal(err)
		}

		claim, record, err := store.Claim(t.Context(), key, claimOpts)
		if claim == nil && !errors.Is(err, idemddb.ErrFailed) {
			t.Fatalf("got record %v, error %v, want a claim", record, err)
		}

		return store, claim
	}

	_, first := claim("completed", &idemddb.Options{}, &idemddb.ClaimOptions{Fingerprint: "12.50"})
	store, second := claim("failed", &idemddb.Options{Senders: map[string]idemddb.Sender{"receipts": stand.Sender(stand.Takes)}}, nil)
	_, third := claim("released", &idemddb.Options{}, nil)
	claim("left", &idemddb.Options{}, nil)
	clock.Advance(time.Second)

	for _, err := range []error{
		first.Extend(t.Context()), first.Complete(t.Context(), nil), second.Fail(t.Context(), errors.New("account is closed")),
		third.Release(t.Context(), nil), store.Reopen(t.Context(), "failed"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}

	if _, err := store.Commit(t.Context(), "committed", nil, nil, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: "paid"}}}); err != nil {
		t.Fatal(err)
	}

	clock.Advance(time.Minute)
	claim("left", &idemddb.Options{MaxAttempts: 1}, nil) // this claim gives the key up, so it is FAILED
	clock.Advance(30 * 24 * time.Hour)
	claim("completed", &idemddb.Options{}, nil) // its retention is over, and Time to Live has not deleted it

	page, sent := readRoot(t, "docs/record.md"), map[string]bool{}

	for _, request := range db.Requests() {
		if request.Condition == "" { // CreateTable
			continue
		}

		condition := strings.ReplaceAll(request.Condition, " AND att < :max", "") // the page leaves out the term of MaxAttempts
		sent[condition] = true

		if !strings.Contains(page, "`"+condition+"`") {
			t.Errorf("docs/record.md does not have the condition of %s %s", request.Operation, condition)
		}
	}

	if len(sent) != 9 {
		t.Errorf("%d conditions were sent, want 9: %v", len(sent), sent)
	}
}

// The keys on the page are those that Body makes.
func TestKeysPageHasTheKeysThatAreMade(t *testing.T) {
	t.Parallel()

	page := readRoot(t, "docs/keys.md")

	for _, test := range []struct {
		paths []string
		body  string
		key   string
	}{
		{[]string{"paymentId"}, `{"paymentId":"p-1"}`, `p-1`},
		{[]string{"paymentId"}, `{"paymentId":"#7"}`, `##7`},
		{[]string{"paymentId"}, `{"paymentId":123}`, `#123`},
		{[]string{"paymentId"}, `{"paymentId":123.0}`, `#123`},
		{[]string{"paymentId"}, `{"paymentId":1.23e2}`, `#123`},
		{[]string{"customer.id", "paymentId"}, `{"paymentId":"p-1","customer":{"id":"c-1"}}`, `#["c-1","p-1"]`},
		{[]string{"orders[0].id"}, `{"orders":[{"id":"o-1"}]}`, `o-1`},
		{[]string{`detail."odd.name"`}, `{"detail":{"odd.name":"x"}}`, `x`},
		{[]string{"Message.orderId"}, `{"Message":"{\"orderId\":\"o-1\"}"}`, `o-1`},
	} {
		key, err := lambdawrap.Body(test.paths...)
		if err != nil {
			t.Fatal(err)
		}

		got, err := key(t.Context(), events.SQSMessage{Body: test.body})
		if err != nil || got != test.key {
			t.Errorf("%v of %s: got %q, %v, want %q", test.paths, test.body, got, err, test.key)
		}

		words := []string{test.paths[0]}
		if test.paths[0] == "paymentId" || len(test.paths) > 1 {
			words = append(words, test.key)
		}

		for _, word := range words {
			if !strings.Contains(page, "`"+word+"`") {
				t.Errorf("docs/keys.md does not have %q", word)
			}
		}
	}
}
