package operate

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Look reads the record of a key. It takes the key as the workers claim it, also one that is stored as its digest. It costs one request
// and a read unit for each 4 KB.
//
// Errors: ErrNoRecord; idemddb.ErrBadKey; the error of DynamoDB.
func (r *Records) Look(ctx context.Context, key string) (View, error) {
	in, err := r.store.RecordOf(key)
	if err != nil {
		return View{}, fmt.Errorf("operate: %w", err)
	}

	return r.read(ctx, key, in)
}

// again reads the record of a stored item.
func (r *Records) again(ctx context.Context, stored item) (View, error) {
	return r.read(ctx, r.view(stored).Key, r.store.RecordInput(stored))
}

func (r *Records) read(ctx context.Context, key string, in *dynamodb.GetItemInput) (View, error) {
	out, err := r.api.GetItem(ctx, in)
	if err != nil {
		return View{}, changeError("read", key, err)
	}

	if len(out.Item) == 0 {
		return View{}, changeError("read", key, ErrNoRecord)
	}

	return r.view(out.Item), nil
}
