//go:build unix

package bench

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/bench/handwritten"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// queueCounts lists the rows of a queue.
func queueCounts() []count {
	var all []count

	for _, size := range []int{10, 100, 1000, 10000} {
		for _, workers := range []int{1, 2, 10, 100} {
			all = append(all, claims(workload{size: size}, workers, "batch of "+thousands(size)+", "+many(workers, "worker")))
		}
	}

	for _, size := range []int{10, 100} {
		all = append(all,
			claims(workload{size: size, duplicates: size, receives: 2}, 10, fmt.Sprintf("batch of %d, all of them delivered again", size)),
			claims(workload{size: size, duplicates: size, receives: 1}, 10, fmt.Sprintf("batch of %d, all of them sent twice", size)))
	}

	return append(all, claims(workload{size: 100, duplicates: 5, receives: 2}, 10, "batch of 100, five of them delivered again"))
}

// effectCounts lists the rows of work with effects.
func effectCounts() []count {
	return slices.Concat(
		effects(workload{size: 10}, "batch of 10"),
		effects(workload{size: 100}, "batch of 100"),
		effects(workload{size: 100, duplicates: 5, receives: 2}, "batch of 100, five of them delivered again"))
}

func many(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}

	return fmt.Sprintf("%d %ss", n, what)
}

// thousands writes a number with a comma.
func thousands(n int) string {
	if n < 1000 {
		return strconv.Itoa(n)
	}

	return fmt.Sprintf("%d,%03d", n/1000, n%1000)
}

// claims is a handler that does nothing, between claim and completion.
func claims(w workload, workers int, name string) count {
	return queue(w, "claims: "+name,
		func(at *world) lambdaHandler {
			return handwritten.SQS(at.client, recordTable, nothing, &handwritten.Options{Workers: workers})
		},
		func(s *idemddb.Store) lambdaHandler {
			return lambdawrap.SQS(s, nothing, &lambdawrap.Options{Workers: workers})
		})
}

// effects are handlers that stage something: an item after a claim, an item without a claim, an addition to one account, a
// message.
func effects(w workload, name string) []count {
	const workers = 10

	return []count{
		queue(w, "staged: "+name,
			func(at *world) lambdaHandler {
				return handwritten.SQS(at.client, recordTable, nothing, &handwritten.Options{Workers: workers, Effects: entries})
			},
			func(s *idemddb.Store) lambdaHandler {
				return lambdawrap.SQS(s, stageItems(entries), &lambdawrap.Options{Workers: workers})
			}),
		queue(w, "Optimistic: "+name,
			func(at *world) lambdaHandler {
				return handwritten.Transactions(at.client, recordTable, workers, entries)
			},
			func(s *idemddb.Store) lambdaHandler {
				return lambdawrap.SQS(s, stageItems(entries), &lambdawrap.Options{Workers: workers, Optimistic: true})
			}),
		queue(w, "Adds to one account: "+name,
			func(at *world) lambdaHandler {
				return handwritten.Transactions(at.client, recordTable, 1, credits)
			},
			func(s *idemddb.Store) lambdaHandler {
				return lambdawrap.SQS(s, stageCredit, &lambdawrap.Options{Workers: workers, Optimistic: true})
			}),
		queue(w, "outbox: "+name,
			func(at *world) lambdaHandler {
				return handwritten.SQS(at.client, recordTable, nothing, &handwritten.Options{Workers: workers, Send: accept})
			},
			func(s *idemddb.Store) lambdaHandler {
				return lambdawrap.SQS(s, stageMessage, &lambdawrap.Options{Workers: workers})
			}),
	}
}

// queue is a row of events of a queue.
func queue(w workload, name string, byHand func(*world) lambdaHandler, library func(*idemddb.Store) lambdaHandler) count {
	return count{
		name: name, messages: w.size, rounds: max(1, 200/w.size),
		byHand: func(at *world) (deliveries, error) { return w.deliveries(byHand(at)), nil },
		library: func(at *world) (deliveries, error) {
			s, err := newStore(at, nil)
			if err != nil {
				return deliveries{}, err
			}

			return w.deliveries(library(s)), nil
		},
	}
}

// deliveries delivers one batch a round.
func (w *workload) deliveries(invoke lambdaHandler) deliveries {
	return deliveries{
		prepare: func(ctx context.Context, round int) error {
			if w.duplicates == 0 {
				return nil
			}

			return invokeOnce(ctx, invoke, w.firstDelivery(w.batch(round)))
		},
		deliver: func(ctx context.Context, round int) error { return invokeOnce(ctx, invoke, w.batch(round)) },
	}
}

// invokeOnce invokes the handler as Lambda does, with a deadline and a request id.
func invokeOnce(ctx context.Context, invoke lambdaHandler, batch events.SQSEvent) error {
	ctx, cancel := inLambda(ctx)
	defer cancel()

	response, err := invoke(ctx, batch)

	return failures(len(response.BatchItemFailures), len(batch.Records), err)
}

func inLambda(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(lambdacontext.NewContext(ctx, &lambdacontext.LambdaContext{
		AwsRequestID: "8476a536-e9f4-11e8-9739-2dfe598c3fcd",
	}), 15*time.Minute)
}

// newStore makes a Store that sends messages to a target which accepts each of them.
func newStore(at *world, opts *idemddb.Options) (*idemddb.Store, error) {
	if opts == nil {
		opts = &idemddb.Options{}
	}

	opts.Senders, opts.UnsentIndex = map[string]idemddb.Sender{"target": accepting{}}, unsentIndex

	return idemddb.New(at.client, recordTable, "bench", opts)
}

type accepting struct{}

func (accepting) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	return make([]error, len(ms))
}

func accept(context.Context, string) error { return nil }

func nothing(context.Context, events.SQSMessage) error { return nil }

// entries books the entry of a message.
func entries(m events.SQSMessage) []types.TransactWriteItem {
	return []types.TransactWriteItem{{Put: &types.Put{
		TableName: new(effectTable), ConditionExpression: new("attribute_not_exists(pk)"),
		Item: map[string]types.AttributeValue{"pk": text("entry#" + m.MessageId), "amount": number("1250")},
	}}}
}

// credits adds to the one account.
func credits(events.SQSMessage) []types.TransactWriteItem {
	return []types.TransactWriteItem{{Update: &types.Update{
		TableName: new(effectTable), Key: map[string]types.AttributeValue{"pk": text("account")},
		UpdateExpression:          new("ADD balance :amount"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":amount": number("1250")},
	}}}
}

func stageItems(items func(events.SQSMessage) []types.TransactWriteItem) lambdawrap.Handler {
	return func(ctx context.Context, m events.SQSMessage) error {
		return idemddb.Stage(ctx, idemddb.Effects{Items: items(m)})
	}
}

func stageCredit(ctx context.Context, _ events.SQSMessage) error {
	return idemddb.Stage(ctx, idemddb.Effects{Adds: []idemddb.Add{{
		Table: effectTable, Key: map[string]types.AttributeValue{"pk": text("account")},
		Values: map[string]types.AttributeValue{"balance": number("1250")},
	}}})
}

func stageMessage(ctx context.Context, m events.SQSMessage) error {
	return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "target", Body: m.Body}}})
}

func text(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }
