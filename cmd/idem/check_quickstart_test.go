package main

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.yaml.in/yaml/v4"
)

// quickStart is what the check reads of the template that docs/getting-started.md shows.
type quickStart struct {
	Resources struct {
		Records struct {
			Properties struct {
				AttributeDefinitions []struct {
					Name string                    `yaml:"AttributeName"`
					Type types.ScalarAttributeType `yaml:"AttributeType"`
				} `yaml:"AttributeDefinitions"`
				KeySchema []struct {
					Name string        `yaml:"AttributeName"`
					Type types.KeyType `yaml:"KeyType"`
				} `yaml:"KeySchema"`
				TimeToLiveSpecification struct {
					AttributeName string `yaml:"AttributeName"`
					Enabled       bool   `yaml:"Enabled"`
				} `yaml:"TimeToLiveSpecification"`
			} `yaml:"Properties"`
		} `yaml:"Records"`
		Queue       quickStartQueue `yaml:"Queue"`
		DeadLetters quickStartQueue `yaml:"DeadLetters"`
		Payments    struct {
			Properties struct {
				Timeout int `yaml:"Timeout"`
				Events  map[string]struct {
					Properties struct {
						FunctionResponseTypes []string `yaml:"FunctionResponseTypes"`
					} `yaml:"Properties"`
				} `yaml:"Events"`
			} `yaml:"Properties"`
		} `yaml:"Payments"`
	} `yaml:"Resources"`
}

type quickStartQueue struct {
	Properties struct {
		VisibilityTimeout      string `yaml:"VisibilityTimeout"`
		MessageRetentionPeriod string `yaml:"MessageRetentionPeriod"`
		RedrivePolicy          struct {
			Target  string `json:"deadLetterTargetArn" yaml:"deadLetterTargetArn"`
			Receive int    `json:"maxReceiveCount"     yaml:"maxReceiveCount"`
		} `yaml:"RedrivePolicy"`
	} `yaml:"Properties"`
}

// Whoever copies the template of the page has nothing to mend, whatever the program says of its retention: idem compares with the
// default. TestReadmeProgramPaysOnce of package functions holds that the program is safe with any other queue.
func TestCheckFindsNoFaultInTheQuickStart(t *testing.T) {
	t.Parallel()

	n := onDynamoDBLocal(t)
	n.deployQuickStart()
	n.idem("check", "--function", "quickstart", "--unsent-index", "")
	n.expect(exitDone, "ok     key: pk:HASH:S", `ok     time to live: on "exp"`, "FunctionResponseTypes has ReportBatchItemFailures",
		"at least six times the function's", "ok     dead letters of", "ok     retention: records answer for 7d0h")

	if strings.Contains(n.shown(), "FAULT") {
		t.Errorf("a fault:\n%s", n.shown())
	}
}

// deployQuickStart makes the table of the template, and a function behind queues with the times of the template.
func (n *night) deployQuickStart() {
	n.t.Helper()

	source, err := os.ReadFile("../../functions/testdata/quickstart/template.yaml")
	if err != nil {
		n.t.Fatal(err)
	}

	var template quickStart
	if err := yaml.Unmarshal(source, &template); err != nil {
		n.t.Fatal(err)
	}

	n.table += "-quickstart"
	n.createTable(template)

	queue, letters, function := template.Resources.Queue.Properties, template.Resources.DeadLetters.Properties, template.Resources.Payments.Properties
	queue.RedrivePolicy.Target = strings.Replace(queue.RedrivePolicy.Target, "DeadLetters.Arn", queueARN+"-dead", 1)

	redrive, err := json.Marshal(queue.RedrivePolicy)
	if err != nil {
		n.t.Fatal(err)
	}

	n.behindQueue("quickstart", function.Timeout, function.Events["FromQueue"].Properties.FunctionResponseTypes, map[string]string{
		"VisibilityTimeout": queue.VisibilityTimeout, "MessageRetentionPeriod": queue.MessageRetentionPeriod, "RedrivePolicy": string(redrive),
	}, letters.MessageRetentionPeriod)
}

// createTable makes the table of the template.
func (n *night) createTable(template quickStart) {
	n.t.Helper()

	table := template.Resources.Records.Properties
	in := &dynamodb.CreateTableInput{TableName: &n.table, BillingMode: types.BillingModePayPerRequest}

	for _, a := range table.AttributeDefinitions {
		in.AttributeDefinitions = append(in.AttributeDefinitions, types.AttributeDefinition{AttributeName: &a.Name, AttributeType: a.Type})
	}

	for _, k := range table.KeySchema {
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &k.Name, KeyType: k.Type})
	}

	if _, err := n.client.CreateTable(n.t.Context(), in); err != nil {
		n.t.Fatal(err)
	}

	n.timeToLive(table.TimeToLiveSpecification.AttributeName, table.TimeToLiveSpecification.Enabled)
}
