package queue

import (
	"context"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/arn"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
)

// urlOf makes a queue's URL from its ARN, so that no GetQueueUrl request is needed. The SDK itself resolves the host of the
// queue's region, and so knows every partition that the client knows. The SDK sends the request to its client's endpoint,
// whatever host the URL has, and SQS reads only the account and the name in it. So the URL is also right where the client has
// an endpoint of its own (a VPC endpoint, FIPS, an emulator).
func urlOf(ctx context.Context, text string) (string, error) {
	queue, _ := arn.Parse(text) // of a text that is no ARN, each part is empty
	if queue.Service != "sqs" {
		return "", fmt.Errorf("eventSourceARN: must be a queue's ARN, is %q", text)
	}

	if !isWord(queue.Region, "-") || !isWord(queue.AccountID, "") || !isWord(queue.Resource, "-_.") {
		return "", fmt.Errorf("eventSourceARN: must have a region, an account and a queue's name, is %q", text)
	}

	endpoint, err := sqs.NewDefaultEndpointResolverV2().ResolveEndpoint(ctx, sqs.EndpointParameters{Region: aws.String(queue.Region)})
	if err != nil {
		return "", fmt.Errorf("eventSourceARN: the SDK has no endpoint for %q: %w", text, err)
	}

	return endpoint.URI.String() + "/" + queue.AccountID + "/" + queue.Resource, nil
}

// isWord reports whether a text is not empty and consists of ASCII letters, digits and the marks alone.
func isWord(text, marks string) bool {
	return text != "" && strings.IndexFunc(text, func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && !strings.ContainsRune(marks, r)
	}) < 0
}
