package main

import (
	"context"
	"encoding/base64"
	"errors"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestAnOrderIsPlacedOnceAndAnsweredTwice(t *testing.T) {
	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), idemddbtest.CreateTable("records", "")); err != nil {
		t.Fatal(err)
	}

	store, err := idemddb.New(db, "records", "orders", nil)
	if err != nil {
		t.Fatal(err)
	}

	placed := 0
	function := lambdawrap.Func(store, func(ctx context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
		placed++

		return place(ctx, e)
	}, options)

	plain := `{"orderId":"o-1","amount":5}`

	for _, e := range []events.APIGatewayV2HTTPRequest{
		{Body: plain}, {Body: plain}, {Body: base64.StdEncoding.EncodeToString([]byte(plain)), IsBase64Encoded: true},
	} {
		answer, err := function(t.Context(), e)
		if err != nil || answer.StatusCode != http.StatusCreated || answer.Body != `{"orderId":"o-1"}` {
			t.Errorf("answered %+v, %v", answer, err)
		}
	}

	if _, err := function(t.Context(), events.APIGatewayV2HTTPRequest{Body: `{"orderId":"o-1","amount":6}`}); !errors.Is(err, idemddb.ErrMismatch) {
		t.Errorf("another amount: %v", err)
	}

	if _, err := function(t.Context(), events.APIGatewayV2HTTPRequest{Body: `{"amount":6}`}); !errors.Is(err, lambdawrap.ErrNoKey) {
		t.Errorf("no number: %v", err)
	}

	if placed != 1 {
		t.Errorf("placed %d times", placed)
	}
}
