package idemddbtest

import (
	"maps"
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
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

// ForgetTokens makes the DB forget every ClientRequestToken, as the service does ten minutes after the transaction of the token
// was done. A late request with such a token is then applied if its conditions hold.
func (db *DB) ForgetTokens() {
	db.mu.Lock()
	defer db.mu.Unlock()

	clear(db.tokens)
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

// repeats reports whether a transaction with the same token was done in the last ten minutes. It returns an error if the token
// belongs to a transaction with other items, or to one that is in flight. As in DynamoDB Local, other settings than the items may
// differ, and the token of a canceled transaction is free.
func (db *DB) repeats(t *sentTransaction) (bool, error) {
	if t == nil {
		return false, nil
	}

	for _, tx := range db.inFlight {
		if tx.sent != nil && tx.sent.token == t.token {
			if !reflect.DeepEqual(tx.sent.items, t.items) {
				return false, exception.TokenMismatch()
			}

			return false, exception.TransactionInProgress()
		}
	}

	sent, ok := db.tokens[t.token]

	switch {
	case !ok || !db.now().Before(sent.until):
		return false, nil
	case !reflect.DeepEqual(sent.items, t.items):
		return false, exception.TokenMismatch()
	}

	return true, nil
}

// remember keeps a transaction that is done and has a token, and removes those whose ten minutes are over.
func (db *DB) remember(t *sentTransaction) {
	if t == nil {
		return
	}

	now := db.now()
	maps.DeleteFunc(db.tokens, func(_ string, sent *sentTransaction) bool { return !now.Before(sent.until) })
	t.until = now.Add(tokenLifetime)
	db.tokens[t.token] = t
}
