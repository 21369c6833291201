package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// servePort is the variable of the environment that makes the test binary a server of the API.
const servePort = "API_TEST_PORT"

func TestMain(m *testing.M) {
	if port := os.Getenv(servePort); port != "" {
		if err := serve(port); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}

		os.Exit(0)
	}

	os.Exit(m.Run())
}

func serve(port string) error {
	handler, err := wire(context.Background())
	if err != nil {
		return err
	}

	mux := http.NewServeMux()
	mux.Handle("/", handler)
	mux.HandleFunc("GET /idle", printIdle)

	server := &http.Server{Addr: net.JoinHostPort("127.0.0.1", port), Handler: mux, ReadHeaderTimeout: time.Minute}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)

	defer stop()
	defer context.AfterFunc(ctx, func() { _ = server.Shutdown(context.Background()) })()

	if err := server.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}

	return server.Shutdown(context.Background()) // it waits for the requests that have begun
}

// A client in another language repeats its payments, at servers that are killed meanwhile. Each payment is accepted once, has one
// answer, and is passed on under one id.
func TestAClientInAnotherLanguageAtServersThatAreKilled(t *testing.T) {
	if testing.Short() {
		t.Skip("servers that are started and killed cost more than all else of this package")
	}

	db, sent := startServices(t)

	ports := []string{freePort(t), freePort(t), freePort(t)}
	killed, stop := keepKilling(t, ports)
	report, err := runClient(t, ports)

	stop()

	if err != nil {
		t.Fatal(err)
	}

	const payments = 200

	passedOn, left := sent.check(t, db, payments, len(report.Answers))
	if passedOn+left < payments { // who dies between the two has done both
		t.Errorf("%d payments were passed on and %d wait, want %d", passedOn, left, payments)
	}

	if *killed == 0 || report.Counts["replayed"] == 0 || report.Counts["lost"] == 0 {
		t.Errorf("%d servers were killed, the client saw %v: too little happened", *killed, report.Counts)
	}

	t.Logf("%d servers were killed, the client saw %v, %d messages wait", *killed, report.Counts, left)
}

// startServices starts DynamoDB and SQS, and sets the environment of the servers.
func startServices(t *testing.T) (*idemddbtest.DB, *queue) {
	t.Helper()

	return startServicesThatTake(t, func() time.Duration { return rand.N(60 * time.Millisecond) }) // servers die with requests under way
}

// startServicesThatTake is startServices with the time that each request to DynamoDB takes.
func startServicesThatTake(t *testing.T, takes func() time.Duration) (*idemddbtest.DB, *queue) {
	t.Helper()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""), idemddbtest.CreateTable("accounts", ""))
	audited.DB(t, db, nil, audit.Options{})

	db.Intercept(func(ctx context.Context, _ idemddbtest.Request) idemddbtest.Fault {
		pause(ctx, takes())

		return idemddbtest.None
	})

	dynamo := httptest.NewServer(db.Handler())
	t.Cleanup(dynamo.Close)

	sent := &queue{ids: map[string]map[string]bool{}}
	sqs := httptest.NewServer(sent)
	t.Cleanup(sqs.Close)

	stand.Env(t, map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": dynamo.URL, "AWS_ENDPOINT_URL_SQS": sqs.URL, "UNVERIFIED_CALLER": "python"})

	return db, sent
}

// clientReport is what the client prints at its end.
type clientReport struct {
	Answers map[string][]any
	Counts  map[string]int
}

// runClient runs the client at servers, until all of its payments are answered.
func runClient(t *testing.T, ports []string) (report clientReport, err error) {
	t.Helper()

	python, err := exec.LookPath("python3")
	if err != nil {
		return report, fmt.Errorf("this test needs python3: %w", err)
	}

	var stderr bytes.Buffer

	client := exec.CommandContext(t.Context(), python, append([]string{"testdata/client.py"}, ports...)...)
	client.Stderr = &stderr

	out, err := client.Output()
	if err != nil {
		return report, fmt.Errorf("the client: %w\n%s", err, stderr.String())
	}

	return report, json.Unmarshal(out, &report)
}

