package idemddb

import (
	"bytes"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"

	"github.com/idemddb/go-idemddb/internal/planner"
)

// HTTPClient returns the HTTP client to set in aws.Config.HTTPClient for DynamoDB. The SDK's default client writes headers and
// body in two pieces, so a quick answer can arrive before the body is written, and the connection is then lost. It also keeps
// only 10 idle connections for each host. This client hands net/http a body that is known to be in memory, so that a request is
// one write, and it keeps as many connections as are used at a time. It is safe for concurrent use.
//
// Set it in the aws.Config after config.LoadDefaultConfig, which refuses any client but its own where AWS_CA_BUNDLE is set. The
// proxy settings of the environment and AWS_CA_BUNDLE apply; a bundle that cannot be read fails every request.
func HTTPClient() aws.HTTPClient {
	roots, err := bundle(os.Getenv("AWS_CA_BUNDLE"))
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConns = 0 // 0 means no limit
		t.MaxIdleConnsPerHost = idleConnections
		t.TLSHandshakeTimeout = planner.MaxTry

		if roots != nil {
			t.TLSClientConfig.RootCAs = roots
		}
	})

	return inMemory{client, err}
}

// bundle reads the certificates that the SDK would trust instead of the system's; nil for none.
func bundle(path string) (*x509.CertPool, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // no bundle is no error
	}

	pem, err := os.ReadFile(path) //nolint:gosec // the user's own setting
	if err != nil {
		return nil, fmt.Errorf("idemddb: AWS_CA_BUNDLE: %w", err)
	}

	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("idemddb: AWS_CA_BUNDLE: %s holds no certificate", path)
	}

	return roots, nil
}

// idleConnections is above any sensible number of workers; idle ones are closed by the transport after 90 s.
const idleConnections = 1000

// inMemory is the client that HTTPClient returns.
type inMemory struct {
	client *awshttp.BuildableClient
	broken error // why no request can be sent
}

// maxRequest is above DynamoDB's largest request, 16 MB for a batch: this library never sends a body beyond it.
const maxRequest = 32 << 20

// Do sends the request with its body in memory.
func (c inMemory) Do(r *http.Request) (*http.Response, error) {
	if c.broken != nil {
		return nil, c.broken
	}

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
