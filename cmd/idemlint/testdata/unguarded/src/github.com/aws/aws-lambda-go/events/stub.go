// Package events stands in for the real one.
package events

type (
	SQSEvent         struct{ Records []SQSMessage }
	SQSMessage       struct{ MessageId, Body string }
	SNSEvent         struct{}
	KinesisEvent     struct{}
	DynamoDBEvent    struct{}
	EventBridgeEvent struct{ ID string }
	KafkaEvent       struct{}
)
