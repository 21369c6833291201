package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awsarn "github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/idemddb/go-idemddb/cmd/idem/internal/report"
)

// eventSources checks each queue and stream that invokes the function.
func (c *checking) eventSources(ctx context.Context) {
	api := lambda.NewFromConfig(c.desk.config)

	if timeout, ok := c.timeout(ctx, api); ok {
		c.mappings(ctx, api, timeout)
	}
}

// timeout returns the time-out of the function, with which the times of its queues are compared. It returns false if the answer
// has none.
func (c *checking) timeout(ctx context.Context, api *lambda.Client) (time.Duration, bool) {
	configuration, err := api.GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &c.function})
	if err == nil && configuration.Timeout == nil {
		err = errors.New("the answer has no Timeout")
	}

	if err != nil {
		c.unasked("function", err)

		return 0, false
	}

	timeout := time.Duration(*configuration.Timeout) * time.Second
	c.addf("function", fine, "%s, time-out %v", c.function, timeout)

	return timeout, true
}

// mappings checks the event sources that invoke the function, page by page. Without a queue or a stream nothing of what the
// caller asks for is checked: an alias has mappings of its own.
func (c *checking) mappings(ctx context.Context, api *lambda.Client, timeout time.Duration) {
	pages := lambda.NewListEventSourceMappingsPaginator(api, &lambda.ListEventSourceMappingsInput{FunctionName: &c.function})
	found := false

	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			c.unasked("event source", err)

			return
		}

		for i := range page.EventSourceMappings {
			m := &page.EventSourceMappings[i]
			found = isReported(m) || found

			c.eventSource(ctx, m, timeout)
		}
	}

	if !found {
		c.unasked("event source", fmt.Errorf("no queue, stream or topic invokes %s; a mapping of an alias is only seen with --function NAME:ALIAS; "+
			"for a function without one leave --function out", c.function))
	}
}

// eventSource checks one event source of the function: what the function reports to it, and for a queue its times.
func (c *checking) eventSource(ctx context.Context, m *lambdatypes.EventSourceMappingConfiguration, timeout time.Duration) {
	if isReported(m) {
		c.mapping(m)
	}

	if isKafka(m) {
		c.expect("event source of "+mappingName(m), m.ProvisionedPollerConfig != nil, "ProvisionedPollerConfig is set",
			"ProvisionedPollerConfig is missing: Lambda reads which records of Kafka failed in the provisioned mode only, and takes all for done. "+
				"Set it before anything else")
	}

	if arn := aws.ToString(m.EventSourceArn); strings.Contains(arn, ":sqs:") {
		c.queue(ctx, arn, timeout)
	}
}

// isReported reports whether a function reports single failures to this source.
func isReported(m *lambdatypes.EventSourceMappingConfiguration) bool {
	arn := aws.ToString(m.EventSourceArn)

	return strings.Contains(arn, ":sqs:") || strings.Contains(arn, ":kinesis:") || strings.Contains(arn, ":dynamodb:") || isKafka(m)
}

// isKafka reports whether the source is a topic of Amazon MSK, or of another cluster, which has no ARN.
func isKafka(m *lambdatypes.EventSourceMappingConfiguration) bool {
	return strings.Contains(aws.ToString(m.EventSourceArn), ":kafka:") || m.SelfManagedEventSource != nil
}

// mappingName names the source of a mapping. Two topics of one cluster have one ARN.
func mappingName(m *lambdatypes.EventSourceMappingConfiguration) string {
	if isKafka(m) {
		return "topic " + strings.Join(m.Topics, ", ")
	}

	return sourceName(aws.ToString(m.EventSourceArn))
}

func (c *checking) mapping(m *lambdatypes.EventSourceMappingConfiguration) {
	name := mappingName(m)
	reports := slices.Contains(m.FunctionResponseTypes, lambdatypes.FunctionResponseTypeReportBatchItemFailures)

	c.expect("event source of "+name, reports, "FunctionResponseTypes has ReportBatchItemFailures",
		"FunctionResponseTypes lacks ReportBatchItemFailures: what is reported failed is taken for done, AND LOST. Set it before anything else")

	switch state := aws.ToString(m.State); state {
	case "Enabled":
	case "":
		c.unasked("event source of "+name, errors.New("the answer has no State, so that it may be disabled"))
	default:
		c.addf("event source of "+name, note, "is %s: the function is not invoked", state)
	}
}

