// Package functions_test reads template.yaml against the code that it deploys: the test fails when either moves alone.
package functions_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestTemplateNamesActionsAndResourcesOneByOne(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"PaymentsRole", "RelayRole", "ApiRole", "AuditorRole"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			checkRole(t, readTemplate(t), name)
		})
	}
}

func checkRole(t *testing.T, template template, name string) {
	t.Helper()

	role := template.Resources[name].Properties

	if len(role.ManagedPolicyArns) > 0 {
		t.Errorf("managed policies: %v, want none: they name no resource", role.ManagedPolicyArns)
	}

	for _, s := range role.AssumeRolePolicyDocument.Statement {
		if got, want := s.Principal["Service"], "lambda.amazonaws.com"; got != want || len(s.Principal) != 1 {
			t.Errorf("principal %v, want the service %s alone", s.Principal, want)
		}

		if got := s.When["StringEquals"]["aws:SourceAccount"]; got != "AWS::AccountId" {
			t.Errorf("the role is assumed for %q, want functions of its own account alone", got)
		}
	}

	for _, s := range template.statements(name) {
		if s.Effect != "Allow" {
			t.Errorf("%v on %s: effect %s, want Allow", s.Action, s.Resource, s.Effect)
		}

		if slices.Equal(s.Action, list{"xray:PutTraceSegments", "xray:PutTelemetryRecords"}) && s.Condition == "Traced" {
			continue // X-Ray has no resources to name
		}

		if s.Condition == "OwnKey" && slices.Equal(s.Resource, list{"KmsKeyArn"}) && slices.Equal(s.Action, list{"kms:Decrypt", "kms:GenerateDataKey"}) {
			continue
		}

		if named := strings.Join(slices.Concat(s.Action, s.Resource), " "); strings.ContainsAny(named, "*?") || s.Condition != "" {
			t.Errorf("%v on %v (condition %q): a wildcard, or a grant under a condition that this test does not know", s.Action, s.Resource, s.Condition)
		}
	}
}

func TestTemplateTablesHaveTheSchemaOfTheCode(t *testing.T) {
	t.Parallel()

	for name, schema := range map[string]*dynamodb.CreateTableInput{
		"RecordTable": idemddbtest.CreateTable("records", "unsent"), "LedgerTable": idemddbtest.CreateTable("ledger", ""),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			table := readTemplate(t).Resources[name]

			checkSchema(t, schema, table.Properties.table)

			if got, want := table.Properties.BillingMode, string(schema.BillingMode); got != want {
				t.Errorf("billing mode %q, want %q as in idemddbtest.CreateTable", got, want)
			}

			if table.DeletionPolicy != "RetainExceptOnCreate" || table.UpdateReplacePolicy != "Retain" {
				t.Error("the table does not outlive its stack")
			}

			if !table.Properties.PointInTimeRecoverySpecification.PointInTimeRecoveryEnabled || !table.Properties.SSESpecification.SSEEnabled {
				t.Error("point-in-time recovery or encryption is off")
			}

			if got, want := table.Properties.DeletionProtectionEnabled, "DeletionProtection"; got != want {
				t.Errorf("deletion protection is %q, want the parameter %s", got, want)
			}
		})
	}
}

// checkSchema compares keys, the attributes of keys, and indexes.
func checkSchema(t *testing.T, schema *dynamodb.CreateTableInput, got table) {
	t.Helper()

	want := table{KeySchema: keySchema(schema.KeySchema)}
	for _, d := range schema.AttributeDefinitions {
		want.AttributeDefinitions = append(want.AttributeDefinitions, attribute{AttributeName: *d.AttributeName, AttributeType: string(d.AttributeType)})
	}

	for _, i := range schema.GlobalSecondaryIndexes {
		wanted := index{IndexName: *i.IndexName, KeySchema: keySchema(i.KeySchema)}
		wanted.Projection.ProjectionType = string(i.Projection.ProjectionType)
		want.GlobalSecondaryIndexes = append(want.GlobalSecondaryIndexes, wanted)
	}

	got = table{KeySchema: got.KeySchema, AttributeDefinitions: got.AttributeDefinitions, GlobalSecondaryIndexes: got.GlobalSecondaryIndexes}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("schema (-code +template):\n%s", diff)
	}
}

