package apigateway_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/awslabs/aws-lambda-go-api-proxy/core"
	"github.com/awslabs/aws-lambda-go-api-proxy/httpadapter"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// picture is a body that is no text.
var picture = []byte{0xff, 0xd8, 0x00, 0x80}

// api is a guarded handler, and how often it ran. It answers with what it got.
type api struct {
	http.Handler

	ran atomic.Int64
}

func newAPI(t *testing.T) *api {
	t.Helper()

	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), idemddb.CreateTable("records", "")); err != nil {
		t.Fatal(err)
	}

	store, err := idemddb.New(db, "records", "orders", nil)
	if err != nil {
		t.Fatal(err)
	}

	a := &api{}
	a.Handler = lambdawrap.HTTP(store, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.ran.Add(1)

		w.Header().Set("Content-Type", r.Header.Get("Content-Type"))
		w.Header().Set("Location", r.URL.Path+"/o-1")
		w.Header().Add("Link", "</a>; rel=next")
		w.Header().Add("Link", "</b>; rel=last")
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "secret"})
		http.SetCookie(w, &http.Cookie{Name: "theme", Value: "dark"})
		w.WriteHeader(http.StatusCreated)
		_, _ = io.Copy(w, r.Body)
	}), &lambdawrap.HTTPOptions{Caller: subject, Logger: slog.New(slog.DiscardHandler)})

	return a
}

// subject returns the caller that API Gateway's authorizer has verified.
func subject(r *http.Request) (string, error) {
	if gateway, ok := core.GetAPIGatewayV2ContextFromContext(r.Context()); ok && gateway.Authorizer != nil && gateway.Authorizer.JWT != nil {
		return gateway.Authorizer.JWT.Claims["sub"], nil
	}

	if gateway, ok := core.GetAPIGatewayContextFromContext(r.Context()); ok {
		sub, _ := gateway.Authorizer["principalId"].(string)

		return sub, nil
	}

	return "", nil
}

// answer is what both kinds of API answer.
type answer struct {
	status  int
	header  http.Header // without cookies
	cookies []string
	body    []byte
}

// gateway sends a POST to /orders as one kind of API does.
type gateway func(ctx context.Context, h http.Handler, caller string, header map[string]string, body []byte) (answer, error)

func httpAPI(ctx context.Context, h http.Handler, caller string, header map[string]string, body []byte) (answer, error) {
	request := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: "/orders", Headers: header, Body: base64.StdEncoding.EncodeToString(body), IsBase64Encoded: true,
	}
	request.RequestContext.HTTP.Method, request.RequestContext.HTTP.Path = http.MethodPost, "/orders"

	if caller != "" {
		request.RequestContext.Authorizer = &events.APIGatewayV2HTTPRequestContextAuthorizerDescription{
			JWT: &events.APIGatewayV2HTTPRequestContextAuthorizerJWTDescription{Claims: map[string]string{"sub": caller}},
		}
	}

	out, err := httpadapter.NewV2(h).ProxyWithContext(ctx, request)

	a := answer{status: out.StatusCode, header: http.Header{}, cookies: out.Cookies}
	for name, value := range out.Headers {
		a.header.Set(name, value)
	}

	for name, values := range out.MultiValueHeaders {
		a.header[http.CanonicalHeaderKey(name)] = values
	}

	return a.read(out.Body, out.IsBase64Encoded, err)
}

func restAPI(ctx context.Context, h http.Handler, caller string, header map[string]string, body []byte) (answer, error) {
	request := events.APIGatewayProxyRequest{
		Path: "/orders", HTTPMethod: http.MethodPost, Headers: header, Body: base64.StdEncoding.EncodeToString(body), IsBase64Encoded: true,
	}
	if caller != "" {
		request.RequestContext.Authorizer = map[string]any{"principalId": caller}
	}

	out, err := httpadapter.New(h).ProxyWithContext(ctx, request)

	return answer{status: out.StatusCode, header: out.MultiValueHeaders}.read(out.Body, out.IsBase64Encoded, err)
}

// read takes the cookies out of the headers, and reads the body.
func (a answer) read(body string, isBase64 bool, err error) (answer, error) {
	if cookies := a.header["Set-Cookie"]; len(a.cookies) == 0 {
		a.cookies = cookies
	}

	a.header = a.header.Clone()
	a.header.Del("Set-Cookie")

	a.body = []byte(body)
	if isBase64 && err == nil {
		a.body, err = base64.StdEncoding.DecodeString(body)
	}

	return a, err
}

func TestBehindAPIGateway(t *testing.T) {
	t.Parallel()

	for name, send := range map[string]gateway{"HTTP API": httpAPI, "REST API": restAPI} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := newAPI(t)
			post := func(caller, key string, body []byte) answer {
				t.Helper()

				got, err := send(t.Context(), a, caller, map[string]string{"Content-Type": "image/jpeg", "Idempotency-Key": key}, body)
				if err != nil {
					t.Fatal(err)
				}

				return got
			}

			first, again := post("ada", "k-1", picture), post("ada", "k-1", picture)

			if first.status != http.StatusCreated || !bytes.Equal(first.body, picture) || first.header.Get("Idempotent-Replayed") != "false" {
				t.Errorf("the first answer is %d %v %x", first.status, first.header, first.body)
			}

			if len(first.cookies) != 2 || len(again.cookies) != 0 {
				t.Errorf("cookies %q at first and %q in the replay, want two and none", first.cookies, again.cookies)
			}

			first.header.Set("Idempotent-Replayed", "true")

			if diff := cmp.Diff(first.header, again.header); diff != "" || again.status != first.status || !bytes.Equal(again.body, picture) {
				t.Errorf("the replay is %d %x, headers (-first +again):\n%s", again.status, again.body, diff)
			}

			if links := strings.Join(again.header["Link"], ","); !strings.Contains(links, "/a") || !strings.Contains(links, "/b") {
				t.Errorf("the replay has the links %q, want both", links)
			}

			for what, c := range map[string]struct {
				got  answer
				want int
			}{
				"another body":                      {post("ada", "k-1", []byte("other")), http.StatusUnprocessableEntity},
				"another caller":                    {post("ben", "k-1", picture), http.StatusCreated},
				"no caller":                         {post("", "k-1", picture), http.StatusUnauthorized},
				"two headers, joined by a comma":    {post("ada", "k-1,k-2", picture), http.StatusBadRequest},
				"a key of more than 255 characters": {post("ada", strings.Repeat("k", 256), picture), http.StatusBadRequest},
			} {
				if c.got.status != c.want {
					t.Errorf("%s: status %d, want %d: %s", what, c.got.status, c.want, c.got.body)
				}
			}

			if got := a.ran.Load(); got != 2 {
				t.Errorf("the handler ran %d times, want once for each caller", got)
			}
		})
	}
}
