package transact

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/internal/wire"
)

// Client sends the transactions to one backend. It is safe for concurrent use.
type Client struct {
	API     wire.Transactor
	Options []func(*dynamodb.Options)

	// The client calls these functions. key is the Key of the transaction.
	Retried  func(ctx context.Context, key string, err error) // a try had this answer, and another one follows
	Conflict func(ctx context.Context, key string)            // a try was cancelled: another write of one of its items was under way
}