func keySchema(elements []types.KeySchemaElement) (key []attribute) {
	for _, e := range elements {
		key = append(key, attribute{AttributeName: *e.AttributeName, KeyType: string(e.KeyType)})
	}

	return key
}

func TestTemplateWiresTheQueues(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)
	queue, letters := template.Resources["PaymentsQueue"].Properties.queue, template.Resources["PaymentsDeadLetters"].Properties.queue

	if got, want := queue.RedrivePolicy, (redrivePolicy{"PaymentsDeadLetters.Arn", "MaxReceiveCount"}); got != want {
		t.Errorf("redrive policy %v, want %v", got, want)
	}

	allowed := redriveAllowPolicy{"byQueue", []string{"arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:" + queue.QueueName}}
	if diff := cmp.Diff(allowed, letters.RedriveAllowPolicy); diff != "" {
		t.Errorf("who may put dead letters there (-want +got):\n%s", diff)
	}

	for name, r := range template.Resources {
		n := r.Properties.QueueName + r.Properties.AlarmName + template.functions[name].FunctionName // the function's is that of its metrics too
		if n != "" && !strings.Contains(n, "${AWS::StackName}") {
			t.Errorf("%s is named %s in every stack: a second one could not be deployed", name, n)
		}
	}
}

func TestTemplateHasTheSameFunctionForEachRollout(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)
	direct, gradual := template.functions["Payments"], template.functions["PaymentsGradual"]

	if len(template.functions) != 5 || template.Resources["Payments"].Condition != "Direct" || template.Resources["PaymentsGradual"].Condition != "Gradual" {
		t.Errorf("functions %v under %q and %q, want Api, Relay, Auditor, and Payments and PaymentsGradual under Direct and Gradual",
			slices.Sorted(maps.Keys(template.functions)), template.Resources["Payments"].Condition, template.Resources["PaymentsGradual"].Condition)
	}

	for name, f := range map[string]function{"Payments": direct, "PaymentsGradual": gradual} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if _, err := os.Stat(filepath.Join("..", f.CodeURI, "main.go")); err != nil {
				t.Errorf("CodeUri: %v", err)
			}

			got := []string{
				f.Runtime, f.Handler, template.Resources[name].Metadata.BuildMethod, f.Role, f.Timeout, f.MemorySize, f.Tracing,
				f.LoggingConfig.LogFormat, f.LoggingConfig.LogGroup,
			}
			want := []string{
				"provided.al2023", "bootstrap", "go1.x", "PaymentsRole.Arn", "FunctionTimeout", "MemorySize", "Tracing", "JSON", "PaymentsLogs",
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("function (-want +got):\n%s", diff)
			}

			if diff := cmp.Diff([]string{"Architecture"}, f.Architectures); diff != "" {
				t.Errorf("architectures (-want +got):\n%s", diff)
			}

			for event, source := range f.Events {
				if _, taken := template.Resources[name+event]; taken {
					t.Errorf("SAM names the mapping %s, which is a resource already: AWS refuses the template", name+event)
				}

				if diff := cmp.Diff([]string{"ReportBatchItemFailures"}, source.Properties.FunctionResponseTypes); diff != "" {
					t.Errorf("without it Lambda deletes the messages that failed (-want +got):\n%s", diff)
				}

				got := []string{
					source.Properties.Queue, source.Properties.ScalingConfig.MaximumConcurrency,
					source.Properties.BatchSize, source.Properties.MaximumBatchingWindowInSeconds, string(source.Properties.Enabled),
				}
				want := []string{"PaymentsQueue.Arn", "MaximumConcurrency", "BatchSize", "BatchingWindow", "[Consuming, true, false]"}

				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("event source (-want +got):\n%s", diff)
				}
			}

			if len(f.Events) != 1 {
				t.Errorf("%d event sources, want one", len(f.Events))
			}
		})
	}

	if diff := cmp.Diff(direct.Events, gradual.Events); diff != "" {
		t.Errorf("event sources (-direct +gradual):\n%s", diff)
	}

	if diff := cmp.Diff(direct.Environment, gradual.Environment); diff != "" {
		t.Errorf("environments (-direct +gradual):\n%s", diff)
	}

	for _, logs := range []string{"PaymentsLogs", "RelayLogs", "ApiLogs", "AuditorLogs"} {
		if got, want := template.Resources[logs].Properties.RetentionInDays, "LogRetentionDays"; got != want {
			t.Errorf("%s are kept for %q days, want the parameter %s", logs, got, want)
		}
	}
}

// Those of payments have more in common than this.
func TestTemplateBuildsEachFunctionFromItsFolder(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)

	for name, want := range map[string][]string{
		"Api":     {"functions/api/", "ApiRole.Arn", "ApiLogs", "LogLevel", "AWS_IAM", "RESPONSE_STREAM"}, // for who is verified
		"Relay":   {"functions/relay/", "RelayRole.Arn", "RelayLogs", "INFO", "", ""},                     // its metrics are lines of this level, and an alarm needs them
		"Auditor": {"functions/audit/", "AuditorRole.Arn", "AuditorLogs", "INFO", "", ""},
	} {
		f := template.functions[name]
		if _, err := os.Stat(filepath.Join("..", f.CodeURI, "main.go")); err != nil {
			t.Errorf("%s: CodeUri: %v", name, err)
		}

		want = append(want, "provided.al2023", "bootstrap", "Tracing", "JSON")
		got := []string{
			f.CodeURI, f.Role, f.LoggingConfig.LogGroup, f.LoggingConfig.ApplicationLogLevel, f.FunctionURLConfig.AuthType, f.FunctionURLConfig.InvokeMode,
			f.Runtime, f.Handler, f.Tracing, f.LoggingConfig.LogFormat,
		}

		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestTemplateSweepsEachMinute(t *testing.T) {
	t.Parallel()

	relay := readTemplate(t).functions["Relay"]
	if event := relay.Events["EachMinute"]; len(relay.Events) != 1 || event.Type != "Schedule" || event.Properties.Schedule != "rate(1 minute)" {
		t.Errorf("events %+v, want a schedule of a minute", relay.Events)
	}

	if retries := relay.EventInvokeConfig; retries.MaximumRetryAttempts == nil || *retries.MaximumRetryAttempts != 0 || retries.MaximumEventAgeInSeconds != 60 {
		t.Errorf("retries %+v, want none: the next minute is one", retries)
	}
}

func TestTemplateRollsBack(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)
	f := template.functions["PaymentsGradual"]

	if f.AutoPublishAlias != "live" || !f.AutoPublishAliasAllProperties || f.DeploymentPreference.Type != "Rollout" || !f.DeploymentPreference.PassthroughCondition {
		t.Errorf("alias %q, a version for every change %v, rollout %q, under the function's condition %v: want live, true, the parameter Rollout, true",
			f.AutoPublishAlias, f.AutoPublishAliasAllProperties, f.DeploymentPreference.Type, f.DeploymentPreference.PassthroughCondition)
	}

	// By reference, so that the alarms exist before the deployment that asks them.
	if diff := cmp.Diff([]string{"${NewVersionErrors}", "${NewVersionFailures}", "ThrottledWrites"}, f.DeploymentPreference.Alarms); diff != "" {
		t.Errorf("alarms that roll back (-want +got):\n%s", diff)
	}

	if got, want := template.Resources["PaymentsGradual"].UpdateReplacePolicy, "Retain"; got != want {
		t.Errorf("the policy of a version that is replaced is %q, want %s: there is none to go back to", got, want)
	}

	// What they look at is stated by TestTemplateAlarmsSayWhatToDo.
	for _, name := range []string{"NewVersionErrors", "NewVersionFailures"} {
		if got, want := template.Resources[name].Condition, "Gradual"; got != want {
			t.Errorf("%s is there under the condition %q, want %q", name, got, want)
		}

		// An alarm that is changed keeps its state. One with another name is another alarm.
		if got := template.Resources[name].Properties.AlarmName; !strings.Contains(got, "${PaymentsGradual.Version.Version}") {
			t.Errorf("%s is called %q for every version: it would keep the state that the version before left", name, got)
		}
	}

	// A parameter of the function that is changed alone makes a new version only by its description.
	described := referredTo(" ${" + strings.Join(referredTo(f.VersionDescription), "} ${") + "}")

	ofFunction := referredTo(template.section("Globals"))
	ofFunction = slices.AppendSeq(ofFunction, maps.Values(f.Environment.Variables))

	for _, name := range ofFunction {
		if _, ok := template.Parameters[name]; ok && !slices.Contains(described, name) {
			t.Errorf("VersionDescription does not name %s: it could be changed without any effect", name)
		}
	}
}

