package functions_test

import (
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// template is what the tests read of template.yaml. A short function such as !Ref is read as its argument: `!Ref RecordTable` is
// "RecordTable", `!GetAtt RecordTable.Arn` is "RecordTable.Arn", `!FindInMap [Clocks, !Ref FunctionTimeout, Visibility]` is
// "[Clocks, FunctionTimeout, Visibility]".
type template struct {
	source     string // all of the file
	Parameters map[string]parameter
	Rules      map[string]struct {
		RuleCondition text
		Assertions    []struct {
			Assert            text
			AssertDescription string
		}
	}
	Mappings struct {
		Clocks map[string]map[string]int // :: FunctionTimeout → BatchingWindow → seconds that a message is hidden
	}
	Metadata struct {
		Interface struct {
			ParameterGroups []struct{ Parameters []string }
		} `yaml:"aws::cloudformation::interface"`
	}
	Globals   struct{ Function function }
	Resources map[string]resource
	Outputs   map[string]struct {
		Description, Condition string
		Value                  text
	}
	functions map[string]function // Globals and the resource's own
}

type parameter struct {
	Description, AllowedPattern, Type string
	Default                           text
	MinValue, MaxValue                int
	AllowedValues                     []string
}

type resource struct {
	Type, Condition, DeletionPolicy, UpdateReplacePolicy string

	Properties properties
	Metadata   struct{ BuildMethod string }
}

// properties are those of all the resource types together, but for the functions'.
type properties struct {
	queue `yaml:",inline"`
	table `yaml:",inline"`
	role  `yaml:",inline"`
	alarm `yaml:",inline"`

	RetentionInDays, QueryString string
	KmsKeyID                     text
	DashboardBody                []text
	LogGroupNames                []string
}

type function struct {
	FunctionName, CodeURI, Runtime, Handler, Timeout, MemorySize, Role, Tracing, AutoPublishAlias, VersionDescription string

	KmsKeyArn                     text
	Architectures                 []string
	AutoPublishAliasAllProperties bool
	Policies                      []policy

	Environment          struct{ Variables map[string]string }
	LoggingConfig        struct{ LogFormat, ApplicationLogLevel, LogGroup string }
	FunctionURLConfig    struct{ AuthType, InvokeMode string }
	DeploymentPreference struct {
		Type                 string
		PassthroughCondition bool
		Alarms               []string
	}
	EventInvokeConfig struct {
		MaximumRetryAttempts     *int
		MaximumEventAgeInSeconds int
	}
	Events map[string]struct {
		Type       string
		Properties struct {
			Schedule, Queue, Stream, StartingPosition, BatchSize, MaximumBatchingWindowInSeconds string

			Enabled                                         text
			BisectBatchOnFunctionError                      bool
			MaximumRetryAttempts, MaximumRecordAgeInSeconds int
			FunctionResponseTypes                           []string
			ScalingConfig                                   struct{ MaximumConcurrency string }
		}
	}
}

type queue struct {
	QueueName                                               string
	VisibilityTimeout, SqsManagedSseEnabled, KmsMasterKeyID text
	MessageRetentionPeriod                                  int
	RedrivePolicy                                           redrivePolicy
	RedriveAllowPolicy                                      redriveAllowPolicy
}

type redrivePolicy struct{ DeadLetterTargetArn, MaxReceiveCount string }

type redriveAllowPolicy struct {
	RedrivePermission string
	SourceQueueArns   []string
}

type table struct {
	BillingMode, DeletionProtectionEnabled string

	StreamSpecification             text
	KeySchema, AttributeDefinitions []attribute
	GlobalSecondaryIndexes          []index
	TimeToLiveSpecification         struct {
		AttributeName string
		Enabled       bool
	}
	PointInTimeRecoverySpecification struct{ PointInTimeRecoveryEnabled bool }
	SSESpecification                 struct {
		SSEEnabled              bool
		SSEType, KMSMasterKeyID text
	}
}

type attribute struct{ AttributeName, AttributeType, KeyType string }

type index struct {
	IndexName  string
	KeySchema  []attribute
	Projection struct{ ProjectionType string }
}

type alarm struct {
	AlarmName, Namespace, MetricName, Statistic, Threshold, ComparisonOperator, TreatMissingData string

	AlarmDescription, AlarmActions, OKActions text
	Dimensions                                []dimension
	Metrics                                   []struct {
		ID, Expression string
		ReturnData     bool
		MetricStat     struct {
			Metric metric
			Stat   string
		}
	}
}

type metric struct {
	Namespace, MetricName string
	Dimensions            []dimension
}

// metrics are those that the alarm looks at, in the order of the template.
func (a alarm) metrics() []metric {
	if len(a.Metrics) == 0 {
		return []metric{{a.Namespace, a.MetricName, a.Dimensions}}
	}

	var all []metric

	for _, m := range a.Metrics {
		if m.Expression == "" {
			all = append(all, m.MetricStat.Metric)
		}
	}

	return all
}

// looksAt is what the alarm compares with its threshold, such as "AWS/SQS Age Maximum [{QueueName Q}] > 60", or, where it
// calculates, "a + b > 0; a: AWS/SQS Age Maximum [{QueueName Q}]; b: …".
func (a alarm) looksAt() string {
	if len(a.Metrics) == 0 {
		return fmt.Sprint(a.Namespace, " ", a.MetricName, " ", a.Statistic, " ", a.Dimensions, " > ", a.Threshold)
	}

	var returned, parts []string

	for _, m := range a.Metrics {
		switch what := m.MetricStat.Metric; {
		case m.ReturnData:
			returned = append(returned, m.Expression+" > "+a.Threshold)
		default:
			parts = append(parts, fmt.Sprint(m.ID, ": ", what.Namespace, " ", what.MetricName, " ", m.MetricStat.Stat, " ", what.Dimensions))
		}
	}

	return strings.Join(slices.Concat(returned, parts), "; ")
}

type dimension struct {
	Name  string
	Value text
}

type role struct {
	ManagedPolicyArns        []string
	AssumeRolePolicyDocument policy
	Policies                 []struct{ PolicyDocument policy }
}

type policy struct{ Statement []statement }

type statement struct {
	Condition        string                     `yaml:"-"` // of an !If around it, whose other branch is nothing
	When             map[string]map[string]text `yaml:"condition"`
	Effect           string
	Principal        map[string]string
	Action, Resource list
}

func (s *statement) UnmarshalYAML(node *yaml.Node) error {
	type plain statement

	if node.Tag != "!If" {
		return node.Decode((*plain)(s))
	}

	s.Condition = node.Content[0].Value

	return node.Content[1].Decode((*plain)(s))
}

// list is one string or several.
type list []string

func (l *list) UnmarshalYAML(node *yaml.Node) error {
	if node.Kind == yaml.ScalarNode {
		*l = list{node.Value}

		return nil
	}

	return node.Decode((*[]string)(l))
}

// text is a value as it is written: a number or a truth too, and a list or a function of one as "[a, b]".
type text string

func (s *text) UnmarshalYAML(node *yaml.Node) error {
	*s = flat(node)

	return nil
}

func flat(node *yaml.Node) text {
	if node.Kind == yaml.ScalarNode {
		return text(node.Value)
	}

	parts := make([]string, 0, len(node.Content))
	for _, part := range node.Content {
		parts = append(parts, string(flat(part)))
	}

	return text("[" + strings.Join(parts, ", ") + "]")
}

func (s text) int(t *testing.T) int {
	t.Helper()

	n, err := strconv.Atoi(string(s))
	if err != nil {
		t.Fatal(err)
	}

	return n
}

func readTemplate(t *testing.T) template {
	t.Helper()

	return readTemplateFile(t, "../template.yaml")
}

// readTemplateFile reads another template, such as one that a page shows.
func readTemplateFile(t *testing.T, name string) template {
	t.Helper()

	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}

	read := template{source: string(data), functions: map[string]function{}}

	var raw struct {
		Resources map[string]struct{ Properties yaml.Node }
	}

	decode(t, data, &read)
	decode(t, data, &raw)

	for name, r := range read.Resources {
		if r.Type != "AWS::Serverless::Function" {
			continue
		}

		f, properties := read.Globals.Function, raw.Resources[name].Properties
		f.Environment.Variables = maps.Clone(f.Environment.Variables) // SAM adds the function's own to them

		if err := properties.Decode(&f); err != nil {
			t.Fatal(err)
		}

		read.functions[name] = f
	}

	return read
}

