package bench

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/bench/handwritten"
	"github.com/idemddb/go-idemddb/bench/loopback"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// lambdaHandler is the function that lambda.Start is given.
type lambdaHandler func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)

// variant is one way to make a handler idempotent.
type variant struct {
	name        string
	handwritten *handwritten.Options // nil: the library
	library     idemddb.Options
	httpClient  bool   // the handwritten variant uses idemddb.HTTPClient instead of the SDK's default
	only        string // the one workload in which the variant is measured, with one worker; empty: all workloads
}

// cacheSize is more than the messages of any measurement.
const cacheSize = 100_000

// variants begins with the one that benchstat compares the others with.
func variants() []variant {
	return []variant{
		{name: "handwritten", handwritten: &handwritten.Options{}},
		{name: "library"},
		{name: "library-single", library: idemddb.Options{Single: true}},
		{name: "library-cache", library: idemddb.Options{Cache: cacheSize}, only: "resent"},
		{name: "handwritten-lean", handwritten: &handwritten.Options{Lean: true}, only: "unique"},
		{name: "handwritten-httpclient", handwritten: &handwritten.Options{}, httpClient: true, only: "unique"},
	}
}

// open makes a Lambda handler with a client of its own, as a new process does.
func (v *variant) open(ctx context.Context, url string, workers int, handle lambdawrap.Handler) (lambdaHandler, error) {
	client, err := v.client(ctx, url)
	if err != nil {
		return nil, err
	}

	if v.handwritten != nil {
		opts := *v.handwritten
		opts.Workers = workers

		return handwritten.SQS(client, loopback.TableName, handle, &opts), nil
	}

	store, err := idemddb.New(client, loopback.TableName, "bench", &v.library)
	if err != nil {
		return nil, err
	}

	return lambdawrap.SQS(store, handle, &lambdawrap.Options{Workers: workers}), nil
}

// client is made as users make it, but for the endpoint, and without the configuration files of this machine.
func (v *variant) client(ctx context.Context, url string) (*dynamodb.Client, error) {
	noFiles := []string{}

	cfg, err := config.LoadDefaultConfig(ctx, config.WithRegion("us-east-1"), config.WithSharedConfigFiles(noFiles),
		config.WithSharedCredentialsFiles(noFiles), config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("AKID", "SECRET", "")))
	if err != nil {
		return nil, err
	}

	if v.handwritten == nil || v.httpClient {
		cfg.HTTPClient = idemddb.HTTPClient()
	}

	return dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.BaseEndpoint = aws.String(url) }), nil
}
