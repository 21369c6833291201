package idemddb_test

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Everything in this file is scaffolding of the examples. It stands for AWS, for time and for other workers, and a program has
// none of it. Where an example says inMemory, a program says
//
//	idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "payments", opts)

// noon is when every example begins.
var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// cloud is DynamoDB in memory, with the tables "records" and "ledger", and the clock of the workers that use it.
type cloud struct {
	*idemddbtest.DB
	*idemddbtest.Clock
}

// inMemory returns a Store of the namespace "payments" and what is behind it.
func inMemory(opts *idemddb.Options) (*idemddb.Store, cloud) {
	clock := idemddbtest.NewClock(noon)
	a := cloud{idemddbtest.New(&idemddbtest.Options{Now: clock.Now}), clock}

	if _, err := a.CreateTable(context.Background(), idemddbtest.CreateTable("records", "")); err != nil {
		panic(err)
	}

	if _, err := a.CreateTable(context.Background(), idemddbtest.CreateTable("ledger", "")); err != nil {
		panic(err)
	}

	a.ResetRequests()

	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	o.Now = a.Now

	store, err := idemddb.New(a.DB, "records", "payments", &o)
	if err != nil {
		panic(err)
	}

	return store, a
}

// deposit puts money into an account of the table "ledger".
func (a cloud) deposit(account string, cents int) {
	if _, err := a.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("ledger"), Item: map[string]types.AttributeValue{
		"pk": text(account), "balance": number(int64(cents)),
	}}); err != nil {
		panic(err)
	}

	a.ResetRequests()
}

// close closes an account of the table "ledger".
func (a cloud) close(account, month string) {
	if _, err := a.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: aws.String("ledger"), Item: map[string]types.AttributeValue{
		"pk": text(account), "closed": text(month),
	}}); err != nil {
		panic(err)
	}
}

// balance prints what an account of the table "ledger" has.
func (a cloud) balance(account string) {
	it := a.Item("ledger", map[string]types.AttributeValue{"pk": text(account)})
	fmt.Println(account, "has", it["balance"].(*types.AttributeValueMemberN).Value)
}

// debit is an effect that takes money from an account that has enough of it.
func debit(account string, cents int) types.TransactWriteItem {
	return types.TransactWriteItem{Update: &types.Update{
		TableName:                 aws.String("ledger"),
		Key:                       map[string]types.AttributeValue{"pk": text(account)},
		UpdateExpression:          aws.String("SET balance = balance - :cents"),
		ConditionExpression:       aws.String("balance >= :cents"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":cents": number(int64(cents))},
	}}
}

// entry is an effect that writes down a payment.
func entry(payment string) types.TransactWriteItem {
	return types.TransactWriteItem{Put: &types.Put{
		TableName: aws.String("ledger"), Item: map[string]types.AttributeValue{"pk": text("payment#" + payment)},
		ConditionExpression: aws.String("attribute_not_exists(pk)"),
	}}
}

// printer is a Sender that prints what it is sent.
type printer struct{}

// Send takes all messages.
func (printer) Send(_ context.Context, target string, ms []idemddb.Message) []error {
	for _, m := range ms {
		fmt.Printf("%s gets %s\n", target, m.Body)
	}

	return make([]error, len(ms))
}

// cost prints what DynamoDB was asked for since it was last called.
func (a cloud) cost() {
	units := 0
	for _, r := range a.Requests() {
		units += r.WriteUnits
	}

	fmt.Printf("%d requests, %d WCU\n", len(a.Requests()), units)
	a.ResetRequests()
}

// throttle makes the next n requests meet a throttled table.
func (a cloud) throttle(n int) {
	a.Inject(slices.Repeat([]idemddbtest.Fault{idemddbtest.Throttle}, n)...)
}

// outage makes all requests fail.
func (a cloud) outage() {
	a.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault { return idemddbtest.ServerError })
}

// claimed returns the claim of a worker whose claiming is not what the example shows: the key is free. A program also looks at
// the record and at the error.
func claimed(store *idemddb.Store, key string) *idemddb.Claim {
	claim, record, err := store.Claim(context.Background(), key, nil)
	if err != nil || record != nil {
		panic(fmt.Sprint("the key was claimed before: ", err))
	}

	return claim
}

// charge is the work of the examples: it has an effect that nobody wants twice.
func charge(_ context.Context) (string, error) {
	fmt.Println("charging 12.50")

	return "receipt 1", nil
}
