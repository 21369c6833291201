package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
)

// load is what the queue delivers in one round, the same to both sides.
type load struct {
	seed       uint64
	payments   []ledger.Payment
	deliveries []events.SQSMessage
}

func newLoad(s settings, seed uint64) load {
	l := load{seed: seed}
	random := rand.New(rand.NewPCG(seed, 0)) //nolint:gosec // a run can be repeated

	for i := range s.payments {
		account := i
		if s.accounts > 0 {
			account %= s.accounts
		}

		// Amounts as different as these show in a sum which of them is missing or doubled.
		l.payments = append(l.payments, ledger.Payment{
			PaymentID: fmt.Sprintf("payment-%06d", i), Account: fmt.Sprintf("account-%06d", account), Amount: 1 + random.Int64N(1e9),
		})
	}

	for copied := range 2 {
		for i, p := range l.payments {
			if copied > 0 && i*s.twice%100 >= s.twice { // they are spread over the payments
				continue
			}

			l.deliveries = append(l.deliveries, newMessage(fmt.Sprintf("%08x-5f21-4b3c-9d1e-%012x", copied, i), p))
		}
	}

	random.Shuffle(len(l.deliveries), func(i, j int) { l.deliveries[i], l.deliveries[j] = l.deliveries[j], l.deliveries[i] })

	return l
}

// warmUp returns payments that meet no others. A worker handles them before the measurement, as in all invocations but its first
// one a Lambda function has an open connection.
func warmUp(s settings, process int) []events.SQSMessage {
	messages := make([]events.SQSMessage, s.batch)

	for i := range messages {
		id := fmt.Sprintf("warm-%d-%d", process, i)
		messages[i] = newMessage(id, ledger.Payment{PaymentID: id, Account: id, Amount: 1})
	}

	return messages
}

func newMessage(id string, p ledger.Payment) events.SQSMessage {
	body, err := json.Marshal(p)
	if err != nil {
		panic(err) // never: two texts and a number
	}

	return received(events.SQSMessage{
		MessageId: id, ReceiptHandle: "AQEBwJnKyrHigUMZj6rYigCgxlaS3SLy0a", Body: string(body), EventSource: "aws:sqs",
		EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:payments", AWSRegion: "us-east-1",
	}, 1)
}

// received returns the message as it is delivered for this many times.
func received(m events.SQSMessage, count int) events.SQSMessage {
	m.Attributes = map[string]string{
		"ApproximateReceiveCount": strconv.Itoa(count), "SentTimestamp": "1750000000000",
		"SenderId": "AIDAIENQZJOLO23YVJ4VO", "ApproximateFirstReceiveTimestamp": "1750000000100",
	}

	return m
}
