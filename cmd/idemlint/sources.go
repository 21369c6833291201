package main

import (
	"go/types"
	"strings"
)

// origin is where messages come from that are delivered at least once.
type origin struct {
	name   string
	advice string
}

// run is the advice where there is no wrapper.
const run = "have the work of each message done by idemddb.Run(ctx, store, key, nil, work), and acknowledge it after that"

// origins are the sources that a handler of lambda.Start is known by: the names of the event's type in package events.
var origins = map[string]origin{
	"SQSEvent":         {"SQS", "lambda.Start(lambdawrap.SQS(store, handle, nil)), or lambdawrap.Batch for a handler of whole events"},
	"SNSEvent":         {"SNS", "lambda.Start(lambdawrap.Func(store, handle, &lambdawrap.FuncOptions[events.SNSEvent]{Key: lambdawrap.SNSMessageID}))"},
	"KinesisEvent":     {"Kinesis", "lambda.Start(lambdawrap.Kinesis(store, handle, nil))"},
	"DynamoDBEvent":    {"a DynamoDB stream", "lambda.Start(lambdawrap.DynamoDBStream(store, handle, nil))"},
	"EventBridgeEvent": {"EventBridge", "lambda.Start(lambdawrap.Func(store, handle, &lambdawrap.FuncOptions[events.EventBridgeEvent]{Key: lambdawrap.EventBridgeID}))"},
	"CloudWatchEvent":  {"EventBridge", "lambda.Start(lambdawrap.Func(store, handle, &lambdawrap.FuncOptions[events.EventBridgeEvent]{Key: lambdawrap.EventBridgeID}))"},
	"KafkaEvent":       {"Kafka", "lambda.Start(lambdawrap.Kafka(store, handle, nil))"},
	"S3Event":          {"S3", "lambda.Start(lambdawrap.Func(store, handle, &lambdawrap.FuncOptions[events.S3Event]{Key: lambdawrap.S3ObjectVersion}))"},
	"RabbitMQEvent":    {"RabbitMQ", run},
	"ActiveMQEvent":    {"ActiveMQ", run},
}

const lambdaEvents = "github.com/aws/aws-lambda-go/events"

// originOf returns the source of the events that a function takes.
func originOf(signature *types.Signature) (origin, bool) {
	for parameter := range signature.Params().Variables() {
		named := namedOf(parameter.Type())
		if named == nil || pathOf(named.Obj()) != lambdaEvents {
			continue
		}

		if o, ok := origins[named.Obj().Name()]; ok {
			return o, true
		}
	}

	return origin{}, false
}

// receives are the functions of clients that deliver at least once, by the beginning of the import path.
var receives = []struct {
	path, source string
	names        []string
}{
	{"github.com/twmb/franz-go/pkg/kgo", "Kafka", []string{"Client.PollFetches", "Client.PollRecords"}},
	{"github.com/IBM/sarama", "Kafka", []string{"PartitionConsumer.Messages"}},
	{"github.com/Shopify/sarama", "Kafka", []string{"PartitionConsumer.Messages"}},
	{"github.com/segmentio/kafka-go", "Kafka", []string{"Reader.FetchMessage", "Reader.ReadMessage"}},
	{"github.com/confluentinc/confluent-kafka-go", "Kafka", []string{"Consumer.Poll", "Consumer.ReadMessage"}},
	{"github.com/ThreeDotsLabs/watermill/message", "Watermill", []string{
		"Router.AddHandler", "Router.AddNoPublisherHandler", "Router.AddConsumerHandler", "Subscriber.Subscribe",
	}},
	{"github.com/rabbitmq/amqp091-go", "RabbitMQ", []string{"Channel.Consume", "Channel.ConsumeWithContext"}},
	{"github.com/nats-io/nats.go/jetstream", "JetStream", []string{
		"Consumer.Consume", "Consumer.Fetch", "Consumer.FetchNoWait", "Consumer.Messages", "Consumer.Next",
	}},
	{"github.com/nats-io/nats.go", "JetStream", []string{ // the same methods of a connection deliver at most once
		"JetStream.Subscribe", "JetStream.QueueSubscribe", "JetStream.PullSubscribe", "JetStream.ChanSubscribe", "JetStream.ChanQueueSubscribe",
	}},
	{"cloud.google.com/go/pubsub", "Pub/Sub", []string{"Subscription.Receive", "Subscriber.Receive"}},
	{"github.com/Azure/azure-sdk-for-go/sdk/messaging/azservicebus", "Service Bus", []string{"Receiver.ReceiveMessages"}},
}

// source returns where the messages come from that a call receives; "" if it receives none, or only such as are delivered at most
// once.
func (c site) source() string {
	if c.operation() == "ReceiveMessage" {
		return "SQS"
	}

	path, name := pathOf(c.f), fullName(c.f)

	for _, r := range receives {
		if isIn(path, r.path) && listed(name, "is", r.names...) != "" {
			if c.acknowledgesFirst() {
				return ""
			}

			return r.source
		}
	}

	return ""
}

// acknowledgesFirst reports whether RabbitMQ forgets a message when it has sent it, which the argument autoAck says.
func (c site) acknowledgesFirst() bool {
	if !strings.HasPrefix(pathOf(c.f), "github.com/rabbitmq/") {
		return false
	}

	parameters := c.f.Signature().Params()

	for i := range min(parameters.Len(), len(c.call.Args)) {
		if parameters.At(i).Name() == "autoAck" {
			return isTrue(c.info, c.call.Args[i])
		}
	}

	return false
}

// consumerOf returns the source of a method that a client of a queue calls, by its parameters.
func consumerOf(signature *types.Signature) string {
	for parameter := range signature.Params().Variables() {
		t := parameter.Type()
		if isType(t, "github.com/IBM/sarama", "ConsumerGroupClaim") || isType(t, "github.com/Shopify/sarama", "ConsumerGroupClaim") {
			return "Kafka"
		}
	}

	return ""
}
