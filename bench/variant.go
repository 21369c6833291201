package main

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/bench/byhand"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// recordsTable is the table of every run.
const recordsTable = "records"

// batchHandler is what lambda.Start is given.
type batchHandler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// variant is one way to be idempotent.
type variant struct {
	name    string
	label   string
	workers int // at a time, unless the workload says otherwise

	hand    *byhand.Options // nil: the library
	library idemddb.Options
	ownHTTP bool // idemddb.HTTPClient by hand
	extra   bool // no target needs it
}

// cached is above the messages of any run.
const cached = 100_000

func variants() []variant {
	return []variant{
		{name: "a", label: "by hand, one by one", workers: 1, hand: &byhand.Options{}},
		{name: "a-lean", label: "… the shortest correct one", workers: 1, hand: &byhand.Options{Lean: true}, extra: true},
		{name: "a-http", label: "… with idemddb.HTTPClient", workers: 1, hand: &byhand.Options{}, ownHTTP: true, extra: true},
		{name: "b", label: "by hand, together", workers: 10, hand: &byhand.Options{}},
		{name: "c", label: "library", workers: 1},
		{name: "c10", label: "library", workers: 10, extra: true},
		{name: "c-cache", label: "library, cache", workers: 1, library: idemddb.Options{Cache: cached}},
		{name: "d1", label: "library, Single", workers: 1, library: idemddb.Options{Single: true}},
		{name: "d10", label: "library, Single", workers: 10, library: idemddb.Options{Single: true}},
	}
}

func variantNames() []string {
	all := variants()
	names := make([]string, len(all))

	for i, v := range all {
		names[i] = v.name
	}

	return names
}

// open makes the handler of a process that has just started, with a client of its own.
func (v *variant) open(ctx context.Context, endpoint string, workers int, handle lambdawrap.Handler) (batchHandler, error) {
	client, err := v.client(ctx, endpoint)
	if err != nil {
		return nil, err
	}

	if v.hand != nil {
		opts := *v.hand
		opts.Workers = workers

		return byhand.SQS(client, recordsTable, handle, &opts), nil
	}

	store, err := idemddb.New(client, recordsTable, "bench", &v.library)
	if err != nil {
		return nil, err //nolint:wrapcheck // says where it comes from
	}

	return lambdawrap.SQS(store, handle, &lambdawrap.Options{Workers: workers}), nil
}

// client is a client as users make it, but for the endpoint: without the files of whoever runs this.
func (v *variant) client(ctx context.Context, endpoint string) (*dynamodb.Client, error) {
	none := []string{}

	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion("us-east-1"), config.WithSharedConfigFiles(none),
		config.WithSharedCredentialsFiles(none), config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKID", "SECRET", "")))
	if err != nil {
		return nil, fmt.Errorf("the SDK's configuration: %w", err)
	}

	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) {
		o.BaseEndpoint = aws.String(endpoint)

		if v.hand == nil || v.ownHTTP {
			o.HTTPClient = idemddb.HTTPClient()
		}
	}), nil
}
