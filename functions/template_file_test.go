package functions_test

import (
	"os"
	"strconv"
	"testing"
	"time"

	"gopkg.in/yaml.v3"
)

// template is what the tests read of template.yaml. A short function such as !Ref is read as its argument: `!Ref RecordTable` is
// "RecordTable", `!GetAtt RecordTable.Arn` is "RecordTable.Arn".
type template struct {
	Parameters map[string]parameter `yaml:"Parameters"`
	Resources  map[string]resource  `yaml:"Resources"`
}

type parameter struct {
	Default       text     `yaml:"Default"`
	MinValue      int      `yaml:"MinValue"`
	MaxValue      int      `yaml:"MaxValue"`
	AllowedValues []string `yaml:"AllowedValues"`
}

type resource struct {
	DeletionPolicy      string     `yaml:"DeletionPolicy"`
	UpdateReplacePolicy string     `yaml:"UpdateReplacePolicy"`
	Properties          properties `yaml:"Properties"`
	Metadata            struct {
		BuildMethod string `yaml:"BuildMethod"`
	} `yaml:"Metadata"`
}

// properties are those of all the resource types together.
type properties struct {
	function `yaml:",inline"`
	queue    `yaml:",inline"`
	table    `yaml:",inline"`
	role     `yaml:",inline"`

	RetentionInDays string `yaml:"RetentionInDays"`
}

type function struct {
	CodeURI       string   `yaml:"CodeUri"`
	Runtime       string   `yaml:"Runtime"`
	Handler       string   `yaml:"Handler"`
	Architectures []string `yaml:"Architectures"`
	Timeout       int      `yaml:"Timeout"`
	Role          string   `yaml:"Role"`
	Environment   struct {
		Variables map[string]string `yaml:"Variables"`
	} `yaml:"Environment"`
	LoggingConfig struct {
		LogFormat string `yaml:"LogFormat"`
		LogGroup  string `yaml:"LogGroup"`
	} `yaml:"LoggingConfig"`
	Events map[string]struct {
		Properties struct {
			Queue                          string   `yaml:"Queue"`
			BatchSize                      int      `yaml:"BatchSize"`
			MaximumBatchingWindowInSeconds int      `yaml:"MaximumBatchingWindowInSeconds"`
			FunctionResponseTypes          []string `yaml:"FunctionResponseTypes"`
		} `yaml:"Properties"`
	} `yaml:"Events"`
}

type queue struct {
	VisibilityTimeout      int           `yaml:"VisibilityTimeout"`
	MessageRetentionPeriod int           `yaml:"MessageRetentionPeriod"`
	RedrivePolicy          redrivePolicy `yaml:"RedrivePolicy"`
}

type redrivePolicy struct {
	DeadLetterTarget string `yaml:"deadLetterTargetArn"`
	MaxReceiveCount  string `yaml:"maxReceiveCount"`
}

type table struct {
	BillingMode             string      `yaml:"BillingMode"`
	KeySchema               []attribute `yaml:"KeySchema"`
	AttributeDefinitions    []attribute `yaml:"AttributeDefinitions"`
	TimeToLiveSpecification struct {
		AttributeName string `yaml:"AttributeName"`
		Enabled       bool   `yaml:"Enabled"`
	} `yaml:"TimeToLiveSpecification"`
	PointInTimeRecoverySpecification struct {
		PointInTimeRecoveryEnabled bool `yaml:"PointInTimeRecoveryEnabled"`
	} `yaml:"PointInTimeRecoverySpecification"`
	SSESpecification struct {
		SSEEnabled bool `yaml:"SSEEnabled"`
	} `yaml:"SSESpecification"`
}

type attribute struct {
	AttributeName string `yaml:"AttributeName"`
	AttributeType string `yaml:"AttributeType"`
	KeyType       string `yaml:"KeyType"`
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
	Effect    string            `yaml:"Effect"`
	Principal map[string]string `yaml:"Principal"`
	Action    list              `yaml:"Action"`
	Resource  string            `yaml:"Resource"`
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

// text is a scalar as it is written, a number too.
type text string

func (s *text) UnmarshalYAML(node *yaml.Node) error {
	*s = text(node.Value)

	return nil
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

	data, err := os.ReadFile("../template.yaml")
	if err != nil {
		t.Fatal(err)
	}

	var read template
	if err := yaml.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}

	return read
}

// statements are what the function's role may do.
func (t template) statements() []statement {
	var all []statement
	for _, p := range t.Resources["PaymentsRole"].Properties.Policies {
		all = append(all, p.PolicyDocument.Statement...)
	}

	return all
}

func epochSeconds(t time.Time) string {
	rounded := t.Add(time.Second - time.Nanosecond).Unix() // up, as a record's end is

	return strconv.FormatInt(rounded, 10)
}
