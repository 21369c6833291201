package main

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// statement is a statement of an IAM policy.
type statement struct {
	Sid      string
	Effect   string
	Action   []string
	Resource []string
}

// resources are what the flags of policy name beside the table; "" for any.
type resources struct {
	account, function, queue, deadLetters, topic, bus string
}

func (a *app) policyCommand() *cobra.Command {
	r := &resources{}
	cmd := &cobra.Command{
		Use: "policy [show|list|change|forget|send|check|ttl|audit]...", Short: "Print the IAM policy that these commands need; all by default",
		Example:   "  idem policy show list > read-only.json\n  idem policy change --account 111122223333 --region eu-west-1",
		ValidArgs: []string{"show", "list", "change", "forget", "send", "check", "ttl", "audit"},
		RunE:      func(_ *cobra.Command, parts []string) error { return a.policy(r, parts) },
	}
	flags := cmd.Flags()
	flags.StringVar(&r.account, "account", "", "account of the table (default any)")
	flags.StringVar(&r.function, "function", "", "the function that check looks at (default any)")
	flags.StringVar(&r.queue, "queue", "", "name of the queue that send sends to, or that check looks at (default any)")
	flags.StringVar(&r.topic, "topic", "", "name of the topic that send sends to (default any)")
	flags.StringVar(&r.bus, "bus", "", "name of the event bus that send sends to (default any)")
	flags.StringVar(&r.deadLetters, "dead-letter-queue", "", "name of the dead-letter queue that check looks at (default any)")

	return cmd
}

// policy prints the statements that the parts name.
func (a *app) policy(r *resources, parts []string) error {
	if a.flags.table == "" {
		return errors.New("--table: must not be empty; name the table of the records, or set IDEM_TABLE")
	}

	chosen, err := choosePolicies(a.statements(r), parts)
	if err != nil {
		return err
	}

	return a.printJSON(map[string]any{"Version": "2012-10-17", "Statement": chosen})
}

// statements returns the statements for all commands. The name of each begins with the part that it belongs to.
func (a *app) statements(r *resources) []statement {
	region := cmp.Or(a.flags.region, a.getenv("AWS_REGION"), "*")
	partition := partitionOf(region)

	if isARN(a.flags.table) { // the queues and the function are in its partition
		partition = strings.Split(a.flags.table, ":")[1]
	}

	arn := func(service, name string) string {
		return "arn:" + partition + ":" + service + ":" + region + ":" + cmp.Or(r.account, "*") + ":" + name
	}

	table := a.flags.table
	if !isARN(table) {
		table = arn("dynamodb", "table/"+table)
	}

	return []statement{
		{"Show", "Allow", []string{"dynamodb:GetItem"}, []string{table}},
		{"List", "Allow", []string{"dynamodb:Scan", "dynamodb:Query", "dynamodb:GetItem", "dynamodb:DescribeTable"}, []string{table, table + "/index/*"}},
		{"Change", "Allow", []string{"dynamodb:GetItem", "dynamodb:UpdateItem"}, []string{table}},
		{"Forget", "Allow", []string{"dynamodb:GetItem", "dynamodb:UpdateItem", "dynamodb:DeleteItem"}, []string{table}},
		{"Send", "Allow", []string{"dynamodb:GetItem", "dynamodb:UpdateItem"}, []string{table}},
		{"SendTo", "Allow", []string{"sqs:SendMessage"}, []string{arn("sqs", cmp.Or(r.queue, "*"))}},
		{"SendToTopic", "Allow", []string{"sns:Publish"}, []string{arn("sns", cmp.Or(r.topic, "*"))}},
		{"SendToBus", "Allow", []string{"events:PutEvents"}, []string{arn("events", "event-bus/"+cmp.Or(r.bus, "*"))}},
		{"CheckTable", "Allow", []string{"dynamodb:DescribeTable", "dynamodb:DescribeTimeToLive"}, []string{table}},
		{"TTL", "Allow", []string{"dynamodb:DescribeTimeToLive", "dynamodb:UpdateTimeToLive"}, []string{table}},
		{"AuditTable", "Allow", []string{"dynamodb:DescribeTable"}, []string{table}},
		{"AuditStream", "Allow", []string{"dynamodb:DescribeStream", "dynamodb:GetShardIterator", "dynamodb:GetRecords"}, []string{table + "/stream/*"}},
		{"CheckFunction", "Allow", []string{"lambda:GetFunctionConfiguration"}, []string{arn("lambda", "function:"+cmp.Or(r.function, "*"))}},
		{"CheckEventSources", "Allow", []string{"lambda:ListEventSourceMappings"}, []string{"*"}},
		{"CheckQueues", "Allow", []string{"sqs:GetQueueAttributes", "sqs:GetQueueUrl"}, []string{
			arn("sqs", cmp.Or(r.queue, "*")), arn("sqs", cmp.Or(r.deadLetters, "*")),
		}},
	}
}

// partitionOf is the partition of AWS that a Region belongs to, as it stands in ARNs. IAM takes no other one, and none for any.
func partitionOf(region string) string {
	switch {
	case strings.HasPrefix(region, "cn-"):
		return "aws-cn"
	case strings.HasPrefix(region, "us-gov-"):
		return "aws-us-gov"
	default:
		return "aws"
	}
}

// choosePolicies returns the statements whose names begin with one of the parts; all for none.
func choosePolicies(all []statement, parts []string) (chosen []statement, err error) {
	if len(parts) == 0 {
		return all, nil
	}

	for _, part := range parts {
		before := len(chosen)

		for _, s := range all {
			if part != "" && strings.HasPrefix(strings.ToLower(s.Sid), part) {
				chosen = append(chosen, s)
			}
		}

		if len(chosen) == before {
			return nil, fmt.Errorf("%q is no part of the policy; see idem policy --help", part)
		}
	}

	return chosen, nil
}
