package main

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// eventSources checks each queue that invokes the function.
func (c *checking) eventSources(ctx context.Context) {
	api := lambda.NewFromConfig(c.desk.config)

	configuration, err := api.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &c.function})
	if err != nil {
		c.addf("function", unknown, "%s", err)

		return
	}

	timeout := time.Duration(aws.ToInt32(configuration.Timeout)) * time.Second
	c.addf("function", fine, "%s, time-out %v", c.function, timeout)

	pages := lambda.NewListEventSourceMappingsPaginator(api, &lambda.ListEventSourceMappingsInput{FunctionName: &c.function})
	found := false

	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			c.addf("event source", unknown, "%s", err)

			return
		}

		for i := range page.EventSourceMappings {
			m := &page.EventSourceMappings[i]
			if arn := aws.ToString(m.EventSourceArn); strings.Contains(arn, ":sqs:") {
				found = true

				c.mapping(m)
				c.queue(ctx, arn, timeout)
			}
		}
	}

	if !found {
		c.addf("event source", note, "no queue invokes %s; a mapping of an alias is only seen with --function NAME:ALIAS", c.function)
	}
}

func (c *checking) mapping(m *lambdatypes.EventSourceMappingConfiguration) {
	name := queueName(aws.ToString(m.EventSourceArn))
	reports := slices.Contains(m.FunctionResponseTypes, lambdatypes.FunctionResponseTypeReportBatchItemFailures)

	c.expect("event source of "+name, reports, "FunctionResponseTypes has ReportBatchItemFailures",
		"FunctionResponseTypes lacks ReportBatchItemFailures: messages that are reported failed are deleted, AND LOST. Set it before anything else")

	if state := aws.ToString(m.State); state != "Enabled" {
		c.addf("event source of "+name, note, "is %s: the function is not invoked", state)
	}
}

// queue checks the times of a queue and of its dead-letter queue.
func (c *checking) queue(ctx context.Context, arn string, timeout time.Duration) {
	name := queueName(arn)

	attributes, err := c.attributes(ctx, name)
	if err != nil {
		c.addf("queue "+name, unknown, "%s", err)

		return
	}

	const times = 6 // as AWS recommends

	switch visibility := inSeconds(attributes, sqstypes.QueueAttributeNameVisibilityTimeout); {
	case visibility < timeout:
		c.addf("queue "+name, fault, "visibility time-out %v is below the function's time-out %v: messages come back while they are worked on", visibility, timeout)
	case visibility < times*timeout:
		c.addf("queue "+name, note, "visibility time-out %v is below six times the function's time-out %v, which AWS recommends", visibility, timeout)
	default:
		c.addf("queue "+name, fine, "visibility time-out %v, at least six times the function's %v", visibility, timeout)
	}

	kept := inSeconds(attributes, sqstypes.QueueAttributeNameMessageRetentionPeriod)
	way := 2 * kept //nolint:mnd // in the queue, and once more if its producer sends it again at the end

	var redrive struct {
		Target  string      `json:"deadLetterTargetArn"`
		Receive json.Number `json:"maxReceiveCount"`
	}
	if err := json.Unmarshal([]byte(attributes[string(sqstypes.QueueAttributeNameRedrivePolicy)]), &redrive); err != nil || redrive.Target == "" {
		c.addf("queue "+name, note, "has no dead-letter queue: what fails comes back until it is %v old, and is lost then", kept)
	} else if way, err = c.deadLetters(ctx, name, redrive.Target, kept); err != nil {
		c.addf("dead letters of "+name, unknown, "%s", err)

		return
	}

	c.expect("retention", c.retention() >= way, fmt.Sprintf("records answer for %s, a message of %s comes back for %s at most", span(c.retention()), name, span(way)),
		fmt.Sprintf("records answer for %s, a message of %s can come back for %s: then finished work runs again. Raise Options.Retention (or give --retention)",
			span(c.retention()), name, span(way)))
}

// deadLetters returns the longest way of a message to its last delivery: the dead-letter queue counts the age from the first sending on a
// standard queue, and from its own on a FIFO queue; after a redrive the message is new in its queue.
func (c *checking) deadLetters(ctx context.Context, name, arn string, kept time.Duration) (time.Duration, error) {
	attributes, err := c.attributes(ctx, queueName(arn))
	if err != nil {
		return 0, err
	}

	dead := inSeconds(attributes, sqstypes.QueueAttributeNameMessageRetentionPeriod)
	c.expect("dead letters of "+name, dead > kept, fmt.Sprintf("kept for %s, messages of the queue for %s", span(dead), span(kept)),
		fmt.Sprintf("kept for %s from the first sending, and messages of the queue for %s: a dead letter may be gone at once", span(dead), span(kept)))

	if strings.HasSuffix(arn, ".fifo") {
		return kept + dead + kept, nil
	}

	return max(kept, dead) + kept, nil
}

func (c *checking) attributes(ctx context.Context, name string) (map[string]string, error) {
	api := sqs.NewFromConfig(c.desk.config)

	queue, err := api.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name})
	if err != nil {
		return nil, fmt.Errorf("URL of queue %s: %w", name, err)
	}

	out, err := api.GetQueueAttributes(ctx, &sqs.GetQueueAttributesInput{
		QueueUrl: queue.QueueUrl, AttributeNames: []sqstypes.QueueAttributeName{sqstypes.QueueAttributeNameAll},
	})
	if err != nil {
		return nil, fmt.Errorf("attributes of queue %s: %w", name, err)
	}

	return out.Attributes, nil
}

func queueName(arn string) string { return arn[strings.LastIndexByte(arn, ':')+1:] }

func inSeconds(attributes map[string]string, name sqstypes.QueueAttributeName) time.Duration {
	n, err := strconv.Atoi(attributes[string(name)])
	if err != nil {
		return 0
	}

	return time.Duration(n) * time.Second
}
