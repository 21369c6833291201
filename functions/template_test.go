// Package functions_test reads template.yaml against the code that it deploys: the test fails when either moves alone.
package functions_test

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestTemplateGrantsTheActionsThatTheCodeSends(t *testing.T) {
	t.Parallel()

	got := map[string][]string{}
	for _, s := range readTemplate(t).statements() {
		got[s.Resource] = append(got[s.Resource], s.Action...)

		if s.Effect != "Allow" {
			t.Errorf("%v on %s: effect %s, want Allow", s.Action, s.Resource, s.Effect)
		}
	}

	// The tables' actions are those that the code was seen to send; the others are Lambda's own, on the function's behalf.
	want := actionsSent(t)
	want["PaymentsQueue.Arn"] = []string{"sqs:DeleteMessage", "sqs:GetQueueAttributes", "sqs:ReceiveMessage"}
	want["PaymentsLogs.Arn"] = []string{"logs:CreateLogStream", "logs:PutLogEvents"}

	for _, actions := range got {
		slices.Sort(actions)
	}

	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("actions by resource (-sent by the code +granted by the template):\n%s", diff)
	}
}

func TestTemplateLetsNobodyElseTakeTheRole(t *testing.T) {
	t.Parallel()

	role := readTemplate(t).Resources["PaymentsRole"].Properties

	if len(role.ManagedPolicyArns) > 0 {
		t.Errorf("managed policies: %v, want none: they name no resource", role.ManagedPolicyArns)
	}

	for _, s := range role.AssumeRolePolicyDocument.Statement {
		if got, want := s.Principal["Service"], "lambda.amazonaws.com"; got != want || len(s.Principal) != 1 {
			t.Errorf("principal %v, want the service %s alone", s.Principal, want)
		}
	}
}

func TestTemplateTablesHaveTheSchemaOfTheCode(t *testing.T) {
	t.Parallel()

	schema := idemddb.Table("records")

	for _, name := range []string{"RecordTable", "LedgerTable"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			table := readTemplate(t).Resources[name]
			key := attribute{AttributeName: *schema.KeySchema[0].AttributeName, KeyType: string(schema.KeySchema[0].KeyType)}
			definition := attribute{
				AttributeName: *schema.AttributeDefinitions[0].AttributeName,
				AttributeType: string(schema.AttributeDefinitions[0].AttributeType),
			}

			if diff := cmp.Diff([]attribute{key}, table.Properties.KeySchema); diff != "" {
				t.Errorf("key (-idemddb.Table +template):\n%s", diff)
			}

			if diff := cmp.Diff([]attribute{definition}, table.Properties.AttributeDefinitions); diff != "" {
				t.Errorf("attributes (-idemddb.Table +template):\n%s", diff)
			}

			if got, want := table.Properties.BillingMode, string(schema.BillingMode); got != want {
				t.Errorf("billing mode %q, want %q as in idemddb.Table", got, want)
			}

			if table.DeletionPolicy != "Retain" || table.UpdateReplacePolicy != "Retain" {
				t.Error("the table does not outlive its stack")
			}

			if !table.Properties.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled || !table.Properties.SSESpecification.SSEEnabled {
				t.Error("point-in-time recovery or encryption is off")
			}
		})
	}
}

func TestTemplateExpiresTheAttributeThatTheCodeWrites(t *testing.T) {
	t.Parallel()

	ttl := readTemplate(t).Resources["RecordTable"].Properties.TimeToLiveSpecification
	run := runOnce(t)

	expires, ok := run.item[ttl.AttributeName].(*types.AttributeValueMemberN)
	if !ok {
		t.Fatalf("a record has no number in %q, the template's TTL attribute: %v", ttl.AttributeName, run.item)
	}

	if got, want := expires.Value, run.expires; got != want {
		t.Errorf("%s = %s, want %s, the end of the record's retention in seconds", ttl.AttributeName, got, want)
	}

	if !ttl.Enabled {
		t.Error("TTL is off")
	}
}

