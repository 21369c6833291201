package operate

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/panicerror"
)

// API is the part of the DynamoDB API that Records uses; *dynamodb.Client fits. Look needs GetItem, List needs Scan, or Query
// with an index, the changes need UpdateItem, and Forget needs DeleteItem as well.
type API interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
	Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	DeleteItem(context.Context, *dynamodb.DeleteItemInput, ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error)
}

// Records are the records of one Store, for an operator. They are safe for concurrent use.
type Records struct {
	store *idemddb.Store
	api   API
	opts  idemddb.Options // of the store
}

// New returns the records of a store. Make the store with the options of the workers: the names of the attributes, the hashing of
// keys, the clock skew and the retention count here, too, and Send needs Options.Senders.
//
// The errors name the argument. A store that IDEMDDB_DISABLED has turned off is an error, because it writes nothing.
func New(store *idemddb.Store, api API) (*Records, error) {
	switch {
	case store == nil:
		return nil, errors.New("operate: store: must not be nil; check the error of idemddb.New")
	case panicerror.IsNil(api):
		return nil, errors.New("operate: api: must not be nil; pass dynamodb.NewFromConfig(cfg)")
	case store.Disabled():
		return nil, errors.New("operate: store: IDEMDDB_DISABLED turns it off; unset that variable for this program")
	}

	return &Records{store: store, api: api, opts: store.Options()}, nil
}

type item = map[string]types.AttributeValue
