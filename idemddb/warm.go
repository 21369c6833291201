package idemddb

import (
	"context"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/internal/planner"
)

// Warm opens a connection to DynamoDB before the first message needs one, so that the first invocation does not wait for what a
// new process does once: finding credentials, looking up the endpoint's address, reading the root certificates, TLS. Call it in
// main, before lambda.Start: Lambda bills the time of its init phase, but no message waits for it.
//
// It sends one GET without a signature to the endpoint of the client. DynamoDB answers that it is healthy; the role needs no
// permission for it, and it costs no unit. Warm waits for the answer, for 2 s at most and not beyond ctx, and ignores every
// error: without a connection the first write makes one. The client must keep connections, as that of [HTTPClient] does.
func Warm(ctx context.Context, client *dynamodb.Client) {
	ctx, cancel := context.WithTimeout(ctx, planner.MaxTry)
	defer cancel()

	o := client.Options()

	endpoint, err := o.EndpointResolverV2.ResolveEndpoint(ctx, endpointParameters(ctx, &o))
	if err != nil {
		return
	}

	r, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint.URI.String(), http.NoBody)
	if err != nil {
		return
	}

	answer, err := o.HTTPClient.Do(r)
	if err != nil {
		return
	}

	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxWarmAnswer)) // a connection whose answer is read is kept
	_ = answer.Body.Close()
}

// maxWarmAnswer is far above the "healthy: ..." of DynamoDB.
const maxWarmAnswer = 64 << 10

// endpointParameters are those with which the client finds its endpoint for every request. That of the account is used where the
// credentials name the account.
func endpointParameters(ctx context.Context, o *dynamodb.Options) dynamodb.EndpointParameters {
	p := dynamodb.EndpointParameters{
		Region:                aws.String(o.Region),
		UseDualStack:          aws.Bool(o.EndpointOptions.UseDualStackEndpoint == aws.DualStackEndpointStateEnabled),
		UseFIPS:               aws.Bool(o.EndpointOptions.UseFIPSEndpoint == aws.FIPSEndpointStateEnabled),
		Endpoint:              o.BaseEndpoint,
		AccountIdEndpointMode: aws.String(string(o.AccountIDEndpointMode)),
	}

	if o.Credentials == nil {
		return p
	}

	if found, err := o.Credentials.Retrieve(ctx); err == nil && found.AccountID != "" {
		p.AccountId = aws.String(found.AccountID)
	}

	return p
}
