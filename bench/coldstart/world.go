package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/localstack/runtimeapi"
)

const (
	tableName = "records"
	patience  = 30 * time.Second
)

// asDeployed are the arguments of go build for a function that is deployed, which also has no C library. With them all that it
// imports is compiled once more, for them alone.
var asDeployed = []string{"-trimpath", "-ldflags=-s -w"}

// build builds the two functions, asDeployed, or with no further arguments as the tests are built.
func build(ctx context.Context, folder string, arguments []string) error {
	const here = "github.com/idemddb/go-idemddb/bench/coldstart/"

	command := exec.CommandContext(ctx, "go", slices.Concat( //nolint:gosec // asDeployed, or none
		[]string{"build", "-tags", "lambda.norpc", "-o", folder + string(filepath.Separator)}, arguments, []string{here + "byhand", here + "library"})...)
	if len(arguments) > 0 {
		command.Env = append(os.Environ(), "CGO_ENABLED=0")
	}

	if out, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build the functions: %w\n%s", err, out)
	}

	return nil
}

// world is what a process talks to.
type world struct {
	folder  string
	engine  *idemddbtest.DB
	tables  *httptest.Server
	latency time.Duration
	size    int // of the batch
	number  int // of the process
}

func newWorld(ctx context.Context, folder string, size int, latency time.Duration) (*world, error) {
	w := &world{folder: folder, engine: idemddbtest.New(nil), latency: latency, size: size}
	if _, err := w.engine.CreateTable(ctx, idemddbtest.CreateTable(tableName, "")); err != nil {
		return nil, fmt.Errorf("create the table: %w", err)
	}

	w.tables = httptest.NewTLSServer(http.HandlerFunc(w.serveTables))

	return w, w.writeRoots()
}

func (w *world) close() { w.tables.Close() }

func (w *world) roots() string { return filepath.Join(w.folder, "roots.pem") }

// writeRoots writes the system's root certificates, and that of the server behind them.
func (w *world) writeRoots() error {
	var system []byte

	for _, name := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"} {
		if content, err := os.ReadFile(name); err == nil { //nolint:gosec // one of three
			system = content

			break
		}
	}

	own := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.tables.Certificate().Raw})
	if err := os.WriteFile(w.roots(), append(append(system, '\n'), own...), 0o600); err != nil { //nolint:gosec // in a folder of its own
		return fmt.Errorf("roots: %w", err)
	}

	return nil
}

func (w *world) serveTables(answer http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet {
		_, _ = io.WriteString(answer, "healthy: dynamodb.us-east-1.amazonaws.com ")

		return
	}

	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}

	time.Sleep(w.latency) //nolint:forbidigo // the time that the network and DynamoDB would take

	r.Body = io.NopCloser(bytes.NewReader(body))
	w.engine.Handler().ServeHTTP(answer, r)
}

func (w *world) event() events.SQSEvent {
	var event events.SQSEvent
	for i := range w.size {
		event.Records = append(event.Records, events.SQSMessage{
			MessageId: fmt.Sprintf("%08x-5f21-4b3c-9d1e-%012x", w.number, i), Body: `{"amount":1250}`, EventSource: "aws:sqs",
			EventSourceARN: "arn:aws:sqs:us-east-1:123456789012:payments", Attributes: map[string]string{"ApproximateReceiveCount": "1"},
		})
	}

	return event
}

// measure starts a process and lets it answer one batch.
func (w *world) measure(ctx context.Context, s side) (m start, err error) {
	w.number++

	event, err := json.Marshal(w.event())
	if err != nil {
		return m, fmt.Errorf("event: %w", err)
	}

	cmd := exec.CommandContext(ctx, filepath.Join(w.folder, s.program)) //nolint:gosec // it was built here
	cmd.Stderr = os.Stderr
	cmd.Env = append([]string{
		"AWS_LAMBDA_FUNCTION_NAME=bench", "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET",
		"AWS_ENDPOINT_URL_DYNAMODB=" + w.tables.URL, "SSL_CERT_FILE=" + w.roots(), "SSL_CERT_DIR=" + filepath.Join(w.folder, "none"),
		"TABLE_NAME=" + tableName,
	}, s.env...)

	began := time.Now()

	process, err := runtimeapi.Start(cmd)
	if err != nil {
		return m, err
	}
	defer process.Kill()

	answer, err := process.Invoke(runtimeapi.Invocation{ID: "8476a536-e9f4-11e8-9739-2dfe598c3fcd", Event: event, Deadline: began.Add(patience)})
	if err != nil {
		return m, err
	}

	m.init, m.answer = process.AskedAt().Sub(began), time.Since(process.AskedAt())
	m.memory = float64(process.PeakMemory()) / (1 << 20)

	return m, w.check(string(answer))
}

// check compares the answer and the table with what must be there.
func (w *world) check(answer string) error {
	if strings.Contains(answer, "itemIdentifier") {
		return fmt.Errorf("the answer is %s", answer)
	}

	if items := len(w.engine.Items(tableName)); items != w.size*w.number {
		return fmt.Errorf("%d records, want %d", items, w.size*w.number)
	}

	return nil
}
