package lambdawrap_test

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// open opens an envelope, and prints what stood in it with the default key of each message.
func open(envelope lambdawrap.EnvelopeFunc, body string) {
	opened, err := envelope.Open(context.Background(), received(body).Records[0])
	if err != nil {
		fmt.Println(err)
	}

	for _, e := range opened {
		key, err := e.Key()
		fmt.Println(e.Message.Body, key, err)
	}
}

// A queue that subscribes to a topic gets the topic's messages in an envelope. The key is the topic's id of the message.
func ExampleSNS() {
	open(lambdawrap.SNS, `{
		"Type": "Notification",
		"MessageId": "63a3f6b6-d533-4a47-aef9-fcf5cf758c76",
		"TopicArn": "arn:aws:sns:eu-west-1:111122223333:payments",
		"Message": "{\"paymentId\":\"p-1\"}"
	}`)
	// Output: {"paymentId":"p-1"} #["SNS","63a3f6b6-d533-4a47-aef9-fcf5cf758c76"] <nil>
}

// A subscription with raw message delivery has no envelope.
func ExampleSNS_rawDelivery() {
	open(lambdawrap.SNS, `{"paymentId":"p-1"}`)
	// Output: lambdawrap: no key in the message: the body is no envelope of SNS that can be opened: it has no Type; a subscription with raw message delivery has no envelope and needs no Options.Envelope
}

func ExampleEventBridge() {
	open(lambdawrap.EventBridge, `{
		"version": "0", "id": "6a7e8feb-b491-4cf7-a9f1-bf3703467718", "detail-type": "payment.captured", "source": "payments",
		"account": "111122223333", "time": "2026-01-02T12:00:00Z", "region": "eu-west-1", "resources": [], "detail": {"paymentId": "p-1"}
	}`)
	// Output: {"paymentId": "p-1"} #["EventBridge","6a7e8feb-b491-4cf7-a9f1-bf3703467718"] <nil>
}

// Each record of a notification is a message. The test event that S3 sends first holds none.
func ExampleS3() {
	open(lambdawrap.S3, `{"Service": "Amazon S3", "Event": "s3:TestEvent", "Bucket": "reports"}`)
	open(lambdawrap.S3, `{"Records": [
		{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"reports"},"object":{"key":"a.csv","sequencer":"0A"}}}
	]}`)
	// Output: {"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"reports"},"object":{"key":"a.csv","sequencer":"0A"}}} #["S3","ObjectCreated:Put 0A reports/a.csv"] <nil>
}

// The extended client of SQS stores a large body in S3 and sends a pointer to it. shelf stands in for s3.NewFromConfig(cfg).
func ExampleS3Pointer() {
	client := shelf{"payloads/0b5c": `{"paymentId":"p-1"}`}

	open(lambdawrap.S3Pointer(client), `["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"payloads","s3Key":"0b5c"}]`)
	// Output: {"paymentId":"p-1"} #["S3Pointer","payloads/0b5c"] <nil>
}

func ExampleBase64() {
	open(lambdawrap.Base64, "eyJwYXltZW50SWQiOiJwLTEifQ==")
	// Output: {"paymentId":"p-1"} #["arn:aws:sqs:eu-west-1:111122223333:payments","m-1"] <nil>
}

func ExampleGzip() {
	open(lambdawrap.Chain(lambdawrap.Base64, lambdawrap.Gzip), "H4sIAAAAAAACA6tWKkiszE3NK/FMUbJSKtA1VKoFANqjUu0TAAAA")
	// Output: {"paymentId":"p-1"} #["arn:aws:sqs:eu-west-1:111122223333:payments","m-1"] <nil>
}

// A topic passes on messages that their publisher has compressed.
func ExampleChain() {
	open(lambdawrap.Chain(lambdawrap.SNS, lambdawrap.Base64, lambdawrap.Gzip),
		`{"Type": "Notification", "MessageId": "63a3f6b6", "Message": "H4sIAAAAAAACA6tWKkiszE3NK/FMUbJSKtA1VKoFANqjUu0TAAAA"}`)
	// Output: {"paymentId":"p-1"} #["SNS","63a3f6b6"] <nil>
}

// Messages that unpack to more than a few bytes stay closed.
func ExampleLimited() {
	open(lambdawrap.Limited(lambdawrap.Base64, lambdawrap.EnvelopeLimits{Bytes: 8}), "eyJwYXltZW50SWQiOiJwLTEifQ==")
	// Output: lambdawrap: no key in the message: the envelope holds more than the 8 bytes of EnvelopeLimits.Bytes
}

// An envelope of your own: the producer sends several payments in one message, one a line.
func ExampleEnvelopeFunc() {
	lines := func(_ context.Context, m events.SQSMessage) (opened []lambdawrap.Enveloped, err error) {
		for line := range strings.Lines(m.Body) {
			one := m
			one.Body = strings.TrimSpace(line)
			opened = append(opened, lambdawrap.Enveloped{Message: one})
		}

		return opened, nil
	}

	open(lines, "p-1\np-2\n")
	// Output:
	// p-1 #["arn:aws:sqs:eu-west-1:111122223333:payments","m-1"] <nil>
	// p-2 #["arn:aws:sqs:eu-west-1:111122223333:payments","m-1/1"] <nil>
}
