// Package storeonce makes Stores where none belongs.
package storeonce

import (
	"context"
	"net/http"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func handle(ctx context.Context, e events.SQSEvent) (events.SQSEventResponse, error) {
	store, err := idemddb.New(nil, "records", "payments", nil) // want `a Store is made in each invocation`
	if err != nil {
		return events.SQSEventResponse{}, err
	}

	return lambdawrap.SQS(store, func(context.Context, events.SQSMessage) error { return nil }, nil)(ctx, e)
}

func open() (*idemddb.Store, error) { return idemddb.New(nil, "records", "payments", nil) }

func serve(w http.ResponseWriter, r *http.Request) {
	store, err := open() // want `a Store is made in each invocation`
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)

		return
	}

	lambdawrap.HTTP(store, http.NotFoundHandler(), nil).ServeHTTP(w, r)
}

func start() {
	lambda.Start(func(ctx context.Context, id string) (string, error) {
		store, err := open() // want `a Store is made in each invocation`
		if err != nil {
			return "", err
		}

		return idemddb.Do(ctx, store, id, nil, func(context.Context) (string, error) { return id, nil })
	})
}

// The end of a failure is no question for what was made before.
func reads(ctx context.Context, _ events.SQSEvent) error {
	if err := ctx.Err(); err != nil {
		return err
	}

	_, err := open() // want `a Store is made in each invocation`

	return err
}