func TestTemplateClocksAreInOrder(t *testing.T) {
	t.Parallel()

	var (
		template = readTemplate(t)
		function = template.Resources["Payments"].Properties
		queue    = template.Resources["PaymentsQueue"].Properties
		letters  = template.Resources["PaymentsDeadLetters"].Properties
		receives = template.Parameters["MaxReceiveCount"]
		source   = function.Events["Queue"].Properties
		run      = runOnce(t)

		timeout = seconds(function.Timeout)
		hidden  = seconds(queue.VisibilityTimeout)
		kept    = seconds(queue.MessageRetentionPeriod)
	)

	for _, c := range []struct {
		why          string
		short, long  time.Duration
		mayBeTheSame bool
	}{
		{"the pause of a payment ends before the function is stopped", time.Duration(template.Parameters["PauseMs"].MaxValue) * time.Millisecond, timeout, false},
		{"six times the function's time-out fit into the visibility time-out", 6*timeout + seconds(source.MaximumBatchingWindowInSeconds), hidden, true},
		{"a dead worker's lease ends before its message comes back", run.lease, hidden, false},
		{"a message is received as often as it may before its retention ends", time.Duration(receives.Default.int(t)) * hidden, kept, false},
		{"a record outlives the message that it answers for", kept, run.retention, false},
		{"a message that moves to the dead-letter queue, where its age goes on, has time left", kept, seconds(letters.MessageRetentionPeriod), false},
	} {
		if c.short <= 0 || c.short > c.long || c.short == c.long && !c.mayBeTheSame {
			t.Errorf("%s: %v against %v", c.why, c.short, c.long)
		}
	}

	if receives.MinValue < 5 {
		t.Errorf("MaxReceiveCount may be %d, want 5 at least: throttled invocations count as receives", receives.MinValue)
	}
}

func TestTemplateWiresTheQueues(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)
	source := template.Resources["Payments"].Properties.Events["Queue"].Properties
	redrive := template.Resources["PaymentsQueue"].Properties.RedrivePolicy

	if diff := cmp.Diff([]string{"ReportBatchItemFailures"}, source.FunctionResponseTypes); diff != "" {
		t.Errorf("without it Lambda deletes the messages that failed (-want +got):\n%s", diff)
	}

	if source.BatchSize > 10 && source.MaximumBatchingWindowInSeconds < 1 {
		t.Errorf("a batch of %d needs a batching window", source.BatchSize)
	}

	if got, want := source.Queue, "PaymentsQueue.Arn"; got != want {
		t.Errorf("the function reads from %s, want %s", got, want)
	}

	if got, want := redrive, (redrivePolicy{"PaymentsDeadLetters.Arn", "MaxReceiveCount"}); got != want {
		t.Errorf("redrive policy %v, want %v", got, want)
	}
}

func TestTemplateDeclaresTheEnvironmentThatTheCodeReads(t *testing.T) {
	template := readTemplate(t)
	variables := template.Resources["Payments"].Properties.Environment.Variables

	for name, value := range variables {
		if parameter, ok := template.Parameters[value]; ok {
			value = string(parameter.Default)
		}

		t.Setenv(name, value)
	}

	want := append(variablesRead(t, "payments"), "AWS_ENDPOINT_URL_DYNAMODB") // the SDK reads that one
	slices.Sort(want)

	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(variables))); diff != "" {
		t.Errorf("variables (-read by the code +declared):\n%s", diff)
	}

	env, err := ledger.ReadEnv()
	if err != nil {
		t.Error(err)
	}

	if diff := cmp.Diff(ledger.Env{Table: "RecordTable", LedgerTable: "LedgerTable"}, env); diff != "" {
		t.Errorf("what the code reads with the parameters' defaults (-want +got):\n%s", diff)
	}
}

