package histories

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// engine is a DynamoDB, in memory or DynamoDB Local.
type engine interface {
	idemddb.DynamoDB
	idemddb.Batcher
	idemddb.Transactor
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// faulty is an engine some of whose requests fail: they are lost, they are applied and their answer is lost, or they are
// throttled.
type faulty struct {
	engine

	mu     sync.Mutex
	random *rand.Rand
	lots   int // one of so many requests has a fault, of each kind
}

var errConnection = errors.New("histories: the connection was cut")

// through makes a request, or not, and keeps its answer, or not.
func through[T any](f *faulty, request func() (T, error)) (T, error) {
	var nothing T

	f.mu.Lock()
	lot := f.random.IntN(f.lots)
	f.mu.Unlock()

	switch lot {
	case 0:
		return nothing, errConnection
	case 1:
		_, _ = request() // applied, or refused: nobody knows

		return nothing, errConnection
	case 2:
		return nothing, &types.ProvisionedThroughputExceededException{}
	}

	return request()
}

func (f *faulty) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return through(f, func() (*dynamodb.PutItemOutput, error) { return f.engine.PutItem(ctx, in, o...) })
}

func (f *faulty) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return through(f, func() (*dynamodb.UpdateItemOutput, error) { return f.engine.UpdateItem(ctx, in, o...) })
}

func (f *faulty) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	return through(f, func() (*dynamodb.DeleteItemOutput, error) { return f.engine.DeleteItem(ctx, in, o...) })
}

func (f *faulty) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, o ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	return through(f, func() (*dynamodb.BatchExecuteStatementOutput, error) {
		return f.engine.BatchExecuteStatement(ctx, in, o...)
	})
}

func (f *faulty) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	return through(f, func() (*dynamodb.TransactWriteItemsOutput, error) { return f.engine.TransactWriteItems(ctx, in, o...) })
}
