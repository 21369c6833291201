// Package httpclient makes the HTTP client of idemddb.HTTPClient, whose documentation says how it differs from the SDK's default
// client.
package httpclient

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

// New returns the client. It is safe for concurrent use. If AWS_CA_BUNDLE cannot be read, it fails every request.
func New() aws.HTTPClient {
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

// inMemory is the client that New returns.
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
