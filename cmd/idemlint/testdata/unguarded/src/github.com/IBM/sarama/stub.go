// Package sarama stands in for the real one.
package sarama

type (
	ConsumerMessage      struct{ Value []byte }
	ConsumerGroupSession interface {
		MarkMessage(*ConsumerMessage, string)
	}
	ConsumerGroupClaim interface {
		Messages() <-chan *ConsumerMessage
	}
)