func TestTemplateAlarmsSayWhatToDo(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)
	alarmTopic := text("[Notified, [AlarmTopicArn], AWS::NoValue]")
	endless := []string{"NewVersionErrors", "NewVersionFailures", "ParkedAnnouncements", "MoreDeadLetters", "AuditViolations"} // the version is gone by then; nothing is mended
	got := map[string]string{}

	for name, r := range template.Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}

		a := r.Properties.alarm
		if len(strings.Split(string(a.AlarmDescription), ". ")) < 2 || longest(template, a.AlarmDescription) > 1024 {
			t.Errorf("%s: the description must say what is true and what to do, in 1,024 characters, and has %d: %q", name, longest(template, a.AlarmDescription), a.AlarmDescription)
		}

		if unsent := []string{"OldestUnsent", "ParkedAnnouncements"}; slices.Contains(unsent, name) {
			for _, both := range []string{"=payments or api: ", ledger.Captured + "=${CapturedQueue}", ledger.Accepted + "=${PaymentsQueue}"} {
				if !strings.Contains(string(a.AlarmDescription), both) {
					t.Errorf("%s: the relay sends for two namespaces, and the description lacks %q", name, both)
				}
			}
		}

		missingData := "notBreaching"
		if name == "OldestUnsent" {
			missingData = "breaching" // a relay that does not run writes no metric
		}

		if a.AlarmActions != alarmTopic || a.TreatMissingData != missingData || a.ComparisonOperator != "GreaterThanThreshold" {
			t.Errorf("%s: actions %q, missing data %s, %s: want %s, %s, GreaterThanThreshold",
				name, a.AlarmActions, a.TreatMissingData, a.ComparisonOperator, alarmTopic, missingData)
		}

		if want := alarmTopic; !slices.Contains(endless, name) && a.OKActions != want || slices.Contains(endless, name) && a.OKActions != "" {
			t.Errorf("%s: OK actions %q, want %s, and none for %v", name, a.OKActions, want, endless)
		}

		got[name] = a.looksAt()
	}

	const letters = "visible: AWS/SQS ApproximateNumberOfMessagesVisible Maximum [{QueueName PaymentsDeadLetters.QueueName}]; " +
		"hidden: AWS/SQS ApproximateNumberOfMessagesNotVisible Maximum [{QueueName PaymentsDeadLetters.QueueName}]"

	want := map[string]string{
		"DeadLetters":     "FILL(visible, 0) + FILL(hidden, 0) > 0; " + letters,
		"MoreDeadLetters": "DIFF(FILL(visible, 0) + FILL(hidden, 0)) > 0; " + letters,
		"FailingPayments": "IF(messages >= 20, 100 * failures / messages, 0) > 20; " +
			"messages: Payments Messages Sum [{Function [Gradual, PaymentsGradual, Payments]}]; " +
			"failures: Payments NotDone Sum [{Function [Gradual, PaymentsGradual, Payments]}]",
		"Takeovers": "Payments Takeover Sum [{Function [Gradual, PaymentsGradual, Payments]}] > 0",
		"RecordFaults": "FILL(fenced, 0) + FILL(unrecorded, 0) + FILL(panics, 0) > 0; " +
			"fenced: Payments Fenced Sum [{Function [Gradual, PaymentsGradual, Payments]}]; " +
			"unrecorded: Payments Unrecorded Sum [{Function [Gradual, PaymentsGradual, Payments]}]; " +
			"panics: Payments Panicked Sum [{Function [Gradual, PaymentsGradual, Payments]}]",
		"ApiErrors": "AWS/Lambda Url5xxCount Sum [{FunctionName Api}] > 0",
		"FunctionThrottles": "FILL(payments, 0) + FILL(relay, 0) + FILL(api, 0) > 0; api: AWS/Lambda Throttles Sum [{FunctionName Api}]; payments: AWS/Lambda Throttles Sum [{FunctionName [Gradual, PaymentsGradual, Payments]}]; " +
			"relay: AWS/Lambda Throttles Sum [{FunctionName Relay}]",
		"OldestMessage":  "AWS/SQS ApproximateAgeOfOldestMessage Maximum [{QueueName PaymentsQueue.QueueName}] > OldestMessageSeconds",
		"FunctionErrors": "AWS/Lambda Errors Sum [{FunctionName [Gradual, PaymentsGradual, Payments]}] > 0",
		"OldestUnsent":   "Payments OldestUnsentSeconds Maximum [{Function Relay}] > OldestUnsentSeconds",
		"ParkedAnnouncements": "FILL(payments, 0) + FILL(relay, 0) + FILL(api, 0) > 0; payments: Payments Parked Sum [{Function [Gradual, PaymentsGradual, Payments]}]; " +
			"relay: Payments Parked Sum [{Function Relay}]; api: Payments Parked Sum [{Function Api}]",
		"RelayErrors":      "AWS/Lambda Errors Sum [{FunctionName Relay}] > 0",
		"NewVersionErrors": "AWS/Lambda Errors Sum [{FunctionName PaymentsGradual} {Resource ${PaymentsGradual}:live} {ExecutedVersion PaymentsGradual.Version.Version}] > 0",
		"NewVersionFailures": "IF(messages >= 20, 100 * failures / messages, 0) > 20; " +
			"messages: Payments Messages Sum [{Function PaymentsGradual} {Version PaymentsGradual.Version.Version}]; " +
			"failures: Payments NotDone Sum [{Function PaymentsGradual} {Version PaymentsGradual.Version.Version}]",
		"AuditViolations": "Payments Violations Sum [{Function Auditor}] > 0",
		"AuditErrors": "FILL(errors, 0) + FILL(unreadable, 0) > 0; " +
			"errors: AWS/Lambda Errors Sum [{FunctionName Auditor}]; unreadable: Payments Unreadable Sum [{Function Auditor}]",
		"AuditBlind": "IF(FILL(completed, 0) > 0 AND FILL(judged, 0) == 0, 1, 0) + IF(FILL(age, 0) > 900000, 1, 0) > 0; " +
			"completed: Payments Completed Sum [{Function [Gradual, PaymentsGradual, Payments]}]; " +
			"judged: Payments Judged Sum [{Function Auditor}]; age: AWS/Lambda IteratorAge Maximum [{FunctionName Auditor}]",
		"ThrottledWrites": "FILL(records, 0) + FILL(ledger, 0) > 0; " +
			"records: AWS/DynamoDB WriteThrottleEvents Sum [{TableName RecordTable}]; ledger: AWS/DynamoDB WriteThrottleEvents Sum [{TableName LedgerTable}]",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("alarms (-want +got):\n%s", diff)
	}
}

