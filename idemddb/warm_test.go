package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

func ExampleWarm() {
	db := idemddbtest.New(nil)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			fmt.Printf("the connection is open; signed: %t\n", r.Header.Get("Authorization") != "")

			return
		}

		db.Handler().ServeHTTP(w, r)
	}))
	defer server.Close()

	cfg := aws.Config{
		Region: "eu-west-1", BaseEndpoint: &server.URL, HTTPClient: idemddb.HTTPClient(),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	}
	client := dynamodb.NewFromConfig(cfg)

	idemddb.Warm(context.Background(), client) // before lambda.Start
	// Output:
	// the connection is open; signed: false
}

// The first write after Warm uses its connection.
func TestWarmOpensTheConnectionOfTheFirstWrite(t *testing.T) {
	t.Parallel()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))

	server := httptest.NewTLSServer(db.Handler())
	t.Cleanup(server.Close)

	client := clientOf(server.URL, keeping{server.Client()})
	isIdle := make(chan error, 1)
	idemddb.Warm(httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{PutIdleConn: func(err error) { isIdle <- err }}), client)

	if err := <-isIdle; err != nil {
		t.Fatal("the connection is not kept:", err)
	}

	store := storeOn(t, client, nil)

	var isKept []bool // of each request

	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{GotConn: func(c httptrace.GotConnInfo) { isKept = append(isKept, c.Reused) }})
	if _, err := idemddb.Do(ctx, store, "k", nil, func(context.Context) (int, error) { return 1, nil }); err != nil || len(isKept) == 0 || !isKept[0] {
		t.Errorf("on kept connections: %v; error %v", isKept, err)
	}
}

// keeping is an HTTP client that trusts the server of a test.
type keeping struct{ *http.Client }

func clientOf(url string, h aws.HTTPClient) *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "eu-west-1", BaseEndpoint: &url, HTTPClient: h, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})
}

type sending func(*http.Request) (*http.Response, error)

func (f sending) Do(r *http.Request) (*http.Response, error) { return f(r) }

// Warm asks the endpoint that the client uses, with the account in its name where the client does so.
func TestWarmAsksTheEndpointOfTheClient(t *testing.T) {
	t.Parallel()

	for name, o := range map[string]dynamodb.Options{
		"as it comes":                       {},
		"FIPS":                              {EndpointOptions: dynamodb.EndpointResolverOptions{UseFIPSEndpoint: aws.FIPSEndpointStateEnabled}},
		"of the account":                    {AccountIDEndpointMode: aws.AccountIDEndpointModePreferred},
		"of no account, though it is known": {AccountIDEndpointMode: aws.AccountIDEndpointModeDisabled},
	} {
		o.Region = "eu-west-1"
		o.Credentials = aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			c := aws.Credentials{AccessKeyID: "id", SecretAccessKey: "secret"}
			if o.AccountIDEndpointMode != "" {
				c.AccountID = "123456789012"
			}

			return c, nil
		})

		var warmed, used string

		o.HTTPClient = sending(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodGet {
				warmed = "https://" + r.URL.Host
			} else {
				used = "https://" + r.URL.Host
			}

			return nil, errors.New("no network")
		})
		o.Retryer = aws.NopRetryer{}

		client := dynamodb.New(o)
		idemddb.Warm(t.Context(), client)

		_, _ = client.ListTables(t.Context(), nil)

		if warmed != used || warmed == "" {
			t.Errorf("%s: Warm asked %s, a request goes to %s", name, warmed, used)
		}
	}
}

// A function must start although DynamoDB does not answer.
func TestWarmEndsWithItsContextAndIgnoresErrors(t *testing.T) {
	t.Parallel()

	hangs := clientOf("https://example.invalid", sending(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()

		return nil, r.Context().Err()
	}))

	synctest.Test(t, func(t *testing.T) {
		for limit, want := range map[time.Duration]time.Duration{time.Second: time.Second, time.Hour: 2 * time.Second} {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			began := time.Now()
			idemddb.Warm(ctx, hangs)
			cancel()

			if took := time.Since(began); took != want {
				t.Errorf("with %v left it took %v, want %v", limit, took, want)
			}
		}
	})

	idemddb.Warm(t.Context(), dynamodb.New(dynamodb.Options{})) // it has no Region, so there is no endpoint
}
