// Http is a function behind a function URL. docs/http.md shows it.
package main

import (
	"context"
	"encoding/json"
	"io"
	"log"
	"log/slog"
	"net/http"
	"os"
	"runtime/debug"
	"strings"

	"github.com/aws/aws-lambda-go/lambdaurl"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// order stages an order. It is written together with the answer: both, or none of the two.
func order(w http.ResponseWriter, r *http.Request) {
	var o struct{ ID string }

	body, err := io.ReadAll(r.Body)
	if err != nil || json.Unmarshal(body, &o) != nil || o.ID == "" {
		http.Error(w, "id: must be a string that is not empty", http.StatusUnprocessableEntity)
		return
	}

	err = idemddb.Stage(r.Context(), idemddb.Effects{Items: []types.TransactWriteItem{{Put: &types.Put{
		TableName:           aws.String(os.Getenv("ORDER_TABLE")),
		Item:                map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: o.ID}},
		ConditionExpression: aws.String("attribute_not_exists(pk)"), // false: 409, and the key may be used again
	}}}})
	if err != nil {
		http.Error(w, "the order could not be staged", http.StatusInternalServerError)
		return
	}

	w.Header().Set("Location", "/orders/"+o.ID)
	w.WriteHeader(http.StatusCreated)
}

// caller is the IAM user or role whose signature the function URL has verified. All sessions of a role are one caller.
func caller(r *http.Request) (string, error) {
	request, ok := lambdaurl.RequestFromContext(r.Context())
	if !ok || request.RequestContext.Authorizer == nil || request.RequestContext.Authorizer.IAM == nil {
		return "", nil // 401
	}

	id, _, _ := strings.Cut(request.RequestContext.Authorizer.IAM.UserID, ":")

	return id, nil
}

// recovering logs a panic and answers 500. lambdaurl recovers nothing, so a panic would end all requests that this process serves.
func recovering(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				slog.ErrorContext(r.Context(), "panic", "value", v, "stack", string(debug.Stack()))
				w.WriteHeader(http.StatusInternalServerError) // has no effect on an answer that has begun
			}
		}()

		next.ServeHTTP(w, r)
	})
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	cfg.HTTPClient = idemddb.HTTPClient()

	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "orders", nil)
	if err != nil {
		log.Fatal(err)
	}

	opts := &lambdawrap.HTTPOptions{Caller: caller, Required: true, Optimistic: true}

	mux := http.NewServeMux()
	mux.Handle("POST /orders", lambdawrap.HTTP(store, http.HandlerFunc(order), opts))
	lambdaurl.Start(recovering(mux))
}
