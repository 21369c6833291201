package idemddbtest

import (
	"reflect"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	maxToken      = 36
	tokenLifetime = 10 * time.Minute
)

// A doneTransaction is one that was committed, under its ClientRequestToken.
type doneTransaction struct {
	items []types.TransactWriteItem
	until time.Time
}

// ForgetTokens makes the DB forget each ClientRequestToken, as the service does ten minutes after its transaction was done. A late
// request with one of them is then applied if its conditions hold.
func (db *DB) ForgetTokens() {
	db.mu.Lock()
	defer db.mu.Unlock()

	clear(db.tokens)
}

// checkToken reports whether the transaction was done before, under the same ClientRequestToken. It is an error that the token belongs to
// another transaction, or to one that is in flight. A canceled transaction leaves its token free. Other settings than the items may
// differ, as in DynamoDB Local.
func (db *DB) checkToken(in *dynamodb.TransactWriteItemsInput) (repeated bool, err error) {
	token := text(in.ClientRequestToken)
	if len(token) > maxToken {
		return false, invalid("Value at 'clientRequestToken' failed to satisfy constraint: Member must have length less than or equal to 36")
	}

	if token == "" {
		return false, nil
	}

	for _, tx := range db.inFlight {
		if token == text(tx.input.ClientRequestToken) {
			if !reflect.DeepEqual(tx.input.TransactItems, in.TransactItems) {
				return false, errMismatch()
			}

			return false, errInProgress()
		}
	}

	done, ok := db.tokens[token]

	switch {
	case !ok || !db.now().Before(done.until):
		return false, nil
	case !reflect.DeepEqual(done.items, in.TransactItems):
		return false, errMismatch()
	}

	return true, nil
}

func errMismatch() error {
	return &types.IdempotentParameterMismatchException{Message: new("Request rejected because it was retried with a different payload")}
}

func errInProgress() error {
	return &types.TransactionInProgressException{Message: new("The transaction with the given request token is already in progress")}
}

// remember keeps the token of a transaction that is done.
func (db *DB) remember(in *dynamodb.TransactWriteItemsInput) {
	token := text(in.ClientRequestToken)
	if token == "" {
		return
	}

	now := db.now()
	for t, done := range db.tokens {
		if !now.Before(done.until) {
			delete(db.tokens, t)
		}
	}

	input, err := copyInput(in)
	if err != nil {
		return // what was applied could be encoded
	}

	db.tokens[token] = doneTransaction{
		items: input.(*dynamodb.TransactWriteItemsInput).TransactItems, until: now.Add(tokenLifetime),
	}
}
