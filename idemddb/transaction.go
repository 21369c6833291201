package idemddb

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/internal/retry"
)

// transaction is the write that completes keys together with their effects. Each part is the record of one key, followed by its
// effects in their order. The input is built once: all tries send the same bytes, because a client request token belongs to one input.
type transaction struct {
	store   *Store
	token   string // the first client request token; "" for a new one
	input   dynamodb.TransactWriteItemsInput
	parts   []*part
	between func(context.Context) // called before each further try; nil for none
	grouped bool                  // several keys: after two cancellations each is sent alone, and so is what DynamoDB refuses as a whole

	tries   int
	cancels int
	unknown bool // an earlier try had no answer, so it may be applied yet
}

// part is one key of a transaction.
type part struct {
	key     string
	first   int // of its items
	items   int // how many it has, the record included
	records int // 1, or 0 for effects without a record

	// The answer to a cancelled transaction. If neither is set, the part was not refused.
	refused bool         // the condition of the record was false …
	found   item         // … for this item; nil if there is none
	effect  *EffectError // an effect was refused
}

// newTx returns the id of a completing call: 26 characters.
func newTx() string { return rand.Text() }

// add adds a key with its record, if it has one, and its effects.
func (t *transaction) add(key string, record *types.TransactWriteItem, effects []types.TransactWriteItem) *part {
	p := &part{key: key, first: len(t.input.TransactItems)}

	if record != nil {
		p.records = 1
		t.input.TransactItems = append(t.input.TransactItems, *record)
	}

	t.input.TransactItems = append(t.input.TransactItems, effects...)
	p.items = len(t.input.TransactItems) - p.first
	t.parts = append(t.parts, p)

	return p
}

// send sends the transaction until it is answered. If no part was refused then, it is committed; else nothing was written. Its error is
// that of a transaction without an answer. If DynamoDB refuses the request as a whole, that is the answer to the part.
//
// The records alone decide whether an earlier try was applied; the client request token saves a try. After no answer the same token
// is sent again, and DynamoDB answers a transaction that it has committed with success. After a cancellation the token is used up.
func (t *transaction) send(ctx context.Context, p retry.Policy) error {
	t.input.ClientRequestToken = new(cmp.Or(t.token, newTx()))
	t.input.ReturnConsumedCapacity = types.ReturnConsumedCapacityTotal

	err := t.store.retry(ctx, t.key(), p, func(ctx context.Context) error {
		if t.tries++; t.tries > 1 && t.between != nil {
			t.between(ctx)
		}

		out, err := t.store.api.TransactWriteItems(ctx, &t.input, sdkOptions...)

		return t.read(ctx, out, err)
	})
	if err == nil || t.grouped || retry.IsTransient(err) {
		return err
	}

	t.parts[0].effect = &EffectError{Index: -1, Code: retry.Code(err), Unknown: t.unknown, message: err.Error(), cause: err}

	return nil
}

// key is the key for events, "" if there are several.
func (t *transaction) key() string {
	if len(t.parts) > 1 {
		return ""
	}

	return t.parts[0].key
}

func (t *transaction) read(ctx context.Context, out *dynamodb.TransactWriteItemsOutput, err error) error {
	if err == nil {
		return t.readSuccess(ctx, out)
	}

	if cancelled, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		t.store.answered()
		t.input.ClientRequestToken = new(newTx())

		return t.cancelled(ctx, cancelled.CancellationReasons)
	}

	if api, ok := errors.AsType[smithy.APIError](err); ok && api.ErrorCode() == "IdempotentParameterMismatchException" {
		t.unknown = true // the token was used before, for something else
		t.input.ClientRequestToken = new(newTx())

		return fmt.Errorf("%w: %s", retry.ErrNoContent, api.ErrorMessage())
	}

	if retry.IsUnknown(err) {
		t.unknown = true
	}

	return err
}

// readSuccess reads an answer without an error. If the answer does not prove that the transaction was committed, the outcome is unknown.
func (t *transaction) readSuccess(ctx context.Context, out *dynamodb.TransactWriteItemsOutput) error {
	if t.store.accepts(ctx, out) {
		return nil
	}

	t.unknown = true

	return retry.ErrNoContent
}

// maxEmptyAnswers is after how many answers in a row without content a backend is believed that has never sent the capacity.
const maxEmptyAnswers = 3

// sendsCapacity, instead of a number of empty answers, says that the backend has sent a consumed capacity.
const sendsCapacity = math.MinInt64

var errBelieved = errors.New("idemddb: the backend answers transactions without their consumed capacity; it is believed from now on")

// accepts reports whether an answer proves that the transaction was committed. An answer without content proves nothing; but a backend
// that has never sent the capacity that was asked for is believed after three in a row.
func (s *Store) accepts(ctx context.Context, out *dynamodb.TransactWriteItemsOutput) bool {
	if out != nil && len(out.ConsumedCapacity) > 0 {
		s.emptyAnswers.Store(sendsCapacity)

		return true
	}

	if s.emptyAnswers.Load() == sendsCapacity {
		return false
	}

	n := s.emptyAnswers.Add(1)
	if n == maxEmptyAnswers {
		s.opts.Observe(ctx, Event{Kind: Retried, Err: errBelieved})
	}

	return n >= maxEmptyAnswers
}

// answered ends a row of answers without content, unless it is known what such an answer means.
func (s *Store) answered() {
	if n := s.emptyAnswers.Load(); n > 0 && n < maxEmptyAnswers {
		s.emptyAnswers.CompareAndSwap(n, 0)
	}
}
