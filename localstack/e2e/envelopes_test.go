//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

const (
	published  = 25 // payments of each test, numbered by their amounts
	snsVersion = "2010-03-31"
)

// The program and the template of docs/envelopes.md, deployed as they stand: SNS publishes to the queue of the function. The
// publisher publishes each payment twice, and SNS delivers each notification twice: a second queue subscribes to the topic, and
// its messages are put into the first one, because no call makes SNS repeat itself. Each payment is charged once.
func testTopic(t *testing.T) {
	t.Helper()

	c := deployConsumer(t, "envelopes", "e2e-topic")

	copies, err := c.p.SQS.CreateQueue(t.Context(), &sqs.CreateQueueInput{QueueName: aws.String("e2e-topic-copies")})
	if err != nil {
		t.Fatal(err)
	}

	askForm(t, "sns", snsVersion, nil, url.Values{
		"Action": {"Subscribe"}, "TopicArn": {c.names["Topic"]}, "Protocol": {"sqs"},
		"Endpoint": {c.arnOf(t, aws.ToString(copies.QueueUrl))},
	})

	for range 2 {
		for amount := range published {
			c.publish(t, amount)
		}
	}

	c.forward(t, aws.ToString(copies.QueueUrl), 2*published)
	c.wantCharged(t, published, func(amount int) { c.publish(t, amount) })
}

// The same behind a rule of EventBridge, whose key is the event's id. The rule has the queue as its target twice, so that
// EventBridge delivers each event twice.
func testRule(t *testing.T) {
	t.Helper()

	c := deployConsumer(t, "envelopes/eventbridge", "e2e-rule")

	c.put(t, "AWSEvents.PutTargets", map[string]any{
		"Rule":    c.names["Rule"],
		"Targets": []map[string]string{{"Id": "again", "Arn": c.arnOf(t, c.p.QueueUrl)}},
	})

	happened := func(amount int) {
		c.put(t, "AWSEvents.PutEvents", map[string]any{"Entries": []map[string]string{
			{"Source": "shop", "DetailType": "payment.captured", "Detail": paymentOf(amount)},
		}})
	}

	for amount := range published {
		happened(amount)
	}

	c.wantCharged(t, published, happened)
}

// consumer is a deployed program of docs/envelopes.md.
type consumer struct {
	deployedPage

	p *pipeline.Pipeline
}

func deployConsumer(t *testing.T, program, stack string) consumer {
	t.Helper()

	page := deployPage(t, program, stack)

	p, err := pipeline.New(t.Context(), pipeline.Names{QueueUrl: page.names["Queue"], RecordTableName: page.names["Records"]})
	if err != nil {
		t.Fatal(err)
	}

	watch(t, p.DynamoDB, p.RecordTableName)

	// A message that arrives while its twin is worked on comes back when it is no longer hidden. Here that is sooner than after three
	// minutes.
	if _, err := p.SQS.SetQueueAttributes(t.Context(), &sqs.SetQueueAttributesInput{
		QueueUrl: &p.QueueUrl, Attributes: map[string]string{"VisibilityTimeout": "10"},
	}); err != nil {
		t.Fatal(err)
	}

	return consumer{page, p}
}

func paymentOf(amount int) string {
	return fmt.Sprintf(`{"paymentId":"p-%d","amount":%d}`, amount, amount)
}

func (c consumer) publish(t *testing.T, amount int) {
	t.Helper()

	var answer struct {
		ID string `xml:"PublishResult>MessageId"`
	}

	askForm(t, "sns", snsVersion, &answer, url.Values{"Action": {"Publish"}, "TopicArn": {c.names["Topic"]}, "Message": {paymentOf(amount)}})

	if answer.ID == "" {
		t.Fatalf("SNS gave the publication of %d no MessageId", amount)
	}
}

// put asks EventBridge, whose answer tells which entries it refused.
func (c consumer) put(t *testing.T, target string, request any) {
	t.Helper()

	body, err := json.Marshal(request)
	if err != nil {
		t.Fatal(err)
	}

	var answer struct{ FailedEntryCount int }

	content := ask(t, "events", "application/x-amz-json-1.1", target, string(body))
	if err := json.Unmarshal(content, &answer); err != nil || answer.FailedEntryCount != 0 {
		t.Fatalf("%s: %v: %s", target, err, content)
	}
}

func (c consumer) arnOf(t *testing.T, queue string) string {
	t.Helper()

	out, err := c.p.SQS.GetQueueAttributes(t.Context(), &sqs.GetQueueAttributesInput{QueueUrl: &queue, AttributeNames: []sqsAttribute{"QueueArn"}})
	if err != nil {
		t.Fatal(err)
	}

	return out.Attributes["QueueArn"]
}

// forward puts so many messages of another queue into that of the function, as they are.
func (c consumer) forward(t *testing.T, from string, n int) {
	t.Helper()

	forwarded := 0

	await(t, "SNS to deliver to the second queue", time.Minute, func() (bool, string) {
		out, err := c.p.SQS.ReceiveMessage(t.Context(), &sqs.ReceiveMessageInput{QueueUrl: &from, MaxNumberOfMessages: 10, VisibilityTimeout: 600})
		if err != nil {
			t.Fatal(err)
		}

		for _, m := range out.Messages {
			if _, err := c.p.SQS.SendMessage(t.Context(), &sqs.SendMessageInput{QueueUrl: &c.p.QueueUrl, MessageBody: m.Body}); err != nil {
				t.Fatal(err)
			}

			forwarded++
		}

		return forwarded == n, fmt.Sprintf("%d of %d messages", forwarded, n)
	})
}

// wantCharged waits until the queue is empty, and wants each of so many payments charged once, which the lines of the log show.
// LocalStack writes them in the order in which invocations end, some time later: when the line of one more payment is there,
// those of all before it are.
func (c consumer) wantCharged(t *testing.T, n int, publish func(amount int)) {
	t.Helper()

	c.idle(t, n)
	publish(n)
	c.idle(t, n+1)

	last := strconv.Itoa(n)

	await(t, "the line of the last payment", time.Minute, func() (bool, string) {
		charged := c.charged(t)

		return charged[last] > 0, fmt.Sprint(charged)
	})

	want := map[string]int{}
	for amount := range n + 1 {
		want[strconv.Itoa(amount)] = 1
	}

	if diff := cmp.Diff(want, c.charged(t)); diff != "" {
		t.Errorf("payments by how often they are charged (-want +got):\n%s", diff)
	}

	if letters := depth(t, c.p, c.names["DeadLetters"]); letters != (pipeline.Depth{}) {
		t.Errorf("dead letters: %+v, want none", letters)
	}
}

// idle waits until so many payments are done and the queue is empty.
func (c consumer) idle(t *testing.T, n int) {
	t.Helper()

	await(t, fmt.Sprintf("%d payments to be done and the queue to be empty", n), 3*time.Minute, func() (bool, string) {
		done, sight := doneWithPrefix(t, c.p, "")
		queue := depth(t, c.p, c.p.QueueUrl)

		return done >= n && queue == pipeline.Depth{}, fmt.Sprintf("queue %+v, %s", queue, sight)
	})
}

// charged counts the lines that the handler of the page writes, by the amount of the payment.
func (c consumer) charged(t *testing.T) map[string]int {
	t.Helper()

	times := map[string]int{}

	for _, line := range logLines(t, "/aws/lambda/"+c.names["Payments"]) {
		if _, charging, ok := strings.Cut(line, " charging "); ok { // behind the time
			amount, _, _ := strings.Cut(charging, " ")
			times[amount]++
		}
	}

	return times
}
