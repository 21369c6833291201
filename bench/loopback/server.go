// Package loopback serves DynamoDB's protocol on the loopback interface, for measurements. It answers from the in-memory engine,
// holds each request for a fixed time, and counts what it receives. It runs in a process of its own, so that the processor time
// of the measuring process does not include the server's.
package loopback

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// TableName is the name of the table that NewTable makes.
const TableName = "records"

// Counts are what the server received.
type Counts struct {
	Requests    int64
	WriteUnits  int64
	Bytes       int64 // in both directions, with the HTTP headers
	Connections int64 // that clients opened
}

// command is what the measuring process sends to the server.
type command struct {
	NewTable bool          // replace the table by an empty one, and close the connections to the old one
	Latency  time.Duration // of every request from now on
}

// answer is what the server returns for each command.
type answer struct {
	URL    string // of the table's server
	Counts Counts // since the command before
}

// Serve reads commands and writes an answer to each. It returns at the end of the commands.
func Serve(ctx context.Context, commands io.Reader, answers io.Writer) error {
	decoder, encoder := gob.NewDecoder(commands), gob.NewEncoder(answers)

	current, err := newServer(ctx)
	if err != nil {
		return err
	}

	defer func() { current.http.Close() }()

	for {
		var c command
		if err := decoder.Decode(&c); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("loopback: read a command: %w", err)
		}

		if c.NewTable {
			current.http.Close()

			if current, err = newServer(ctx); err != nil {
				return err
			}
		}

		current.latency.Store(int64(c.Latency))

		if err := encoder.Encode(answer{URL: current.http.URL, Counts: current.takeCounts()}); err != nil {
			return fmt.Errorf("loopback: write an answer: %w", err)
		}
	}
}

// server is one table behind an address of its own.
type server struct {
	http     *httptest.Server
	listener *countingListener
	engine   *idemddbtest.DB
	latency  atomic.Int64
}

func newServer(ctx context.Context) (*server, error) {
	s := &server{engine: idemddbtest.New(nil)}
	if _, err := s.engine.CreateTable(ctx, idemddbtest.CreateTable(TableName, "")); err != nil {
		return nil, fmt.Errorf("loopback: %w", err)
	}

	s.engine.ResetRequests()

	s.http = httptest.NewUnstartedServer(s)
	s.listener = &countingListener{Listener: s.http.Listener}
	s.http.Listener = s.listener
	s.http.Start()

	return s, nil
}

// ServeHTTP reads the whole request, waits for the latency, and lets the engine answer.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}

	time.Sleep(time.Duration(s.latency.Load())) //nolint:forbidigo // the time that the network and DynamoDB would take

	r.Body = io.NopCloser(bytes.NewReader(body))
	s.engine.Handler().ServeHTTP(w, r)
}

// takeCounts returns the counts since it was last called, and empties the engine's log of requests.
func (s *server) takeCounts() Counts {
	requests := s.engine.Requests()
	s.engine.ResetRequests()

	counts := Counts{
		Requests:    int64(len(requests)),
		Bytes:       s.listener.bytes.Swap(0),
		Connections: s.listener.opened.Swap(0),
	}
	for _, r := range requests {
		counts.WriteUnits += int64(r.WriteUnits)
	}

	return counts
}
