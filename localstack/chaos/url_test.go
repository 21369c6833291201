//go:build chaos

package chaos_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// functionURL is the function URL of functions/api: it hands each request to an execution environment, which serves one at a
// time.
type functionURL struct {
	*run

	program string
	free    chan *process // one for each environment that serves no request; nil if its process is not started
}

const environments = 10

func newFunctionURL(r *run, program string) *functionURL {
	u := &functionURL{run: r, program: program, free: make(chan *process, environments)}
	for range environments {
		u.free <- nil
	}

	return u
}

// httpAnswer is what a client gets.
type httpAnswer struct {
	status  int
	headers map[string]string
	cookies []string
	body    string
}

// post sends a request of a caller. It returns an error if the context ends before there is a reply; the function goes on
// meanwhile.
func (u *functionURL) post(ctx context.Context, q request) (httpAnswer, error) {
	var p *process

	select {
	case p = <-u.free:
	case <-ctx.Done():
		return httpAnswer{}, ctx.Err()
	}

	replies := make(chan httpAnswer, 1)

	go func() {
		var got httpAnswer

		p, got = u.serve(p, q)
		u.free <- p
		replies <- got
	}()

	select {
	case got := <-replies:
		return got, nil
	case <-ctx.Done():
		return httpAnswer{}, ctx.Err()
	}
}

// serve lets a process serve a request. If the function fails, dies or does not answer in time, the reply is 502, as that of
// Lambda. It returns the process, or nil if it can't be used any more.
func (u *functionURL) serve(p *process, q request) (*process, httpAnswer) {
	if p == nil {
		var err error
		if p, err = start(u.Context(), u.program, u.services, u.env); err != nil {
			u.fail(err)

			return nil, httpAnswer{status: http.StatusBadGateway}
		}
	}

	response, err := p.invoke(fmt.Sprintf("call-%d", u.invoked.Add(1)), q.event(), u.draw())

	var got httpAnswer
	if err == nil {
		got, err = parse(response)
	}

	if err == nil && !p.isStopped() {
		return p, got
	}

	u.bury(p)

	if err != nil {
		got = httpAnswer{status: http.StatusBadGateway}
	}

	return nil, got
}

// close ends the processes when their invocations have ended.
func (u *functionURL) close() {
	for range environments {
		if p := <-u.free; p != nil {
			u.bury(p)
		}
	}
}

// event is the request as Lambda hands it over. The caller is the role that IAM has verified; each request has another of its
// sessions.
func (q request) event() []byte {
	r := events.LambdaFunctionURLRequest{RawPath: "/payments", Body: q.body, Headers: map[string]string{
		"content-type": "application/json", "idempotency-key": q.key,
	}}
	r.RequestContext.HTTP.Method = http.MethodPost
	r.RequestContext.Authorizer = &events.LambdaFunctionURLRequestContextAuthorizerDescription{
		IAM: &events.LambdaFunctionURLRequestContextAuthorizerIAMDescription{UserID: fmt.Sprintf("%s:%d", q.caller, time.Now().UnixNano())},
	}

	return encode(r)
}

// parse reads a response in the streaming mode: the status and the headers as JSON, 8 NUL bytes, and the body.
func parse(response []byte) (httpAnswer, error) {
	var prelude struct {
		StatusCode int
		Headers    map[string]string
		Cookies    []string
	}

	first, body, ok := bytes.Cut(response, make([]byte, 8))
	if err := json.Unmarshal(first, &prelude); err != nil || !ok {
		return httpAnswer{}, fmt.Errorf("no response of the streaming mode: %q (%w)", response, err)
	}

	if length := prelude.Headers["Content-Length"]; length != strconv.Itoa(len(body)) {
		return httpAnswer{}, errors.New("the body has " + strconv.Itoa(len(body)) + " bytes, Content-Length is " + length)
	}

	return httpAnswer{prelude.StatusCode, prelude.Headers, prelude.Cookies, string(body)}, nil
}
