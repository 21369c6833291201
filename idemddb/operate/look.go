package operate

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/unsent"
)

// Look reads the record of a key. It takes the key as the workers claim it, also one that is stored as its digest. It costs one
// request and a read unit for each 4 KB.
//
// Errors: ErrNoRecord; idemddb.ErrBadKey; the error of DynamoDB.
func (r *Records) Look(ctx context.Context, key string) (View, error) {
	in, err := r.store.GetItemInput(key)
	if err != nil {
		return View{}, fmt.Errorf("operate: %w", err)
	}

	v, _, err := r.read(ctx, key, in)

	return v, err
}

// again reads the record of a stored item, and returns the read units, too.
func (r *Records) again(ctx context.Context, stored item) (View, float64, error) {
	return r.read(ctx, r.view(stored).Key, unsent.Read(r.store, stored))
}

func (r *Records) read(ctx context.Context, key string, in *dynamodb.GetItemInput) (View, float64, error) {
	out, err := r.get(ctx, in)
	if err != nil {
		return View{}, 0, changeError("read", key, err)
	}

	if len(out.Item) == 0 {
		return View{}, units(out.ConsumedCapacity), changeError("read", key, ErrNoRecord)
	}

	return r.view(out.Item), units(out.ConsumedCapacity), nil
}

// maxCut is how often an item is read whose answer is cut off. The SDK does not ask again for such an answer, and that of a part
// of a result is long.
const maxCut = 3

// get reads an item, and what that costs.
func (r *Records) get(ctx context.Context, in *dynamodb.GetItemInput) (out *dynamodb.GetItemOutput, err error) {
	in.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	for range maxCut {
		if out, err = r.api.GetItem(ctx, in); !errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
	}

	return out, err
}