// keepKilling starts a server at each port, and kills and restarts one after the other until stop is called.
func keepKilling(t *testing.T, ports []string) (killed *int, stop func()) {
	t.Helper()

	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}

	start := func(port string) *exec.Cmd {
		cmd := exec.CommandContext(t.Context(), binary)
		cmd.Env = append(os.Environ(), servePort+"="+port)

		if err := cmd.Start(); err != nil {
			t.Error(err)
		}

		return cmd
	}

	kill := func(cmd *exec.Cmd) {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}

	servers := make([]*exec.Cmd, len(ports))
	for i, port := range ports {
		servers[i] = start(port)
	}

	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	killed = new(int)

	go func() {
		defer close(ended)

		for i := 0; pause(ctx, 200*time.Millisecond); i = (i + 1) % len(ports) {
			kill(servers[i])
			*killed++
			servers[i] = start(ports[i])

			waitFor(ctx, ports[i]) // the others serve meanwhile
		}
	}()

	return killed, func() {
		cancel()
		<-ended

		for _, server := range servers {
			kill(server)
		}
	}
}

// waitFor waits until somebody listens at a port.
func waitFor(ctx context.Context, port string) {
	for {
		connection, err := new(net.Dialer).DialContext(ctx, "tcp", net.JoinHostPort("127.0.0.1", port))
		if err == nil {
			connection.Close()

			return
		}

		if !pause(ctx, 10*time.Millisecond) {
			return
		}
	}
}

// pause waits. It returns false if the context ends first.
func pause(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

func freePort(t *testing.T) string {
	t.Helper()

	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()

	address, _ := listener.Addr().(*net.TCPAddr)

	return strconv.Itoa(address.Port)
}

// queue is an SQS that takes each message.
type queue struct {
	mu  sync.Mutex
	ids map[string]map[string]bool // body → the ids under which it came
}

func (q *queue) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	type entry struct {
		ID                string `json:"Id"`
		MessageBody       string
		MessageAttributes map[string]struct{ StringValue string }
	}

	var in struct{ Entries []entry }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("X-Amz-Target") != "AmazonSQS.SendMessageBatch" {
		w.WriteHeader(http.StatusBadRequest)

		return
	}

	q.mu.Lock()
	defer q.mu.Unlock()

	type success struct{ Id, MessageId, MD5OfMessageBody string } //nolint:revive // SQS's names

	var out struct{ Successful []success }

	for _, e := range in.Entries {
		if q.ids[e.MessageBody] == nil {
			q.ids[e.MessageBody] = map[string]bool{}
		}

		q.ids[e.MessageBody][e.MessageAttributes["idemddb-id"].StringValue] = true

		sum := md5.Sum([]byte(e.MessageBody))
		out.Successful = append(out.Successful, success{e.ID, e.ID, hex.EncodeToString(sum[:])})
	}

	w.Header().Set("Content-Type", "application/x-amz-json-1.0")

	if err := json.NewEncoder(w).Encode(out); err != nil {
		panic(err) // the server cuts the connection
	}
}

// check demands that each payment was accepted and answered, and passed on under one id. It returns how many were, and how many
// messages wait in the records of servers that died: the relay would send them.
func (q *queue) check(t *testing.T, db *idemddbtest.DB, payments, answered int) (passedOn, left int) {
	t.Helper()

	if got := len(db.Items("accounts")); got != payments || answered != payments {
		t.Errorf("%d payments were accepted, %d answered, want %d", got, answered, payments)
	}

	q.mu.Lock()
	defer q.mu.Unlock()

	for body, ids := range q.ids {
		if len(ids) != 1 {
			t.Errorf("%s was passed on under %d ids", body, len(ids))
		}
	}

	for _, record := range db.Items("records") {
		if outbox, ok := record["outbox"].(*types.AttributeValueMemberL); ok {
			left += len(outbox.Value)
		}
	}

	return len(q.ids), left
}
