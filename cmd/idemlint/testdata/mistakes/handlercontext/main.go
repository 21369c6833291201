// Package handlercontext passes on contexts that are not the handler's.
package handlercontext

import (
	"context"
	"net/http"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

var effects = idemddb.Effects{Items: []types.TransactWriteItem{{}}}

func background(_ context.Context, _ events.SQSMessage) error {
	return idemddb.Stage(context.Background(), effects) // want `this context does not come from the handler`
}

func derived(ctx context.Context, s *idemddb.Store, work func(context.Context, *idemddb.Claim) ([]byte, error)) error {
	own, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()

	_, err := idemddb.Run(own, s, "p-1", nil, work) // want `this context does not come from the handler`

	return err
}

func request(s *idemddb.Store) http.HandlerFunc {
	return func(_ http.ResponseWriter, r *http.Request) {
		if err := idemddb.Stage(context.TODO(), effects); err != nil { // want `this context does not come from the handler`
			panic(err)
		}
	}
}

func outside(ctx context.Context, s *idemddb.Store) (string, error) {
	return idemddb.Do(ctx, s, "p-1", nil, func(context.Context) (string, error) {
		return "paid", idemddb.Stage(ctx, effects) // want `this context is that of the caller, not of the work: it has no claim, so Stage finds none`
	})
}
