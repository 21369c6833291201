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
	source     string               // all of the file
	Parameters map[string]parameter `yaml:"Parameters"`
	Rules      map[string]struct {
		RuleCondition text `yaml:"RuleCondition"`
		Assertions    []struct {
			Assert            text   `yaml:"Assert"`
			AssertDescription string `yaml:"AssertDescription"`
		} `yaml:"Assertions"`
	} `yaml:"Rules"`
	Mappings struct {
		Clocks map[string]map[string]int `yaml:"Clocks"` // :: FunctionTimeout → BatchingWindow → seconds that a message is hidden
	} `yaml:"Mappings"`
	Metadata struct {
		Interface struct {
			ParameterGroups []struct {
				Parameters []string `yaml:"Parameters"`
			} `yaml:"ParameterGroups"`
		} `yaml:"AWS::CloudFormation::Interface"`
	} `yaml:"Metadata"`
	Globals struct {
		Function function `yaml:"Function"`
	} `yaml:"Globals"`
	Resources map[string]resource `yaml:"Resources"`
	Outputs   map[string]struct {
		Description string `yaml:"Description"`
		Condition   string `yaml:"Condition"`
		Value       text   `yaml:"Value"`
	} `yaml:"Outputs"`
	functions map[string]function // Globals and the resource's own
}

type parameter struct {
	Description    string   `yaml:"Description"`
	AllowedPattern string   `yaml:"AllowedPattern"`
	Type           string   `yaml:"Type"`
	Default        text     `yaml:"Default"`
	MinValue       int      `yaml:"MinValue"`
	MaxValue       int      `yaml:"MaxValue"`
	AllowedValues  []string `yaml:"AllowedValues"`
}

type resource struct {
	Type                string     `yaml:"Type"`
	Condition           string     `yaml:"Condition"`
	DeletionPolicy      string     `yaml:"DeletionPolicy"`
	UpdateReplacePolicy string     `yaml:"UpdateReplacePolicy"`
	Properties          properties `yaml:"Properties"`
	Metadata            struct {
		BuildMethod string `yaml:"BuildMethod"`
	} `yaml:"Metadata"`
}

// properties are those of all the resource types together, but for the functions'.
type properties struct {
	queue `yaml:",inline"`
	table `yaml:",inline"`
	role  `yaml:",inline"`
	alarm `yaml:",inline"`

	RetentionInDays string `yaml:"RetentionInDays"`
	KmsKeyID        text   `yaml:"KmsKeyId"`

	DashboardBody []text   `yaml:"DashboardBody"`
	QueryString   string   `yaml:"QueryString"`
	LogGroupNames []string `yaml:"LogGroupNames"`
}

type function struct {
	FunctionName                  string   `yaml:"FunctionName"`
	CodeURI                       string   `yaml:"CodeUri"`
	Runtime                       string   `yaml:"Runtime"`
	Handler                       string   `yaml:"Handler"`
	Architectures                 []string `yaml:"Architectures"`
	Timeout                       string   `yaml:"Timeout"`
	MemorySize                    string   `yaml:"MemorySize"`
	KmsKeyArn                     text     `yaml:"KmsKeyArn"`
	Role                          string   `yaml:"Role"`
	Tracing                       string   `yaml:"Tracing"`
	AutoPublishAlias              string   `yaml:"AutoPublishAlias"`
	AutoPublishAliasAllProperties bool     `yaml:"AutoPublishAliasAllProperties"`
	VersionDescription            string   `yaml:"VersionDescription"`
	Environment                   struct {
		Variables map[string]string `yaml:"Variables"`
	} `yaml:"Environment"`
	Policies      []policy `yaml:"Policies"`
	LoggingConfig struct {
		LogFormat           string `yaml:"LogFormat"`
		ApplicationLogLevel string `yaml:"ApplicationLogLevel"`
		LogGroup            string `yaml:"LogGroup"`
	} `yaml:"LoggingConfig"`
	DeploymentPreference struct {
		Type                 string   `yaml:"Type"`
		PassthroughCondition bool     `yaml:"PassthroughCondition"`
		Alarms               []string `yaml:"Alarms"`
	} `yaml:"DeploymentPreference"`
	FunctionURLConfig struct {
		AuthType   string `yaml:"AuthType"`
		InvokeMode string `yaml:"InvokeMode"`
	} `yaml:"FunctionUrlConfig"`
	EventInvokeConfig struct {
		MaximumRetryAttempts     *int `yaml:"MaximumRetryAttempts"`
		MaximumEventAgeInSeconds int  `yaml:"MaximumEventAgeInSeconds"`
	} `yaml:"EventInvokeConfig"`
	Events map[string]struct {
		Type       string `yaml:"Type"`
		Properties struct {
			Schedule                       string   `yaml:"Schedule"`
			Queue                          string   `yaml:"Queue"`
			Stream                         string   `yaml:"Stream"`
			StartingPosition               string   `yaml:"StartingPosition"`
			BisectBatchOnFunctionError     bool     `yaml:"BisectBatchOnFunctionError"`
			MaximumRetryAttempts           int      `yaml:"MaximumRetryAttempts"`
			MaximumRecordAgeInSeconds      int      `yaml:"MaximumRecordAgeInSeconds"`
			Enabled                        text     `yaml:"Enabled"`
			BatchSize                      string   `yaml:"BatchSize"`
			MaximumBatchingWindowInSeconds string   `yaml:"MaximumBatchingWindowInSeconds"`
			FunctionResponseTypes          []string `yaml:"FunctionResponseTypes"`
			ScalingConfig                  struct {
				MaximumConcurrency string `yaml:"MaximumConcurrency"`
			} `yaml:"ScalingConfig"`
		} `yaml:"Properties"`
	} `yaml:"Events"`
}