// queue checks the times of a queue and of its dead-letter queue.
func (c *checking) queue(ctx context.Context, arn string, timeout time.Duration) {
	name := sourceName(arn)

	attributes, err := c.attributes(ctx, arn)
	if err != nil {
		c.unasked("queue "+name, err)

		return
	}

	visibility, errVisibility := inSeconds(attributes, sqstypes.QueueAttributeNameVisibilityTimeout)

	kept, err := inSeconds(attributes, sqstypes.QueueAttributeNameMessageRetentionPeriod)
	if err = errors.Join(errVisibility, err); err != nil {
		c.unasked("queue "+name, err)

		return
	}

	c.visibility(name, visibility, timeout)
	c.redelivery(ctx, name, kept, attributes)
}

func (c *checking) visibility(name string, visibility, timeout time.Duration) {
	const times = 6 // as AWS recommends

	switch {
	case visibility < timeout:
		c.addf("queue "+name, fault, "visibility time-out %v is below the function's time-out %v: messages come back while they are worked on",
			visibility, timeout)
	case visibility < times*timeout:
		c.addf("queue "+name, note, "visibility time-out %v is below six times the function's time-out %v, which AWS recommends",
			visibility, timeout)
	default:
		c.addf("queue "+name, fine, "visibility time-out %v, at least six times the function's %v", visibility, timeout)
	}
}

// redelivery compares the retention of the records with the longest way of a message to its last delivery. A record answers what
// arrives before its end, and the requests of the last delivery may arrive later than that delivery began.
func (c *checking) redelivery(ctx context.Context, name string, kept time.Duration, attributes map[string]string) {
	way := 2 * kept // in the queue, and once more if its producer sends it again at the end

	var redrive struct {
		Target  string      `json:"deadLetterTargetArn"`
		Receive json.Number `json:"maxReceiveCount"`
	}

	err := json.Unmarshal([]byte(attributes[string(sqstypes.QueueAttributeNameRedrivePolicy)]), &redrive)
	if err != nil || redrive.Target == "" {
		c.addf("queue "+name, note, "has no dead-letter queue: what fails comes back until it is %v old, and is lost then", kept)
	} else if way, err = c.deadLetters(ctx, name, redrive.Target, kept); err != nil {
		c.unasked("dead letters of "+name, err)

		return
	}

	c.expect("retention", c.retention() >= way+lateRequest,
		fmt.Sprintf("records answer for %s, a message of %s comes back for %s at most", report.Span(c.retention()), name, report.Span(way)),
		fmt.Sprintf("records answer for %s, a message of %s can come back for %s, and a request of its last delivery can arrive %.0f minutes after that: "+
			"what arrives after the record's end runs finished work again. Raise Options.Retention to both together (or give --retention)",
			report.Span(c.retention()), name, report.Span(way), lateRequest.Minutes()))
}

// deadLetters returns the longest way of a message to its last delivery: the dead-letter queue counts the age from the first
// sending on a standard queue, and from its own on a FIFO queue; after a redrive the message is new in its queue.
func (c *checking) deadLetters(ctx context.Context, name, arn string, kept time.Duration) (time.Duration, error) {
	attributes, err := c.attributes(ctx, arn)
	if err != nil {
		return 0, err
	}

	dead, err := inSeconds(attributes, sqstypes.QueueAttributeNameMessageRetentionPeriod)
	if err != nil {
		return 0, err
	}

	c.expect("dead letters of "+name, dead > kept, fmt.Sprintf("kept for %s, messages of the queue for %s", report.Span(dead), report.Span(kept)),
		fmt.Sprintf("kept for %s from the first sending, and messages of the queue for %s: a dead letter may be gone at once",
			report.Span(dead), report.Span(kept)))

	if strings.HasSuffix(arn, ".fifo") {
		return kept + dead + kept, nil
	}

	return max(kept, dead) + kept, nil
}

// attributes returns those of a queue, which may be another account's: the caller's account may have one of the same name.
func (c *checking) attributes(ctx context.Context, queueARN string) (map[string]string, error) {
	api := sqs.NewFromConfig(c.desk.config)
	name := sourceName(queueARN)
	owner, _ := awsarn.Parse(queueARN) // of a text that is no ARN, the account is empty, and SQS takes the caller's

	queue, err := api.GetQueueUrl(ctx, &sqs.GetQueueUrlInput{QueueName: &name, QueueOwnerAWSAccountId: &owner.AccountID})
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

// sourceName is the part of an ARN behind its account: the name of a queue, or stream/NAME, or table/NAME/stream/TIME.
func sourceName(arn string) string {
	const parts = 6

	all := strings.SplitN(arn, ":", parts)

	return all[len(all)-1]
}

// inSeconds reads an attribute of a queue.
func inSeconds(attributes map[string]string, name sqstypes.QueueAttributeName) (time.Duration, error) {
	n, err := strconv.Atoi(attributes[string(name)])
	if err != nil {
		return 0, fmt.Errorf("the answer has no %s", name)
	}

	return time.Duration(n) * time.Second, nil
}
