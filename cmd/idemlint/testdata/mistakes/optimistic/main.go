// Package optimistic has handlers with Optimistic that do more than stage effects.
package optimistic

import (
	"context"
	"log/slog"
	"net/http"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

var entry = idemddb.Effects{Items: []types.TransactWriteItem{{}}}

type shop struct {
	store *idemddb.Store
	table *dynamodb.Client
	bank  interface {
		Charge(ctx context.Context, id string) error
	}
}

func (s *shop) writes() any {
	return lambdawrap.SQS(s.store, func(ctx context.Context, m events.SQSMessage) error {
		if _, err := s.table.PutItem(ctx, &dynamodb.PutItemInput{}); err != nil { // want `reaches a write, dynamodb.PutItem \(main.go:\d+\): two workers may run it`
			return err
		}

		return idemddb.Stage(ctx, entry)
	}, &lambdawrap.Options{Optimistic: true})
}

func (s *shop) asks() any {
	opts := &lambdawrap.Options{}
	opts.Optimistic = true

	return lambdawrap.SQS(s.store, lambdawrap.JSON(s.pay), opts) // want `reaches a request, http POST`
}

func (s *shop) pay(ctx context.Context, id string) error {
	if err := notify(ctx, id); err != nil {
		return err
	}

	return idemddb.Stage(ctx, entry)
}

func notify(ctx context.Context, id string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://bank.example/notify", strings.NewReader(id))
	if err != nil {
		return err
	}

	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		return err
	}

	return answer.Body.Close()
}

func (s *shop) charges(ctx context.Context, id string) (string, error) {
	return idemddb.Do(ctx, s.store, id, &idemddb.ClaimOptions{Optimistic: true}, func(ctx context.Context) (string, error) {
		if err := s.bank.Charge(ctx, id); err != nil { // want `reaches a payment, Charge`
			return "", err
		}

		return id, idemddb.Stage(ctx, entry)
	})
}

func (s *shop) tells() http.Handler {
	return lambdawrap.HTTP(s.store, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := idemddb.Stage(r.Context(), entry); err != nil {
			w.WriteHeader(http.StatusInternalServerError)

			return
		}

		slog.InfoContext(r.Context(), "paid") // want `logs a result by InfoContext \(main.go:\d+\) before it is committed`
		w.WriteHeader(http.StatusAccepted)
	}), &lambdawrap.HTTPOptions{Optimistic: true})
}
