// Package guarded has handlers whose work happens once, or does no harm when it happens again, each in another way.
package guarded

import (
	"context"
	"database/sql"
	"net/http"
	"strings"
	"time"

	"example.com/shop/ledger"
	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/ThreeDotsLabs/watermill/message/router/middleware"
	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
	"github.com/nats-io/nats.go"
	"github.com/rabbitmq/amqp091-go"
	"github.com/redis/go-redis/v9"
	"github.com/stripe/stripe-go/v82"
	"github.com/stripe/stripe-go/v82/paymentintent"
)

type handler struct {
	ledger *ledger.Ledger
	store  *idemddb.Store
	db     *sql.DB
	redis  *redis.Client
	queue  *sqs.Client
	bank   interface {
		Charge(ctx context.Context, id string) error
	}
}

// 1. The wrapper of this library, with what measures it around it.
func wrapped(h *handler, m *lambdawrap.Metrics) {
	handle := lambdawrap.SQS(h.store, func(ctx context.Context, m events.SQSMessage) error { return h.bank.Charge(ctx, m.Body) }, nil)
	lambda.Start(lambdawrap.Measure(m, handle))
}

// 2. Run, for each message of a queue.
func (h *handler) poll(ctx context.Context) error {
	batch, err := h.queue.ReceiveMessage(ctx, &sqs.ReceiveMessageInput{})
	if err != nil {
		return err
	}

	for _, m := range batch.Messages {
		_, err = idemddb.Run(ctx, h.store, m, nil, func(ctx context.Context, _ *idemddb.Claim) ([]byte, error) {
			return nil, h.bank.Charge(ctx, m)
		})
	}

	return err
}

// 3. A write with a condition, in another package.
func conditional(h *handler) {
	lambda.Start(func(ctx context.Context, e events.SQSEvent) error { return h.ledger.BookNew(ctx, e.Records[0].Body) })
}

// 4. A mark with a condition, before the work.
func marked(h *handler) {
	lambda.Start(func(ctx context.Context, e events.SNSEvent) error {
		isNew, err := h.ledger.Mark(ctx, "p-1")
		if err != nil || !isNew {
			return err
		}

		return h.bank.Charge(ctx, "p-1")
	})
}

// 5. An INSERT that ignores what is there, before the work.
func inserted(h *handler) {
	lambda.Start(func(ctx context.Context, _ events.KinesisEvent) error {
		done, err := h.db.ExecContext(ctx, `
			INSERT INTO processed (id) VALUES ($1)
			ON CONFLICT DO NOTHING`, "p-1")
		if err != nil || done == nil {
			return err
		}

		_, err = h.db.ExecContext(ctx, "UPDATE accounts SET balance = balance - 1")

		return err
	})
}

// 6. A key in Redis.
func redisKey(h *handler) {
	lambda.Start(func(ctx context.Context, e events.EventBridgeEvent) error {
		if isNew, err := h.redis.SetNX(ctx, e.ID, 1, time.Hour).Result(); err != nil || !isNew {
			return err
		}

		return h.bank.Charge(ctx, e.ID)
	})
}

// 7. A token that the other system knows the payment by.
func token() {
	lambda.Start(func(_ context.Context, e events.EventBridgeEvent) error {
		params := &stripe.PaymentIntentParams{Amount: 1}
		params.SetIdempotencyKey(e.ID)
		_, err := paymentintent.New(params)

		return err
	})
}

// 8. A header with the token.
func header() {
	lambda.Start(func(ctx context.Context, e events.EventBridgeEvent) error {
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://bank.example/payments", strings.NewReader("{}"))
		if err != nil {
			return err
		}

		r.Header.Set("Idempotency-Key", e.ID)

		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			return err
		}

		return answer.Body.Close()
	})
}

// 9. A middleware of another library.
func (h *handler) route(r *message.Router, s message.Subscriber, d *middleware.Deduplicator) {
	r.AddMiddleware(d.Middleware)
	r.AddNoPublisherHandler("pay", "payments", s, func(m *message.Message) error { return h.bank.Charge(context.Background(), string(m.Payload)) })
}

// 10. Messages that are delivered at most once.
func (h *handler) atMostOnce(ctx context.Context, ch *amqp091.Channel, nc *nats.Conn) error {
	deliveries, err := ch.ConsumeWithContext(ctx, "payments", "", true, false, false, false, nil)
	for d := range deliveries {
		_ = h.bank.Charge(ctx, string(d.Body))
	}

	if _, err := nc.Subscribe("payments", func(m *nats.Msg) { _ = h.bank.Charge(ctx, string(m.Data)) }); err != nil {
		return err
	}

	return err
}

// 11. A handler that only reads, and acknowledges.
func reads(h *handler) {
	lambda.Start(func(ctx context.Context, e events.SQSEvent) error {
		if _, err := h.queue.DeleteMessage(ctx, &sqs.DeleteMessageInput{}); err != nil {
			return err
		}

		rows, err := h.db.QueryContext(ctx, "SELECT id FROM payments")
		if err != nil {
			return err
		}

		return rows.Close()
	})
}

// 12. A message whose queue knows it by a token.
func forwards(h *handler) {
	lambda.Start(func(ctx context.Context, e events.SQSEvent) error {
		_, err := h.queue.SendMessage(ctx, &sqs.SendMessageInput{MessageDeduplicationId: &e.Records[0].MessageId})

		return err
	})
}

// 13. A function that is called by people, not by a source of events.
func asked(h *handler) {
	lambda.Start(func(ctx context.Context, id string) error { return h.bank.Charge(ctx, id) })
}
