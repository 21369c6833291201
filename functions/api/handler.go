package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-lambda-go/lambdaurl"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// retention is for how long a client may repeat a request. It is published in the API's description.
const retention = 7 * 24 * time.Hour

// wire makes the function from its environment variables: its store, sender, metrics and handler.
func wire(ctx context.Context) (http.Handler, error) {
	table, errTable := variable("TABLE_NAME", os.Getenv("TABLE_NAME"))
	ledgerTable, errLedger := variable("LEDGER_TABLE", os.Getenv("LEDGER_TABLE"))
	queue, errQueue := variable("PAYMENTS_QUEUE_URL", os.Getenv("PAYMENTS_QUEUE_URL"))
	logger := lambdacontext.NewLogger()
	cfg, errConfig := config.LoadDefaultConfig(ctx, config.WithLogger(lambdawrap.SDKLogger(logger)))

	if err := errors.Join(errTable, errLedger, errQueue, errConfig); err != nil {
		return nil, err
	}

	cfg.HTTPClient = idemddb.HTTPClient()
	client := dynamodb.NewFromConfig(cfg)
	metrics := lambdawrap.NewMetrics(os.Stdout, "Payments", map[string]string{"Function": cmp.Or(lambdacontext.FunctionName, "api")})

	store, err := idemddb.New(client, table, "api", &idemddb.Options{
		Retention: retention, Observe: metrics.Observe,
		Senders: map[string]idemddb.Sender{ledger.Accepted: outbox.SQS(sqs.NewFromConfig(cfg), queue)},
	})
	if err != nil {
		return nil, err
	}

	idemddb.Warm(ctx, client)

	a := &api{table: ledgerTable}
	opts := &lambdawrap.HTTPOptions{
		Caller: callerOr(os.Getenv("UNVERIFIED_CALLER")), Required: true, MaxBody: maxBody, Optimistic: true, Logger: logger,
	}
	mux := http.NewServeMux()
	mux.Handle("POST /payments", metrics.MeasureHTTP(lambdawrap.HTTP(store, http.HandlerFunc(a.accept), opts)))

	return recovering(mux, logger), nil
}

// recovering logs a panic and keeps the process alive: lambdaurl recovers nothing, so a panic would end all requests that this
// process serves.
func recovering(next http.Handler, logger *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer recoverRequest(r.Context(), w, logger)

		next.ServeHTTP(w, r)
	})
}

func recoverRequest(ctx context.Context, w http.ResponseWriter, logger *slog.Logger) {
	if v := recover(); v != nil {
		logger.ErrorContext(ctx, "panic", slog.Any("value", v), slog.String("stack", string(debug.Stack())))
		w.WriteHeader(http.StatusInternalServerError) // has no effect on an answer that has begun
	}
}

func variable(name, value string) (string, error) {
	if value == "" {
		return "", errors.New("api: " + name + ": must not be empty")
	}

	return value, nil
}

// callerOr returns the function that names the caller of a request: the IAM user or role whose signature the function URL has
// verified. All sessions of a role are one caller, so that a client which restarts can repeat its request. Where nobody verifies,
// as on LocalStack, the caller is unverified; if that is empty, there is none, and the request is refused.
func callerOr(unverified string) func(*http.Request) (string, error) {
	return func(r *http.Request) (string, error) {
		request, ok := lambdaurl.RequestFromContext(r.Context())
		if !ok || request.RequestContext.Authorizer == nil || request.RequestContext.Authorizer.IAM == nil {
			return unverified, nil
		}

		id, _, _ := strings.Cut(request.RequestContext.Authorizer.IAM.UserID, ":") // of a role's session: the role

		return id, nil
	}
}