// longest is the length of a description in a stack with a long name: that of a queue is cut at 80 characters.
func longest(template template, description text) int {
	return len(regexp.MustCompile(`\$\{(\w+)([^}]*)\}`).ReplaceAllStringFunc(string(description), func(reference string) string {
		name, attribute, _ := strings.Cut(strings.Trim(reference, "${}"), ".")

		switch r, isResource := template.Resources[name]; {
		case !isResource:
			return strings.Repeat("9", 6) // a parameter that is a number
		case r.Type == "AWS::Serverless::Function":
			return strings.Repeat("f", 64)
		case r.Type == "AWS::SQS::Queue" && attribute != "QueueName":
			return "https://sqs.ap-southeast-1.amazonaws.com/111122223333/" + strings.Repeat("q", 80)
		default:
			return strings.Repeat("n", 96) // a table's, where that of the queue still fits
		}
	}))
}

func TestTemplateParametersAreDescribedConstrainedAndUsed(t *testing.T) {
	t.Parallel()

	template := readTemplate(t)

	var grouped []string
	for _, g := range template.Metadata.Interface.ParameterGroups {
		grouped = append(grouped, g.Parameters...)
	}

	if diff := cmp.Diff(slices.Sorted(maps.Keys(template.Parameters)), slices.Sorted(slices.Values(grouped))); diff != "" {
		t.Errorf("parameters (-declared +in a group):\n%s", diff)
	}

	var used []string
	for _, heading := range []string{"Conditions", "Globals", "Resources"} {
		used = append(used, referredTo(template.section(heading))...)
	}

	for name, p := range template.Parameters {
		if !strings.HasSuffix(p.Description, ".") {
			t.Errorf("%s: no description", name)
		}

		if len(p.AllowedValues) == 0 && p.AllowedPattern == "" && p.MaxValue <= p.MinValue {
			t.Errorf("%s: takes any value", name)
		}

		if !slices.Contains(used, name) {
			t.Errorf("%s: not used", name)
		}
	}

	for name, o := range template.Outputs {
		if o.Description == "" || o.Value == "" {
			t.Errorf("output %s: no description or no value", name)
		}
	}
}
