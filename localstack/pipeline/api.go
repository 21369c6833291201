package pipeline

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
)

// Answer is what the API says to a request.
type Answer struct {
	Status   int
	Replayed string // the header Idempotent-Replayed
	Body     []byte
}

// Post sends a body to the API's /payments under an Idempotency-Key, or without one if key is empty. It signs the request, as the
// API's function URL demands of it on AWS.
func (p *Pipeline) Post(ctx context.Context, key, body string) (Answer, error) {
	request, err := p.request(ctx, key, body)
	if err != nil {
		return Answer{}, fmt.Errorf("POST payment: %w", err)
	}

	response, err := (&http.Client{Timeout: time.Minute}).Do(request)
	if err != nil {
		return Answer{}, fmt.Errorf("POST payment: %w", err)
	}
	defer response.Body.Close() //nolint:errcheck // it is only read

	said, err := io.ReadAll(response.Body)
	if err != nil {
		return Answer{}, fmt.Errorf("POST payment: answer: %w", err)
	}

	return Answer{Status: response.StatusCode, Replayed: response.Header.Get("Idempotent-Replayed"), Body: said}, nil
}

func (p *Pipeline) request(ctx context.Context, key, body string) (*http.Request, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(p.ApiUrl, "/")+"/payments", bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err //nolint:wrapcheck // Post wraps it
	}

	request.Header.Set("Content-Type", "application/json")

	if key != "" {
		request.Header.Set("Idempotency-Key", key)
	}

	credentials, err := p.config.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err //nolint:wrapcheck // Post wraps it
	}

	digest := sha256.Sum256([]byte(body))
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(digest[:]), "lambda", p.config.Region, time.Now()); err != nil {
		return nil, err //nolint:wrapcheck // Post wraps it
	}

	return request, reach(request, aws.ToString(p.config.BaseEndpoint))
}

// reach sends a request to the endpoint, if there is one. LocalStack tells functions apart by the name of their host, which no
// resolver knows.
func reach(request *http.Request, endpoint string) error {
	if endpoint == "" {
		return nil
	}

	local, err := url.Parse(endpoint)
	if err != nil {
		return err //nolint:wrapcheck // Post wraps it
	}

	request.Host = request.URL.Host
	request.URL.Scheme, request.URL.Host = local.Scheme, local.Host

	return nil
}