type queue struct {
	QueueName              string             `yaml:"QueueName"`
	VisibilityTimeout      text               `yaml:"VisibilityTimeout"`
	MessageRetentionPeriod int                `yaml:"MessageRetentionPeriod"`
	SqsManagedSseEnabled   text               `yaml:"SqsManagedSseEnabled"`
	KmsMasterKeyID         text               `yaml:"KmsMasterKeyId"`
	RedrivePolicy          redrivePolicy      `yaml:"RedrivePolicy"`
	RedriveAllowPolicy     redriveAllowPolicy `yaml:"RedriveAllowPolicy"`
}

type redrivePolicy struct {
	DeadLetterTarget string `yaml:"deadLetterTargetArn"`
	MaxReceiveCount  string `yaml:"maxReceiveCount"`
}

type redriveAllowPolicy struct {
	Permission string   `yaml:"redrivePermission"`
	Sources    []string `yaml:"sourceQueueArns"`
}

type table struct {
	BillingMode             string      `yaml:"BillingMode"`
	KeySchema               []attribute `yaml:"KeySchema"`
	AttributeDefinitions    []attribute `yaml:"AttributeDefinitions"`
	GlobalSecondaryIndexes  []index     `yaml:"GlobalSecondaryIndexes"`
	TimeToLiveSpecification struct {
		AttributeName string `yaml:"AttributeName"`
		Enabled       bool   `yaml:"Enabled"`
	} `yaml:"TimeToLiveSpecification"`
	PointInTimeRecoverySpecification struct {
		PointInTimeRecoveryEnabled bool `yaml:"PointInTimeRecoveryEnabled"`
	} `yaml:"PointInTimeRecoverySpecification"`
	SSESpecification struct {
		SSEEnabled     bool `yaml:"SSEEnabled"`
		SSEType        text `yaml:"SSEType"`
		KMSMasterKeyID text `yaml:"KMSMasterKeyId"`
	} `yaml:"SSESpecification"`
	DeletionProtectionEnabled string `yaml:"DeletionProtectionEnabled"`
	StreamSpecification       text   `yaml:"StreamSpecification"`
}

type attribute struct {
	AttributeName string `yaml:"AttributeName"`
	AttributeType string `yaml:"AttributeType"`
	KeyType       string `yaml:"KeyType"`
}

type index struct {
	IndexName  string      `yaml:"IndexName"`
	KeySchema  []attribute `yaml:"KeySchema"`
	Projection struct {
		ProjectionType string `yaml:"ProjectionType"`
	} `yaml:"Projection"`
}

type alarm struct {
	AlarmName        string      `yaml:"AlarmName"`
	AlarmDescription text        `yaml:"AlarmDescription"`
	Namespace        string      `yaml:"Namespace"`
	MetricName       string      `yaml:"MetricName"`
	Dimensions       []dimension `yaml:"Dimensions"`
	Metrics          []struct {
		ID         string `yaml:"Id"`
		Expression string `yaml:"Expression"`
		ReturnData bool   `yaml:"ReturnData"`
		MetricStat struct {
			Metric metric `yaml:"Metric"`
			Stat   string `yaml:"Stat"`
		} `yaml:"MetricStat"`
	} `yaml:"Metrics"`
	Statistic          string `yaml:"Statistic"`
	Threshold          string `yaml:"Threshold"`
	ComparisonOperator string `yaml:"ComparisonOperator"`
	TreatMissingData   string `yaml:"TreatMissingData"`
	AlarmActions       text   `yaml:"AlarmActions"`
	OKActions          text   `yaml:"OKActions"`
}

type metric struct {
	Namespace  string      `yaml:"Namespace"`
	MetricName string      `yaml:"MetricName"`
	Dimensions []dimension `yaml:"Dimensions"`
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
	Name  string `yaml:"Name"`
	Value text   `yaml:"Value"`
}

type role struct {
	ManagedPolicyArns        []string `yaml:"ManagedPolicyArns"`
	AssumeRolePolicyDocument policy   `yaml:"AssumeRolePolicyDocument"`
	Policies                 []struct {
		PolicyDocument policy `yaml:"PolicyDocument"`
	} `yaml:"Policies"`
}

type policy struct {
	Statement []statement `yaml:"Statement"`
}

type statement struct {
	Condition string                     `yaml:"-"` // of an !If around it, whose other branch is nothing
	When      map[string]map[string]text `yaml:"Condition"`
	Effect    string                     `yaml:"Effect"`
	Principal map[string]string          `yaml:"Principal"`
	Action    list                       `yaml:"Action"`
	Resource  list                       `yaml:"Resource"`
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
		Resources map[string]struct {
			Properties yaml.Node `yaml:"Properties"`
		} `yaml:"Resources"`
	}

	for _, into := range []any{&read, &raw} {
		if err := yaml.Unmarshal(data, into); err != nil {
			t.Fatal(err)
		}
	}

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
