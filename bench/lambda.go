package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// lambda is Lambda's runtime API for one function and one invocation.
type lambda struct {
	address string
	web     *http.Server
	event   []byte
	turn    chan struct{} // holds the one invocation
	answers chan invoked
}

// invoked is how the invocation ended.
type invoked struct {
	at  time.Time
	err error
}

const (
	runtimeAPI = "/2018-06-01/runtime/"
	requestID  = "8476a536-e9f4-11e8-9739-2dfe598c3fcd"
)

// openLambda serves the runtime API on loopback, with event as the first and last invocation.
func openLambda(ctx context.Context, event events.SQSEvent) (*lambda, error) {
	payload, err := json.Marshal(event)
	if err != nil {
		return nil, fmt.Errorf("the event: %w", err)
	}

	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listen: %w", err)
	}

	l := &lambda{
		address: listener.Addr().String(),
		event:   payload,
		turn:    make(chan struct{}, 1),
		answers: make(chan invoked, 1),
	}
	l.turn <- struct{}{}

	routes := http.NewServeMux()
	routes.HandleFunc("GET "+runtimeAPI+"invocation/next", l.next)
	routes.HandleFunc("POST "+runtimeAPI+"invocation/{id}/response", l.response)
	routes.HandleFunc("POST "+runtimeAPI, l.failure) // …/error, init/error
	l.web = &http.Server{Handler: routes, ReadHeaderTimeout: time.Minute}

	go func() { _ = l.web.Serve(listener) }() // until close

	return l, nil
}

// next hands out the event once; who asks again waits for the end.
func (l *lambda) next(w http.ResponseWriter, r *http.Request) {
	select {
	case <-l.turn:
	case <-r.Context().Done():
		return
	}

	w.Header().Set("Lambda-Runtime-Aws-Request-Id", requestID)
	w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(time.Minute).UnixMilli(), 10))
	w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:bench")
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(l.event)
}

func (l *lambda) response(w http.ResponseWriter, r *http.Request) {
	var response events.SQSEventResponse

	err := json.NewDecoder(r.Body).Decode(&response)
	if err == nil && len(response.BatchItemFailures) > 0 {
		err = fmt.Errorf("%d messages failed", len(response.BatchItemFailures))
	}

	l.end(err)
	w.WriteHeader(http.StatusAccepted)
}

func (l *lambda) failure(w http.ResponseWriter, r *http.Request) {
	text, _ := io.ReadAll(r.Body)
	l.end(errors.New(string(text)))
	w.WriteHeader(http.StatusAccepted)
}

func (l *lambda) end(err error) {
	select {
	case l.answers <- invoked{time.Now(), err}:
	default: // the first answer counts
	}
}

// answer waits for the function's answer.
func (l *lambda) answer(ctx context.Context) (time.Time, error) {
	select {
	case a := <-l.answers:
		return a.at, a.err
	case <-ctx.Done():
		return time.Time{}, fmt.Errorf("waiting for its answer: %w", context.Cause(ctx))
	case <-time.After(time.Minute):
		return time.Time{}, errors.New("no answer within a minute")
	}
}

func (l *lambda) close() { _ = l.web.Close() }
