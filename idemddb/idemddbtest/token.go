package idemddbtest

import (
	"maps"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

const (
	maxToken      = 36
	tokenLifetime = 10 * time.Minute
)

// sentTransaction is a transaction with a ClientRequestToken.
type sentTransaction struct {
	token string
	items []types.TransactWriteItem
	until time.Time // ten minutes after it was done
}

// withToken returns a transaction with its ClientRequestToken, as a copy. It returns nil for one without a token.
func withToken(in *dynamodb.TransactWriteItemsInput) (*sentTransaction, error) {
	switch n := len(aws.ToString(in.ClientRequestToken)); {
	case n == 0:
		return nil, nil
	case n > maxToken:
		return nil, exception.Validation("Value at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to 36")
	}

	return &sentTransaction{token: *in.ClientRequestToken, items: copyInput(in).(*dynamodb.TransactWriteItemsInput).TransactItems}, nil
}

// checkItems refuses a transaction whose items differ from those of the other transaction with its token.
func (t *sentTransaction) checkItems(other *sentTransaction) error {
	if !reflect.DeepEqual(other.items, t.items) {
		return exception.TokenMismatch()
	}

	return nil
}

// tokens are the transactions with a token that were done, by their tokens.
type tokens map[string]*sentTransaction

// remember keeps a transaction that is done and has a token, and removes those whose ten minutes are over.
func (ts tokens) remember(t *sentTransaction, now time.Time) {
	maps.DeleteFunc(ts, func(_ string, sent *sentTransaction) bool { return !now.Before(sent.until) })
	t.until = now.Add(tokenLifetime)
	ts[t.token] = t
}
