package idemddb // the test looks at the transport

import (
	"context"
	"encoding/pem"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/planner"
)

// counting counts the writes to a connection.
type counting struct {
	net.Conn

	writes *atomic.Int64
}

func (c counting) Write(b []byte) (int, error) {
	c.writes.Add(1)

	return c.Conn.Write(b)
}

func TestARequestIsOneWrite(t *testing.T) {
	t.Parallel()

	var connections atomic.Int64

	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if body, err := io.ReadAll(r.Body); err != nil || !strings.Contains(string(body), `"TableName":"t"`) {
			t.Errorf("body %q, error %v", body, err)
		}

		_, _ = io.WriteString(w, "{}")
	}))
	server.Config.ConnState = func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			connections.Add(1)
		}
	}

	server.Start()
	defer server.Close()

	var writes atomic.Int64

	client := HTTPClient().(inMemory)
	client.client = client.client.WithTransportOptions(func(tr *http.Transport) {
		tr.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := (&net.Dialer{}).DialContext(ctx, network, address)

			return counting{conn, &writes}, err
		}
	})

	api := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, HTTPClient: client,
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
	})

	const requests = 20
	for range requests {
		if _, err := api.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{TableName: new("t"), Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "k"}}}); err != nil {
			t.Fatal(err)
		}
	}

	if writes.Load() != requests || connections.Load() != 1 {
		t.Errorf("%d writes on %d connections for %d requests, want one write each on one connection",
			writes.Load(), connections.Load(), requests)
	}
}

// As many connections stay open as were used at a time, and a handshake takes no longer than a try of a request may.
func TestTheTransportKeepsItsConnectionsAndBoundsItsHandshakes(t *testing.T) {
	t.Parallel()

	transport := HTTPClient().(inMemory).client.GetTransport()
	if transport.MaxIdleConns != 0 || transport.MaxIdleConnsPerHost != idleConnections || transport.TLSHandshakeTimeout != planner.MaxTry {
		t.Errorf("got %d idle connections, %d for each host, and %v for a handshake; want 0 (no limit), %d and %v",
			transport.MaxIdleConns, transport.MaxIdleConnsPerHost, transport.TLSHandshakeTimeout, idleConnections, planner.MaxTry)
	}
}

func TestTheEnvironmentsCertificatesAreUsed(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.pem")

	if err := os.WriteFile(empty, []byte("no certificate"), 0o600); err != nil {
		t.Fatal(err)
	}

	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok") }))
	defer server.Close()

	good := filepath.Join(dir, "good.pem")
	if err := os.WriteFile(good, pemOf(server), 0o600); err != nil {
		t.Fatal(err)
	}

	for _, c := range []struct{ name, path, want string }{
		{"a bundle", good, ""},
		{"a bundle that is missing", filepath.Join(dir, "none"), "idemddb: AWS_CA_BUNDLE: open"},
		{"a bundle without a certificate", empty, "holds no certificate"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("AWS_CA_BUNDLE", c.path)

			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}

			response, err := HTTPClient().Do(r)
			if response != nil {
				_ = response.Body.Close()
			}

			if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func pemOf(server *httptest.Server) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
}