// decode reads a template. A key is that of a field in any case, but for the names that the template gives.
func decode(t *testing.T, source []byte, into any) {
	t.Helper()

	var document yaml.Node
	if err := yaml.Unmarshal(source, &document); err != nil {
		t.Fatal(err)
	}

	lowerKeys(&document, "")

	if err := document.Decode(into); err != nil {
		t.Fatal(err)
	}
}

// Keys below these are names, and those of a text stay as they are written.
var (
	nameSomething = []string{"parameters", "rules", "resources", "outputs", "events"}
	stayAsTheyAre = []string{
		"condition", "principal", "variables", "dashboardbody", "streamspecification", "alarmdescription", "rulecondition", "assert",
	}
)

// lowerKeys writes the keys below a node as package yaml expects those of fields.
func lowerKeys(node *yaml.Node, parent string) {
	for i, child := range node.Content {
		isKey, key := node.Kind == yaml.MappingNode && i%2 == 0, ""
		if node.Kind == yaml.MappingNode && !isKey {
			key = node.Content[i-1].Value
		}

		switch {
		case isKey && !slices.Contains(nameSomething, parent):
			child.Value = strings.ToLower(child.Value)
		case !isKey && !slices.Contains(stayAsTheyAre, key):
			lowerKeys(child, key)
		}
	}
}

// statements are what a role may do.
func (t template) statements(role string) []statement {
	var all []statement
	for _, p := range t.Resources[role].Properties.Policies {
		all = append(all, p.PolicyDocument.Statement...)
	}

	return all
}

var reference = regexp.MustCompile(`(?:!Ref |\$\{)([A-Za-z]+)\b`)

// referredTo are the names that stand behind !Ref or in ${} in a piece of the template, comments left out.
func referredTo(piece string) []string {
	var names []string

	for line := range strings.Lines(piece) {
		code, _, _ := strings.Cut(line, " # ")
		for _, m := range reference.FindAllStringSubmatch(code, -1) {
			if !strings.HasPrefix(strings.TrimSpace(line), "#") {
				names = append(names, m[1])
			}
		}
	}

	slices.Sort(names)

	return slices.Compact(names)
}

// section is a part of the template's text by its heading, such as "Resources".
func (t template) section(heading string) string {
	_, rest, _ := strings.Cut(t.source, "\n"+heading+":\n")
	if end := regexp.MustCompile(`(?m)^[A-Z]`).FindStringIndex(rest); end != nil {
		rest = rest[:end[0]]
	}

	return rest
}

func seconds(n int) time.Duration { return time.Duration(n) * time.Second }
