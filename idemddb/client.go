package idemddb

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
)

// HTTPClient returns the HTTP client to set in aws.Config.HTTPClient for DynamoDB. The SDK's default writes headers and body
// in two pieces, loses connections to quick answers, keeps 10 idle ones a host, and waits 30 s for one to open; this one hands
// net/http a body that it knows to be in memory, so that a request is one write, and keeps as many connections as are used at a
// time. It is safe for concurrent use. Proxy settings of the environment apply.
func HTTPClient() aws.HTTPClient {
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns = 0 // no limit
		t.MaxIdleConnsPerHost = idleConnections
		t.TLSHandshakeTimeout = attemptMax
	})

	return inMemory{client}
}

// idleConnections is above any sensible number of workers; idle ones are closed by the transport after 90 s.
const idleConnections = 1000

type inMemory struct{ client *awshttp.BuildableClient }

// maxRequest is above DynamoDB's largest request, 16 MB for a batch: a body beyond it is no request of ours.
const maxRequest = 32 << 20

// Do sends the request with its body in memory.
func (c inMemory) Do(r *http.Request) (*http.Response, error) {
	if r.Body == nil || r.Body == http.NoBody || r.ContentLength <= 0 || r.ContentLength > maxRequest {
		return c.client.Do(r) //nolint:wrapcheck // the SDK looks at this error
	}

	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return nil, fmt.Errorf("idemddb: reading the request: %w", err)
	}

	if err := r.Body.Close(); err != nil {
		return nil, fmt.Errorf("idemddb: reading the request: %w", err)
	}

	r.Body = io.NopCloser(bytes.NewReader(body))

	return c.client.Do(r) //nolint:wrapcheck // the SDK looks at this error
}
