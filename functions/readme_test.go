package functions_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/localstack/runtimeapi"
)

// Who reads the first screen alone must know what the library does, what it does not do, and what loses messages.

func TestReadmeFitsAndBeginsWithTheFieldsWords(t *testing.T) {
	t.Parallel()

	const most, firstScreen = 150, 40 // lines

	readme := readRoot(t, "README.md")
	lines := strings.SplitAfter(readme, "\n")

	if got := strings.Count(readme, "\n"); got > most {
		t.Errorf("README.md has %d lines, want %d at most", got, most)
	}

	screen := strings.Join(lines[:min(firstScreen, len(lines))], "")
	for _, words := range []string{
		"idempotent", "exactly once", "at least once", "fencing token", "lease", "never run on AWS itself", "Go 1.26 and 1.27",
	} {
		if !strings.Contains(strings.ReplaceAll(screen, "\n", " "), words) {
			t.Errorf("the first %d lines do not have %q", firstScreen, words)
		}
	}
}

func TestReadmeShowsAShortProgramAndWhatItNeeds(t *testing.T) {
	t.Parallel()

	program := readRoot(t, "functions/testdata/quickstart/main.go")
	if got := strings.Count(program, "\n"); got > 40 {
		t.Errorf("main.go has %d lines, want 40 at most", got)
	}

	_, after, ok := strings.Cut(readRoot(t, "README.md"), program)
	if !ok {
		t.Fatal("the program is not in README.md")
	}

	needs, _, _ := strings.Cut(after, "\n#") // the next heading
	for _, words := range []string{
		"go get github.com/idemddb/go-idemddb", "FunctionResponseTypes: [ReportBatchItemFailures]", "deletes every failed message",
		"TimeToLiveSpecification", "visibility time-out", "retention", "Options.Timeout",
	} {
		if !strings.Contains(needs, words) {
			t.Errorf("between the program and the heading after it: no %q", words)
		}
	}
}

// The resources that the pages show are those of template.yaml, which is deployed and tried.
func TestResourcesOfThePagesAreThoseOfTheTemplate(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"README.md", "docs/getting-started.md"} {
		blocks := yamlIn(readRoot(t, name))
		if len(blocks) != 1 {
			t.Errorf("%s has %d blocks of YAML, want 1", name, len(blocks))

			continue
		}

		if diff := cmp.Diff(essentials(t, readRoot(t, "template.yaml")), essentials(t, blocks[0])); diff != "" {
			t.Errorf("%s (-template.yaml +page):\n%s", name, diff)
		}
	}
}

// essential is what no function can do without.
type essential struct {
	Table                 table    // of the records
	Actions               []string // on it
	FunctionResponseTypes []string
}

// essentials are read from a template, whether its role stands by itself or in the function.
func essentials(t *testing.T, source string) essential {
	t.Helper()

	var (
		found    essential
		document struct{ Resources map[string]yaml.Node }
	)

	decode(t, []byte(source), &document)

	for _, node := range document.Resources {
		var (
			r      resource
			inline struct {
				Properties struct{ Policies []policy }
			}
			f struct{ Properties function }
		)

		_ = node.Decode(&r)
		statements := []statement{}

		switch r.Type {
		case "AWS::DynamoDB::Table":
			if ttl := r.Properties.TimeToLiveSpecification; ttl.Enabled { // the ledger of template.yaml has none
				found.Table.KeySchema = r.Properties.KeySchema
				found.Table.AttributeDefinitions = r.Properties.AttributeDefinitions[:len(r.Properties.KeySchema)] // the rest is for the index of the unsent
				found.Table.TimeToLiveSpecification, found.Table.BillingMode = ttl, r.Properties.BillingMode
			}
		case "AWS::IAM::Role":
			for _, p := range r.Properties.Policies {
				statements = append(statements, p.PolicyDocument.Statement...)
			}
		case "AWS::Serverless::Function":
			_ = node.Decode(&inline)
			_ = node.Decode(&f)

			for _, p := range inline.Properties.Policies {
				statements = append(statements, p.Statement...)
			}

			for _, e := range f.Properties.Events {
				if e.Type == "SQS" {
					found.FunctionResponseTypes = e.Properties.FunctionResponseTypes
				}
			}
		}

		for _, s := range statements {
			isFewer := found.Actions == nil || len(s.Action) < len(found.Actions) // that of the API has more than what no function can do without
			if isFewer && slices.Contains(s.Action, "dynamodb:PartiQLInsert") {
				found.Actions = slices.Sorted(slices.Values(s.Action))
			}
		}
	}

	return found
}

// The README's program, as it stands, on Lambda's runtime interface: a message and its duplicate.
func TestReadmeProgramPaysOnce(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("building and linking programs costs more than all else of this package")
	}

	program := filepath.Join(t.TempDir(), "bootstrap")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/quickstart").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))

	dynamo := httptest.NewServer(db.Handler())
	defer dynamo.Close()

	var log bytes.Buffer

	cmd := exec.CommandContext(t.Context(), program)
	cmd.Stderr = &log
	cmd.Env = []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + dynamo.URL,
		"TABLE_NAME=records", "AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
	}

	invoke, end := started(t, cmd)

	payment := events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "m-1", EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments", Body: `{"paymentId":"p-1"}`,
	}}}
	for range 2 {
		if got, want := invoke(payment), `{"batchItemFailures":[]}`; got != want {
			t.Errorf("answer: got %s, want %s", got, want)
		}
	}

	end()

	if got := strings.Count(log.String(), "paying p-1"); got != 1 {
		t.Errorf("paid %d times, want once\n%s", got, log.String())
	}

	// Two weeks in the queue, or as a dead letter, and, once redriven, two weeks in the queue again: SQS keeps no message longer.
	const longest, late = 28 * 24 * time.Hour, 15 * time.Minute

	if kept := recordKept(t, db); kept < longest+late {
		t.Errorf("the record answers for %v: whoever copies the program alone may have a queue that brings a message back after %v", kept, longest)
	}
}

// recordKept is for how long the one record in the table answers after its completion.
func recordKept(t *testing.T, db *idemddbtest.DB) time.Duration {
	t.Helper()

	out, err := db.Scan(t.Context(), &dynamodb.ScanInput{TableName: new("records")})
	if err != nil || len(out.Items) != 1 {
		t.Fatalf("got %v, error %v, want one record", out, err)
	}

	var record struct {
		Done int64 `dynamodbav:"done"`
		Ends int64 `dynamodbav:"exp"`
	}

	if err := attributevalue.UnmarshalMap(out.Items[0], &record); err != nil {
		t.Fatal(err)
	}

	return time.Unix(record.Ends, 0).Sub(time.UnixMilli(record.Done))
}

// started starts the program of a function. It returns a function that invokes it, with the request ids r-1, r-2 and so on, and
// returns its answer, and one that ends it.
func started(t *testing.T, cmd *exec.Cmd) (invoke func(event any) string, end func()) {
	t.Helper()

	process, err := runtimeapi.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}

	invocations := 0

	invoke = func(event any) string {
		t.Helper()

		payload, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}

		invocations++

		answer, err := process.Invoke(runtimeapi.Invocation{
			ID: fmt.Sprintf("r-%d", invocations), Event: payload, Deadline: time.Now().Add(30 * time.Second),
		})
		if failed, ok := errors.AsType[*runtimeapi.FunctionError](err); ok {
			return string(failed.Body)
		}

		if err != nil {
			t.Error(err)
		}

		return string(answer)
	}

	return invoke, func() { process.Kill() }
}

func readRoot(t *testing.T, name string) string {
	t.Helper()

	content, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}

	return string(content)
}
