// Orders takes orders from API Gateway. The order's own number, in the body, is the key. docs/moving.md shows it.
package main

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"log"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

type order struct {
	OrderID string `json:"orderId"`
	Amount  int    `json:"amount"`
}

func orderIn(e events.APIGatewayV2HTTPRequest) (o order, err error) {
	body := []byte(e.Body)
	if e.IsBase64Encoded {
		if body, err = base64.StdEncoding.DecodeString(e.Body); err != nil {
			return o, err
		}
	}

	return o, json.Unmarshal(body, &o)
}

func place(_ context.Context, e events.APIGatewayV2HTTPRequest) (events.APIGatewayV2HTTPResponse, error) {
	o, err := orderIn(e)
	if err != nil {
		return events.APIGatewayV2HTTPResponse{}, err
	}

	log.Print("placing ", o.OrderID) // your work; its answer is stored

	return events.APIGatewayV2HTTPResponse{StatusCode: http.StatusCreated, Body: `{"orderId":"` + o.OrderID + `"}`}, nil
}

var options = &lambdawrap.FuncOptions[events.APIGatewayV2HTTPRequest]{
	Key: func(_ context.Context, e events.APIGatewayV2HTTPRequest) (string, error) {
		o, err := orderIn(e)

		return idemddb.TextKey(o.OrderID), err
	},
	Fingerprint: func(_ context.Context, e events.APIGatewayV2HTTPRequest) (string, error) {
		o, err := orderIn(e)

		return strconv.Itoa(o.Amount), err
	},
	NeedResult: true, // the caller reads the answer
}

func main() {
	cfg, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		log.Fatal(err)
	}

	cfg.HTTPClient = idemddb.HTTPClient()

	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "orders", &idemddb.Options{Retention: 24 * time.Hour})
	if err != nil {
		log.Fatal(err)
	}

	lambda.Start(lambdawrap.Func(store, place, options))
}