// variablesRead returns the environment variables that the Go code below a folder asks for by name.
func variablesRead(t *testing.T, folder string) []string {
	t.Helper()

	var names []string

	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}

		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}

		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok {
				names = append(names, variableRead(t, path, call)...)
			}

			return true
		})

		return nil
	})
	if err != nil {
		t.Fatal(err)
	}

	return names
}

func variableRead(t *testing.T, path string, call *ast.CallExpr) []string {
	t.Helper()

	function, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || len(call.Args) != 1 {
		return nil
	}

	if pkg, ok := function.X.(*ast.Ident); !ok || pkg.Name != "os" || function.Sel.Name != "Getenv" && function.Sel.Name != "LookupEnv" {
		return nil
	}

	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		t.Fatalf("%s: os.%s of a computed name, which this test cannot read", path, function.Sel.Name)
	}

	name, err := strconv.Unquote(literal.Value)
	if err != nil {
		t.Fatal(err)
	}

	return []string{name}
}

// The template declares the variable empty, so that `sam local invoke` can override it. That is safe while the SDK takes empty for unset.
func TestTemplateEndpointIsUnsetToTheSDK(t *testing.T) {
	value := readTemplate(t).Resources["Payments"].Properties.Environment.Variables["AWS_ENDPOINT_URL_DYNAMODB"]

	for _, c := range []struct{ name, global string }{
		{"on AWS", ""},
		{"where one endpoint serves all, as LocalStack sets it", "http://127.0.0.1:4566"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("AWS_CONFIG_FILE", filepath.Join(t.TempDir(), "none"))
			t.Setenv("AWS_CA_BUNDLE", "")
			t.Setenv("AWS_REGION", "eu-west-1")
			t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", value)
			t.Setenv("AWS_ENDPOINT_URL", c.global)

			if c.global == "" {
				if err := os.Unsetenv("AWS_ENDPOINT_URL"); err != nil { // t.Setenv puts back what was there
					t.Fatal(err)
				}
			}

			cfg, err := config.LoadDefaultConfig(t.Context())
			if err != nil {
				t.Fatal(err)
			}

			var got string
			if endpoint := dynamodb.NewFromConfig(cfg).Options().BaseEndpoint; endpoint != nil {
				got = *endpoint
			}

			if got != c.global {
				t.Errorf("the client's endpoint is %q, want %q", got, c.global)
			}
		})
	}
}

func TestTemplateBuildsTheFunction(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)
	payments := template.Resources["Payments"]
	architecture := template.Parameters["Architecture"]

	if _, err := os.Stat(filepath.Join("..", payments.Properties.CodeURI, "main.go")); err != nil {
		t.Errorf("CodeUri: %v", err)
	}

	got := []string{payments.Properties.Runtime, payments.Properties.Handler, payments.Metadata.BuildMethod, payments.Properties.Role, payments.Properties.LoggingConfig.LogFormat}
	if diff := cmp.Diff([]string{"provided.al2023", "bootstrap", "go1.x", "PaymentsRole.Arn", "JSON"}, got); diff != "" {
		t.Errorf("function (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff([]string{"Architecture"}, payments.Properties.Architectures); diff != "" {
		t.Errorf("architectures (-want +got):\n%s", diff)
	}

	if diff := cmp.Diff(parameter{Default: "arm64", AllowedValues: []string{"arm64", "x86_64"}}, architecture); diff != "" {
		t.Errorf("parameter Architecture (-want +got):\n%s", diff)
	}

	if got, want := payments.Properties.LoggingConfig.LogGroup, "PaymentsLogs"; got != want {
		t.Errorf("log group %s, want %s", got, want)
	}

	if got, want := template.Resources["PaymentsLogs"].Properties.RetentionInDays, "LogRetentionDays"; got != want {
		t.Errorf("logs are kept for %q days, want the parameter %s", got, want)
	}
}

