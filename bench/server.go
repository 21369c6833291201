package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// serveRole is the argument with which this program starts itself as the server.
const serveRole = "serve"

// order is what the measuring process tells the server between two runs, a line of JSON each.
type order struct {
	Fresh   bool          `json:"fresh"`   // an empty table, and no connections of earlier runs
	Latency time.Duration `json:"latency"` // of every request from now on
}

// answer is the server's line in return.
type answer struct {
	URL     string  `json:"url"`     // where to send requests
	Traffic traffic `json:"traffic"` // since the order before
}

// traffic is what the server saw.
type traffic struct {
	Requests    int64         `json:"requests"`
	Bytes       int64         `json:"bytes"` // both ways
	WriteUnits  int64         `json:"writeUnits"`
	Connections int64         `json:"connections"` // opened
	Held        time.Duration `json:"held"`        // what the latency really was, the sum of all requests
}

// serve is the server process. It ends with its orders.
func serve(ctx context.Context, orders io.Reader, answers io.Writer) error {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}

	s := &server{wire: &meteredListener{Listener: listener}}

	web := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute}
	ended := make(chan error, 1)

	go func() { ended <- web.Serve(s.wire) }()

	err = s.obey(ctx, json.NewDecoder(orders), json.NewEncoder(answers))

	if closed := web.Close(); closed != nil {
		err = errors.Join(err, closed)
	}

	if end := <-ended; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}

	return err
}

type server struct {
	wire     *meteredListener
	engine   atomic.Pointer[idemddbtest.DB]
	latency  atomic.Int64
	requests atomic.Int64
	held     atomic.Int64
}

// ServeHTTP holds a request that has arrived in full, then lets the engine answer it.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}

	arrived := time.Now()

	s.requests.Add(1)
	pause(time.Duration(s.latency.Load()))
	s.held.Add(int64(time.Since(arrived)))

	r.Body = io.NopCloser(bytes.NewReader(body))
	s.engine.Load().Handler().ServeHTTP(w, r)
}

// obey answers one order after the other, until there are no more.
func (s *server) obey(ctx context.Context, orders *json.Decoder, answers *json.Encoder) error {
	for {
		var o order

		err := orders.Decode(&o)
		if errors.Is(err, io.EOF) {
			return nil
		}

		if err != nil {
			return fmt.Errorf("order: %w", err)
		}

		seen := s.take()
		s.latency.Store(int64(o.Latency))

		if o.Fresh {
			s.wire.closeAll()

			db := idemddbtest.New(nil)
			if _, err := db.CreateTable(ctx, idemddb.Table(recordsTable)); err != nil {
				return fmt.Errorf("create table: %w", err)
			}

			db.ResetRequests()
			s.engine.Store(db)
		}

		if err := answers.Encode(answer{URL: "http://" + s.wire.Addr().String(), Traffic: seen}); err != nil {
			return fmt.Errorf("answer: %w", err)
		}
	}
}

// take returns what was seen since the last time. The engine's log is emptied, so that it does not grow.
func (s *server) take() traffic {
	t := traffic{
		Requests:    s.requests.Swap(0),
		Held:        time.Duration(s.held.Swap(0)),
		Bytes:       s.wire.bytes.Swap(0),
		Connections: s.wire.opened.Swap(0),
	}

	if db := s.engine.Load(); db != nil {
		for _, r := range db.Requests() {
			t.WriteUnits += int64(r.WriteUnits)
		}

		db.ResetRequests()
	}

	return t
}

// pause is what takes its time without using the processor: a request on its way, a handler that waits for another service.
func pause(d time.Duration) {
	if d > 0 {
		time.Sleep(d) //nolint:forbidigo // it is the very thing
	}
}
