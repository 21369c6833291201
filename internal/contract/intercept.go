package contract

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// onRequest is called in place of the nth request, the first being 1. send sends the request and returns its error; what
// onRequest returns is what the sender gets. It is called on the goroutine of the sender, which need not be that of the case.
type onRequest func(n int64, send func() error) error

// interceptor is an engine that calls a function in place of each request.
type interceptor struct {
	Engine

	requests      atomic.Int64
	writes        atomic.Int64 // of records, outside of transactions; a shared request has several
	onRequest     onRequest    // nil: every request is sent
	withoutTokens bool         // transactions lose their tokens, as after ten minutes, so that only the records decide

	mu           sync.Mutex
	transactions []sentTransaction
}

// sentTransaction is a transaction as it was sent.
type sentTransaction struct {
	token string
	items []types.TransactWriteItem
}

// TransactWriteItems is intercepted.
func (e *interceptor) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	arriving := *in
	if e.withoutTokens {
		arriving.ClientRequestToken = nil
	}

	e.mu.Lock()
	e.transactions = append(e.transactions, sentTransaction{aws.ToString(in.ClientRequestToken), in.TransactItems})
	e.mu.Unlock()

	return intercept(ctx, e, func(ctx context.Context) (*dynamodb.TransactWriteItemsOutput, error) {
		return e.Engine.TransactWriteItems(ctx, &arriving, opts...)
	})
}

// UpdateItem is intercepted.
func (e *interceptor) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	e.writes.Add(1)

	return intercept(ctx, e, func(ctx context.Context) (*dynamodb.UpdateItemOutput, error) {
		return e.Engine.UpdateItem(ctx, in, opts...)
	})
}

// PutItem is intercepted.
func (e *interceptor) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	e.writes.Add(1)

	return intercept(ctx, e, func(ctx context.Context) (*dynamodb.PutItemOutput, error) {
		return e.Engine.PutItem(ctx, in, opts...)
	})
}

func intercept[T any](ctx context.Context, e *interceptor, request func(context.Context) (*T, error)) (out *T, err error) {
	n := e.requests.Add(1)
	send := func() error {
		arriving := ctx
		if ctx.Err() != nil { // a request that arrives late outlives its sender
			arriving = context.WithoutCancel(ctx)
		}

		out, err = request(arriving)

		return err
	}

	var failed error
	if e.onRequest == nil {
		failed = send()
	} else {
		failed = e.onRequest(n, send)
	}

	switch {
	case errors.Is(failed, errEmptyAnswer):
		return new(T), nil
	case failed != nil:
		return nil, failed
	default:
		return out, nil
	}
}

// batchExecutor is what an engine has whose batches share requests.
type batchExecutor interface {
	BatchExecuteStatement(
		ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
	) (*dynamodb.BatchExecuteStatementOutput, error)
}

// batchInterceptor intercepts shared requests, too.
type batchInterceptor struct {
	*interceptor

	parameters sync.Map // every string that was a parameter of a statement; keys are among them
}

// BatchExecuteStatement is intercepted.
func (e *batchInterceptor) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	if !isRead(in) {
		e.writes.Add(int64(len(in.Statements)))
	}

	for _, s := range in.Statements {
		for _, p := range s.Parameters {
			if text, ok := p.(*types.AttributeValueMemberS); ok {
				e.parameters.Store(text.Value, nil)
			}
		}
	}

	return intercept(ctx, e.interceptor, func(ctx context.Context) (*dynamodb.BatchExecuteStatementOutput, error) {
		return e.Engine.(batchExecutor).BatchExecuteStatement(ctx, in, opts...)
	})
}

// had reports whether a statement had this string as a parameter.
func (e *batchInterceptor) had(text string) bool {
	_, ok := e.parameters.Load(text)

	return ok
}

// intercepted returns the engine with a function in place of each single request.
func (h *harness) intercepted(f onRequest) *interceptor {
	return &interceptor{Engine: h.engine, onRequest: f}
}

// interceptedBatch is intercepted for all requests. Its result has BatchExecuteStatement if the engine has it.
func (h *harness) interceptedBatch(f onRequest) idemddb.DynamoDB {
	e := h.intercepted(f)
	if _, ok := h.engine.(batchExecutor); ok {
		return &batchInterceptor{interceptor: e}
	}

	return e
}

var (
	errReset = errors.New("read tcp: connection reset by peer")

	errEmptyAnswer = errors.New("no error, but an answer without content") // an onRequest returns this
)

// fault is what can happen to a request.
type fault func(send func() error) error

// unanswered are the faults after which a sender does not know what became of its request.
var unanswered = map[string]fault{
	"request lost": loseRequest,
	"reply lost":   loseReply,
	"empty answer": func(func() error) error { return errEmptyAnswer },
	"applied, empty answer": func(send func() error) error {
		_ = send()

		return errEmptyAnswer
	},
}

func loseRequest(func() error) error { return errReset }

func loseReply(send func() error) error {
	_ = send() // the request is applied, and its sender does not see the answer

	return errReset
}

// nth has the fault happen to the nth request, and sends the others.
func nth(n int64, f fault) onRequest {
	return func(at int64, send func() error) error {
		if at == n {
			return f(send)
		}

		return send()
	}
}

// lateRequest keeps a request that its sender has given up, until it arrives after all.
type lateRequest struct{ send func() error }

func (r *lateRequest) hold(send func() error) error {
	r.send = send

	return errReset
}

// arrive demands that a request was held, and sends it. Whether it is refused does not matter: the case looks at the record.
func (r *lateRequest) arrive(h *harness) {
	h.Helper()

	if r.send == nil {
		h.Fatal("no request was held")
	}

	r.arriveIfHeld()
}

func (r *lateRequest) arriveIfHeld() {
	if r.send != nil {
		_ = r.send()
	}
}

// sent returns the transactions so far.
func (e *interceptor) sent() []sentTransaction {
	e.mu.Lock()
	defer e.mu.Unlock()

	return slices.Clone(e.transactions)
}
