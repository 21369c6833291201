//go:build unix

package bench

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/bench/handwritten"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// hotCounts lists the rows of processes that add to few accounts, with every payment twice, and of duplicates among payments to
// an account each. The batches have ten messages. Unlike make hot, which has real processes and functions/payments, these rows
// have no announcements.
func hotCounts() []count {
	var all []count

	for _, c := range []struct{ processes, payments int }{{2, 200}, {6, 200}, {20, 1000}} {
		for _, accounts := range []int{1, 10} {
			name := fmt.Sprintf("%d processes, %s, every payment twice", c.processes, many(accounts, "account"))
			all = append(all, hot(name, c.processes, paid{payments: c.payments, accounts: accounts, twice: 100}))
		}
	}

	for _, twice := range []int{1, 5, 20} {
		name := fmt.Sprintf("2 processes, an account for each payment, %d %% of them twice", twice)
		all = append(all, hot(name, 2, paid{payments: 600, accounts: 600, twice: twice}))
	}

	return all
}

// paid is what a backlog holds.
type paid struct {
	payments, accounts int
	twice              int // percent of the payments that are delivered twice
}

func hot(name string, processes int, of paid) count {
	side := func(process func(*world) (lambdaHandler, error)) open {
		return func(at *world) (deliveries, error) {
			handlers := make([]lambdaHandler, processes)

			for i := range handlers {
				var err error
				if handlers[i], err = process(at); err != nil {
					return deliveries{}, err
				}
			}

			return deliveries{deliver: func(ctx context.Context, round int) error {
				q := newBacklog(round, of)

				return atOnce(processes, func(i int) error { return q.drain(ctx, handlers[i]) })
			}}, nil
		}
	}

	return count{
		name: name, messages: of.payments + of.payments*of.twice/100, rounds: 3, times: transactionTimes,
		byHand: side(func(at *world) (lambdaHandler, error) {
			tables := handwritten.PaymentTables{Records: recordTable, Ledger: effectTable}

			return handwritten.Payments(at.client, tables, nil), nil
		}),
		library: side(func(at *world) (lambdaHandler, error) {
			s, err := newStore(at, nil)
			if err != nil {
				return nil, err
			}

			key, err := lambdawrap.Body("paymentId")

			return lambdawrap.SQS(s, lambdawrap.JSON(payOnce), &lambdawrap.Options{Key: key, Optimistic: true, Workers: 10}), err
		}),
	}
}

type payment struct {
	PaymentID string `json:"paymentId"`
	Account   string `json:"account"`
	Amount    int64  `json:"amount"`
}

// payOnce stages what handwritten.Payments writes.
func payOnce(ctx context.Context, p payment) error {
	amount := strconv.FormatInt(p.Amount, 10)

	return idemddb.Stage(ctx, idemddb.Effects{
		Adds: []idemddb.Add{{
			Table: effectTable, Key: map[string]types.AttributeValue{"pk": text("account#" + p.Account)}, Unless: []string{"closed"},
			Values: map[string]types.AttributeValue{"balance": number(amount), "payments": number("1")},
		}},
		Items: []types.TransactWriteItem{{Put: &types.Put{
			TableName: new(effectTable), ConditionExpression: new("attribute_not_exists(pk)"),
			Item: map[string]types.AttributeValue{"pk": text("payment#" + p.PaymentID), "account": text(p.Account), "amount": number(amount)},
		}}},
	})
}

// backlog is a queue that brings a failed message back after 100 ms.
type backlog struct {
	mu       sync.Mutex
	messages []events.SQSMessage
	open     int // that are not acknowledged
}

func newBacklog(round int, of paid) *backlog {
	q := &backlog{}

	for copied := range 2 {
		for i := range of.payments {
			if copied > 0 && i*of.twice%100 >= of.twice { // they are spread over the payments
				continue
			}

			m := newMessage(i+copied*of.payments, 1)
			m.Body = fmt.Sprintf(`{"paymentId":"%d-%d","account":"%d","amount":1250}`, round, i, i%of.accounts)
			q.messages = append(q.messages, m)
		}
	}

	q.open = len(q.messages)

	random := rand.New(rand.NewPCG(uint64(round), 0))
	random.Shuffle(len(q.messages), func(i, j int) { q.messages[i], q.messages[j] = q.messages[j], q.messages[i] })

	return q
}

// drain handles batches until every message is acknowledged.
func (q *backlog) drain(ctx context.Context, invoke lambdaHandler) error {
	for {
		batch, isOver := q.take()
		if isOver {
			return nil
		}

		if len(batch) == 0 {
			time.Sleep(10 * time.Millisecond) //nolint:forbidigo // in a bubble this moves the clock

			continue
		}

		ctx, cancel := inLambda(ctx)
		response, err := invoke(ctx, events.SQSEvent{Records: batch})

		cancel()

		if err != nil {
			return errors.Join(errors.New("a batch failed"), err)
		}

		q.settle(batch, response.BatchItemFailures)
	}
}

func (q *backlog) take() (batch []events.SQSMessage, isOver bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	n := min(10, len(q.messages))
	batch, q.messages = q.messages[:n:n], q.messages[n:]

	return batch, q.open == 0
}

func (q *backlog) settle(batch []events.SQSMessage, failed []events.SQSBatchItemFailure) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.open -= len(batch) - len(failed)

	for _, f := range failed {
		for _, m := range batch {
			if m.MessageId == f.ItemIdentifier {
				m.Attributes = map[string]string{"ApproximateReceiveCount": "2"}
				time.AfterFunc(100*time.Millisecond, func() { q.put(m) })
			}
		}
	}
}

func (q *backlog) put(m events.SQSMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()

	q.messages = append(q.messages, m)
}
