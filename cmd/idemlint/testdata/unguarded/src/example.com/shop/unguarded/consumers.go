package unguarded

import (
	"context"

	"cloud.google.com/go/pubsub"
	"github.com/IBM/sarama"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/nats-io/nats.go"
	"github.com/rabbitmq/amqp091-go"
	"github.com/twmb/franz-go/pkg/kgo"
)

func (h *handler) poll(ctx context.Context) error {
	for {
		batch, err := h.queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{}) // want `SQS delivers at least once, and what is done with its messages here reaches a write, dynamodb.PutItem \(ledger.go:\d+\) without a guard`
		if err != nil {
			return err
		}

		for _, m := range batch.Messages {
			if err := h.ledger.Book(ctx, m); err != nil {
				continue
			}

			if _, err := h.queue.DeleteMessage(ctx, &sqs.DeleteMessageInput{}); err != nil {
				return err
			}
		}
	}
}

// What receives is a function of its own.
func (h *handler) receive(ctx context.Context) ([]string, error) {
	batch, err := h.queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{})
	if err != nil {
		return nil, err
	}

	return batch.Messages, nil
}

func (h *handler) work(ctx context.Context) error {
	all, err := h.receive(ctx) // want `SQS delivers at least once`
	for _, m := range all {
		if err := h.bank.Charge(ctx, m); err != nil {
			return err
		}
	}

	return err
}

func (h *handler) fetch(ctx context.Context, client *kgo.Client) {
	client.PollFetches(ctx).EachRecord(func(r *kgo.Record) { // want `Kafka delivers at least once, and what is done with its messages here reaches a write`
		_ = h.ledger.Book(ctx, string(r.Value))
	})
}

type group struct{ *handler }

func (g group) ConsumeClaim(s sarama.ConsumerGroupSession, c sarama.ConsumerGroupClaim) error { // want `Kafka delivers at least once`
	for m := range c.Messages() {
		if err := g.ledger.Book(context.Background(), string(m.Value)); err != nil {
			return err
		}

		s.MarkMessage(m, "")
	}

	return nil
}

func (h *handler) route(r *message.Router, s message.Subscriber) {
	r.AddNoPublisherHandler("pay", "payments", s, h.routed) // want `Watermill delivers at least once`
}

func (h *handler) routed(m *message.Message) error {
	return h.ledger.Book(context.Background(), string(m.Payload))
}

func (h *handler) rabbit(ctx context.Context, ch *amqp091.Channel) error {
	deliveries, err := ch.ConsumeWithContext(ctx, "payments", "", false, false, false, false, nil) // want `RabbitMQ delivers at least once`
	if err != nil {
		return err
	}

	go func() {
		for d := range deliveries {
			_ = h.bank.Charge(ctx, string(d.Body))
		}
	}()

	return nil
}

func (h *handler) jetstream(js nats.JetStream) error {
	_, err := js.Subscribe("payments", func(m *nats.Msg) { // want `JetStream delivers at least once`
		_ = h.ledger.Book(context.Background(), string(m.Data))
	})

	return err
}

func (h *handler) pubsub(ctx context.Context, s *pubsub.Subscription) error {
	return s.Receive(ctx, func(ctx context.Context, m *pubsub.Message) { // want `Pub/Sub delivers at least once`
		if h.ledger.Book(ctx, string(m.Data)) == nil {
			m.Ack()
		}
	})
}
