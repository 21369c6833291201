package right

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"sync"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

var entry = idemddb.Effects{Items: []types.TransactWriteItem{{Put: &types.Put{ConditionExpression: new("attribute_not_exists(pk)")}}}}

// 6. A handler with Optimistic that reads, decides and stages, and logs where the outcome is known.
func optimistic(s *idemddb.Store, table *dynamodb.Client) any {
	return lambdawrap.SQS(s, func(ctx context.Context, m events.SQSMessage) error {
		slog.InfoContext(ctx, "a payment has come", "message", m.MessageId)

		account, err := table.GetItem(ctx, &dynamodb.GetItemInput{})
		if err != nil {
			slog.ErrorContext(ctx, "the account cannot be read", "error", err)

			return err
		}

		if len(account.Item) == 0 {
			return idemddb.Stage(ctx, idemddb.Effects{})
		}

		return idemddb.Stage(ctx, entry)
	}, &lambdawrap.Options{Optimistic: true, OnMessage: func(ctx context.Context, m events.SQSMessage, o lambdawrap.Outcome) {
		slog.InfoContext(ctx, "paid", "message", m.MessageId, "outcome", o)
	}})
}

// 7. A result that is logged behind Do.
func told(ctx context.Context, s *idemddb.Store, id string) error {
	receipt, err := idemddb.Do(ctx, s, id, &idemddb.ClaimOptions{Optimistic: true}, func(ctx context.Context) (string, error) {
		return id, idemddb.Stage(ctx, entry)
	})
	if err == nil {
		slog.InfoContext(ctx, "paid", "receipt", receipt)
	}

	return err
}

// 8. A handler that writes and sends, behind a claim.
func claimedFirst(s *idemddb.Store, table *dynamodb.Client) any {
	return lambdawrap.SQS(s, func(ctx context.Context, _ events.SQSMessage) error {
		_, err := table.PutItem(ctx, &dynamodb.PutItemInput{})

		return err
	}, &lambdawrap.Options{Optimistic: false})
}

// 9. Keys of the message, of the context, and of what another function makes of both.
var (
	byAttribute = lambdawrap.Options{Key: lambdawrap.Attribute("order"), Fingerprint: lambdawrap.MessageID}
	byRequest   = lambdawrap.FuncOptions[string]{Key: lambdawrap.RequestID[string]}
	byAccount   = lambdawrap.FuncOptions[order]{Key: func(_ context.Context, o order) (string, error) {
		if o.ID == "" {
			return "", lambdawrap.ErrNoKey
		}

		return "order#" + o.ID, nil
	}}
	byKind = lambdawrap.FuncOptions[order]{Key: func(_ context.Context, o order) (string, error) {
		switch {
		case o.Daily:
			return "daily", nil
		default:
			return "once", nil
		}
	}}
)

type order struct {
	ID    string
	Daily bool
}

// 10. A Store that the first invocation makes, and one that is made before.
var (
	store *idemddb.Store
	once  sync.Once
	later = sync.OnceValues(func() (*idemddb.Store, error) { return idemddb.New(nil, "records", "payments", nil) })
)

func serve(w http.ResponseWriter, r *http.Request) {
	once.Do(func() { store, _ = idemddb.New(nil, "records", "payments", nil) })

	if store == nil {
		store, _ = idemddb.New(nil, "records", "payments", nil)
	}

	other, err := later()
	if err != nil || other == nil {
		w.WriteHeader(http.StatusInternalServerError)
	}
}

// Others keep what the first invocation makes by a flag, in a map, or behind a return.
var (
	isMade  bool
	stores  = map[string]*idemddb.Store{}
	tenants sync.Map
)

func make1() (err error) {
	if store != nil {
		return nil
	}

	store, err = idemddb.New(nil, "records", "payments", nil)

	return err
}

func make2(tenant string) (s *idemddb.Store, err error) {
	s, ok := stores[tenant]
	if !ok {
		s, err = idemddb.New(nil, "records", tenant, nil)
		stores[tenant] = s
	}

	return s, err
}

func make3(tenant string) (*idemddb.Store, error) {
	if s, ok := tenants.Load(tenant); ok {
		return s.(*idemddb.Store), nil
	}

	return idemddb.New(nil, "records", tenant, nil)
}

func servesTenants(_ http.ResponseWriter, r *http.Request) {
	if !isMade {
		store, _ = idemddb.New(nil, "records", "payments", nil)
		isMade = true
	}

	_, errOther := make2(r.Host)
	_, errThird := make3(r.Host)

	if err := errors.Join(make1(), errOther, errThird); err != nil {
		panic(err)
	}
}

// 11. A context that outlives the request, but has its values, and one with more values.
func settled(ctx context.Context, claim *idemddb.Claim) error {
	type name struct{}

	ctx = context.WithValue(ctx, name{}, "settled")

	if err := claim.Complete(context.WithoutCancel(ctx), nil); !claim.IsDone(err) {
		return err
	}

	return nil
}

// 12. Work in a function of its own, with its own context.
func nested(ctx context.Context, s *idemddb.Store) (string, error) {
	return idemddb.Do(ctx, s, "p-1", nil, func(ctx context.Context) (string, error) {
		inner, cancel := context.WithCancel(ctx)
		defer cancel()

		return "paid", idemddb.Stage(inner, entry)
	})
}

// Work that hands its own context on in a variable of its caller.
func handed(ctx context.Context, s *idemddb.Store) (string, error) {
	return idemddb.Do(ctx, s, "p-1", nil, func(work context.Context) (string, error) {
		ctx = work

		return "paid", idemddb.Stage(ctx, entry)
	})
}

// 13. A function that is started with what is made once.
func start() {
	s, err := idemddb.New(nil, "records", "payments", nil)
	if err != nil {
		panic(err)
	}

	lambda.Start(lambdawrap.SQS(s, func(context.Context, events.SQSMessage) error { return nil }, nil))
}

// 14. What looks like a mistake, with the reason why it is none.
func explained(ctx context.Context, claim *idemddb.Claim) {
	//idemlint:ignore the caller asks the record whether it was completed
	claim.Complete(ctx, nil)
}