// run is what one record showed: the clocks that the code runs on.
type run struct {
	lease, retention time.Duration
	item             map[string]types.AttributeValue
	expires          string
}

// runOnce claims and completes a key with default Options.
func runOnce(t *testing.T) run {
	t.Helper()

	clock := idemddbtest.NewClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	db := newDB(t, clock)
	store := newStore(t, db, clock)
	began := clock.Now()

	claim, _, err := store.Claim(context.WithoutCancel(t.Context()), "p-1", nil)
	if err != nil {
		t.Fatal(err)
	}

	if err := claim.Complete(t.Context(), nil); err != nil {
		t.Fatal(err)
	}

	_, record, err := store.Claim(t.Context(), "p-1", nil)
	if err != nil || record == nil {
		t.Fatalf("claim of a completed key: %v, %v, want its record", record, err)
	}

	items := db.Items("RecordTable")
	if len(items) != 1 {
		t.Fatalf("%d records, want one", len(items))
	}

	return run{
		lease:     claim.Deadline().Sub(began),
		retention: record.ExpiresAt.Sub(record.CompletedAt),
		item:      items[0],
		expires:   epochSeconds(record.ExpiresAt),
	}
}

// actionsSent runs payments to every end that a message can have, and returns the IAM actions that this took, by table.
func actionsSent(t *testing.T) map[string][]string {
	t.Helper()

	clock := idemddbtest.NewClock(time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC))
	db := newDB(t, clock)
	store := newStore(t, db, clock)

	accounts, err := ledger.New(db, "LedgerTable", nil)
	if err != nil {
		t.Fatal(err)
	}

	deliver := func(h lambdawrap.Handler, body string) {
		message := events.SQSMessage{MessageId: "m-1", EventSourceARN: "arn:aws:sqs:eu-west-1:1:payments", Body: body}
		if _, err := lambdawrap.SQS(store, h, accounts.Options())(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message}}); err != nil {
			t.Fatal(err)
		}
	}

	const payment = `{"paymentId":"p-1","account":"a-1","amount":1250}`

	deliver(func(context.Context, events.SQSMessage) error { return errors.New("try again") }, payment) // released
	deliver(accounts.Pay, payment)                                                                      // claimed, completed
	deliver(accounts.Pay, payment)                                                                      // a duplicate
	deliver(accounts.Pay, `{"paymentId":"p-2","account":"a-1","amount":-1}`)                            // failed for good
	clock.Advance(365 * 24 * time.Hour)
	deliver(accounts.Pay, payment) // past its retention

	sent := map[string]map[string]bool{}
	for _, r := range db.Requests() {
		for _, part := range slices.Concat(r.Items, []idemddbtest.Request{r}) { // a transaction needs the actions of its parts
			if part.Table == "" {
				continue
			}

			if sent[part.Table] == nil {
				sent[part.Table] = map[string]bool{}
			}

			sent[part.Table]["dynamodb:"+strings.TrimSuffix(part.Operation, "Item")+"Item"] = true
		}
	}

	actions := map[string][]string{}
	for table, set := range sent {
		actions[table+".Arn"] = slices.Sorted(maps.Keys(set))
	}

	return actions
}

func newDB(t *testing.T, clock *idemddbtest.Clock) *idemddbtest.DB {
	t.Helper()

	db := idemddbtest.New(&idemddbtest.Options{Now: clock.Now})

	for _, table := range []string{"RecordTable", "LedgerTable"} {
		if _, err := db.CreateTable(t.Context(), idemddb.Table(table)); err != nil {
			t.Fatal(err)
		}
	}

	db.ResetRequests()

	return db
}

func newStore(t *testing.T, db *idemddbtest.DB, clock *idemddbtest.Clock) *idemddb.Store {
	t.Helper()

	store, err := idemddb.New(db, "RecordTable", "payments", &idemddb.Options{Now: clock.Now})
	if err != nil {
		t.Fatal(err)
	}

	return store
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
