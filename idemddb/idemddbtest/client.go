package idemddbtest

import (
	"bytes"
	"io"
	"net/http"
	"net/url"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// Client returns an SDK client of this DB, with the SDK's own retries, encoding and errors. It needs no sockets and no
// goroutines, so that it works inside a testing/synctest bubble. Its Region is us-east-1, its credentials are made up, and it
// reads nothing from the environment.
func (db *DB) Client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region:      "us-east-1",
		Credentials: credentials.NewStaticCredentialsProvider("AKIDIDEMDDBTEST", "secret", ""),
		HTTPClient:  inProcess{db},
	})
}

// inProcess is an HTTP client that calls the DB in place of a server.
type inProcess struct{ db *DB }

func (c inProcess) Do(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	if err := ctx.Err(); err != nil {
		return nil, sendError(r, err)
	}

	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, sendError(r, err)
	}

	reply := c.db.exchange(ctx, r.Header.Get("X-Amz-Target"), body)
	switch {
	case reply.fault.breaks():
		return nil, sendError(r, errPeerReset)
	case reply.fault == LateReply:
		<-ctx.Done()
	}

	if err := ctx.Err(); err != nil {
		return nil, sendError(r, err)
	}

	response := &http.Response{
		Status: http.StatusText(reply.status), StatusCode: reply.status, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: http.Header{}, ContentLength: int64(len(reply.body)), Request: r,
	}
	reply.header(response.Header)

	var content io.Reader = bytes.NewReader(reply.body)
	if reply.fault == TruncatedBody {
		content = io.MultiReader(bytes.NewReader(reply.body[:len(reply.body)/2]), broken{})
	}

	response.Body = io.NopCloser(content)

	return response, nil
}

// broken is the rest of a body that ends before its Content-Length.
type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func sendError(r *http.Request, err error) error {
	return &url.Error{Op: "Post", URL: r.URL.String(), Err: err}
}
