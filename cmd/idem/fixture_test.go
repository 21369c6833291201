package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/localstack/dynamodblocal"
)

// shared is the one DynamoDB Local of this test binary.
var shared struct {
	start    sync.Once
	endpoint string
	err      error
	stop     func() error
}

func TestMain(m *testing.M) {
	code := m.Run()

	if shared.stop != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping DynamoDB Local:", err)
		}
	}

	os.Exit(code)
}

// dynamoDBLocal is the endpoint of a real engine. A test that cannot have one fails.
func dynamoDBLocal(t *testing.T) string {
	t.Helper()

	if testing.Short() && os.Getenv("DYNAMODB_LOCAL_ENDPOINT") == "" {
		t.Skip("-short starts no DynamoDB Local: set DYNAMODB_LOCAL_ENDPOINT, or leave -short out")
	}

	shared.start.Do(func() {
		if shared.endpoint = os.Getenv("DYNAMODB_LOCAL_ENDPOINT"); shared.endpoint == "" {
			shared.endpoint, shared.stop, shared.err = dynamodblocal.Start(context.Background(), "../..", os.Stderr)
		}
	})

	if shared.err != nil {
		t.Fatalf("this test needs DynamoDB Local: %v", shared.err)
	}

	return shared.endpoint
}

// night is a table in trouble, an operator, and what the screen shows.
type night struct {
	t      *testing.T
	aws    *cloud
	client *dynamodb.Client
	store  *idemddb.Store // of the workers
	clock  *idemddbtest.Clock
	table  string
	dir    string // of files

	screen   strings.Builder // what was typed and what came, as a person sees it
	lastCode int
	lastOut  string // without what is beside the results
}

// onEachEngine runs a test in memory and on DynamoDB Local, both behind the wire.
func onEachEngine(t *testing.T, test func(n *night)) {
	t.Helper()
	t.Parallel()

	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		test(newNight(t, idemddbtest.New(nil).Handler()))
	})
	t.Run("on DynamoDB Local", func(t *testing.T) {
		t.Parallel()
		test(onDynamoDBLocal(t))
	})
}

func onDynamoDBLocal(t *testing.T) *night {
	t.Helper()

	engine, err := url.Parse(dynamoDBLocal(t))
	if err != nil {
		t.Fatal(err)
	}

	own := &http.Transport{} // the default one is closed by the servers of other tests
	t.Cleanup(own.CloseIdleConnections)

	return newNight(t, &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(engine) }, Transport: own})
}

func newNight(t *testing.T, engine http.Handler) *night {
	t.Helper()

	n := &night{
		t: t, aws: &cloud{engine: engine}, table: "records-" + rand.Text(), dir: t.TempDir(),
		clock: idemddbtest.NewClock(time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)),
	}
	server := httptest.NewServer(n.aws)
	t.Cleanup(server.Close)

	n.aws.endpoint = server.URL
	n.client = dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, DisableValidateResponseChecksum: true, Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
	})

	if _, err := n.client.CreateTable(t.Context(), idemddbtest.CreateTable(n.table, "unsent")); err != nil {
		t.Fatal(err)
	}

	n.store = n.worker(nil)

	return n
}

// worker is a store of the function's. Without Senders it leaves its messages to another process.
func (n *night) worker(opts *idemddb.Options) *idemddb.Store {
	n.t.Helper()

	o := idemddb.Options{}
	if opts != nil {
		o = *opts
	}

	if o.Now = n.clock.Now; o.Senders == nil {
		o.Senders = map[string]idemddb.Sender{"captured": nil}
	}

	store, err := idemddb.New(n.client, n.table, "payments", &o)
	if err != nil {
		n.t.Fatal(err)
	}

	return store
}

// trace gives the workers a traceparent.
func (n *night) trace(parent string) {
	n.store = n.worker(&idemddb.Options{Trace: func(context.Context) string { return parent }})
}

// claim claims a key in an invocation with a request id.
func (n *night) claim(key, request string) *idemddb.Claim {
	n.t.Helper()

	ctx := lambdacontext.NewContext(n.t.Context(), &lambdacontext.LambdaContext{AwsRequestID: request})

	claim, record, err := n.store.Claim(ctx, key, nil)
	if claim == nil {
		n.t.Fatalf("claim of %q: got record %v, error %v, want a claim", key, record, err)
	}

	return claim
}

func (n *night) fail(key, cause string) {
	n.t.Helper()

	if err := n.claim(key, "8f6e1c1e-7f0b-4a55-9c39-0e7d3a2f6f1b").Fail(n.t.Context(), errors.New(cause)); err != nil {
		n.t.Fatal(err)
	}
}

func (n *night) complete(key string) {
	n.t.Helper()

	if err := n.claim(key, "").Complete(n.t.Context(), []byte(`"receipt"`)); err != nil {
		n.t.Fatal(err)
	}
}

// announce completes a key with a message that is not sent.
func (n *night) announce(key string) {
	n.t.Helper()

	effects := idemddb.Effects{Messages: []idemddb.Message{{To: "captured", Body: `{"paymentId":"` + key + `"}`}}}
	if _, err := n.store.Commit(n.t.Context(), key, nil, nil, effects); err != nil {
		n.t.Fatal(err)
	}
}

// idem types a command and returns its exit code.
func (n *night) idem(args ...string) int { return n.enter(nil, args...) }

// enter types a command with answers to its questions; without answers there is nobody to ask.
func (n *night) enter(answers io.Reader, args ...string) int {
	n.t.Helper()

	var out, both bytes.Buffer

	env := map[string]string{
		"IDEM_TABLE": n.table, "IDEM_NAMESPACE": "payments", "IDEM_BY": "anna", "AWS_ENDPOINT_URL": n.aws.endpoint, "IDEM_UNSENT_INDEX": "unsent",
	}
	a := &app{
		in: answers, out: io.MultiWriter(&out, &both), log: &both, now: n.clock.Now, quiet: quiet, interactive: answers != nil,
		getenv: func(name string) string { return env[name] },
	}

	ctx, stop := context.WithCancel(n.t.Context())
	defer stop()

	n.aws.set(func(c *cloud) { c.interrupt = stop })

	n.lastCode = a.run(ctx, append([]string{"--endpoint-url", n.aws.endpoint}, args...))
	n.lastOut = out.String()

	quoted := make([]string, len(args))
	for i, arg := range args {
		quoted[i] = quote(arg)
	}

	fmt.Fprintf(&n.screen, "$ idem %s\n%s", strings.Join(quoted, " "), both.String())

	return n.lastCode
}

// What is new in each run: the ids of messages, progress where the machine is slow, the clock.
var (
	message  = regexp.MustCompile(`[A-Z2-7]{26}-\d+`)
	progress = regexp.MustCompile(`(?m)^read \d+ (records|changes).*\n`)
	requests = regexp.MustCompile(`in \d+ requests \(about \$[0-9.]+\)`)
	streamed = regexp.MustCompile(`(?m)^  20\d\d-\d\d-\d\d \d\d:\d\d:00\.000Z: `) // DynamoDB Local has a time of its own
	token    = regexp.MustCompile(`[A-Z2-7]{26}"`)
	units    = regexp.MustCompile(`[0-9.]+ read units`) // engines count empty parts of a table differently
	offset   = regexp.MustCompile(`within [0-9.]+m?s`)
)

// quiet ends an audit soon, because DynamoDB Local puts each change into the stream at once.
const quiet = 600 * time.Millisecond

// shown is the screen, without what is new in each run.
func (n *night) shown() string {
	text := strings.NewReplacer(n.table, "records", n.dir+"/", "", n.aws.endpoint, "https://sqs.eu-west-1.amazonaws.com").Replace(n.screen.String())

	text = progress.ReplaceAllString(text, "")
	text = units.ReplaceAllString(text, "2.0 read units")
	text = requests.ReplaceAllString(text, "in 12 requests (about $$0.000002)")
	text = streamed.ReplaceAllString(text, "  2026-01-02 03:01:00.000Z: ")
	text = token.ReplaceAllString(text, `RX3Z…"`)
	text = offset.ReplaceAllString(text, "within 300ms")

	return message.ReplaceAllString(text, "RX3Z…-0")
}

func (n *night) expect(code int, texts ...string) {
	n.t.Helper()

	if n.lastCode != code {
		n.t.Errorf("exit code %d, want %d:\n%s", n.lastCode, code, n.shown())
	}

	for _, text := range texts {
		if !strings.Contains(n.shown(), text) {
			n.t.Errorf("%q is not on the screen:\n%s", text, n.shown())
		}
	}
}

// cloud is an endpoint for all services, as LocalStack is: DynamoDB is an engine, of the others there is what idem asks for.
type cloud struct {
	engine   http.Handler
	endpoint string

	mu      sync.Mutex
	sent    []string                     // bodies of messages
	queues  map[string]map[string]string // attributes by queue
	lambda  map[string]any               // answers by the end of the path
	denied  string                       // an action of DynamoDB
	lenient bool                         // it takes any credentials, as LocalStack does
	strange bool                         // it takes nobody's credentials
	late    time.Duration                // the service's clock is ahead
	slow    time.Duration                // each answer takes this long

	pages     int            // of streams that were read
	reads     func(n int)    // is called before each page of a stream
	described map[string]any // fields that DynamoDB Local does not have in the description of a table

	interrupt func() // ends the command, when it has read so many pages of the table or of its stream
	scans     int    // 0: never
}

func (c *cloud) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	service, action, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")

	switch { // the mutex is not held here, so that requests are served side by side
	case action == "GetRecords" && c.beforeRead():
	case c.answers(w, r, service, action):
	case action == "DescribeTable":
		c.describe(w, r)
	default:
		c.engine.ServeHTTP(c.dated(w), r)
	}
}

// beforeRead calls what a test does while a stream is followed. It returns false.
func (c *cloud) beforeRead() bool {
	c.mu.Lock()
	c.pages++
	reads, n := c.reads, c.pages
	c.mu.Unlock()

	if reads != nil {
		reads(n)
	}

	return false
}

// describe gives the engine's description of a table, with the fields that a test has set.
func (c *cloud) describe(w http.ResponseWriter, r *http.Request) {
	recorded := httptest.NewRecorder()
	c.engine.ServeHTTP(recorded, r)

	var out map[string]any
	if err := json.Unmarshal(recorded.Body.Bytes(), &out); err != nil {
		panic(err) // engines answer with JSON
	}

	w = c.dated(w)

	c.mu.Lock()
	defer c.mu.Unlock()

	if table, ok := out["Table"].(map[string]any); ok {
		maps.Copy(table, c.described)
	}

	answer(w, recorded.Code, out)
}

// set changes what the endpoint answers. The server reads it in goroutines of its own.
func (c *cloud) set(change func(*cloud)) {
	c.mu.Lock()
	defer c.mu.Unlock()

	change(c)
}

func (c *cloud) dated(w http.ResponseWriter) http.ResponseWriter {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.late != 0 {
		return ahead{w, c.late}
	}

	return w
}

// answers gives the answer to a request, unless it is for the engine to give.
func (c *cloud) answers(w http.ResponseWriter, r *http.Request, service, action string) bool {
	w = c.dated(w)

	c.mu.Lock()
	defer c.mu.Unlock()

	if c.slow != 0 {
		<-time.After(c.slow)
	}

	if (action == "Scan" || action == "GetRecords") && c.scans > 0 {
		if c.scans--; c.scans == 0 {
			c.interrupt()
		}
	}

	switch {
	case c.strange, !c.lenient && strings.Contains(r.Header.Get("Authorization"), unknownReader):
		answer(w, http.StatusBadRequest, map[string]string{"__type": "com.amazon.coral.service#UnrecognizedClientException", "message": "invalid token"})
	case strings.HasPrefix(service, "DynamoDB") && action == c.denied:
		answer(w, http.StatusBadRequest, map[string]string{"__type": "com.amazon.coral.service#AccessDeniedException", "message": "not authorized"})
	case strings.HasPrefix(service, "DynamoDB"):
		return false
	case service == "AmazonSQS":
		c.queue(w, r, action)
	default:
		for end, content := range c.lambda {
			if strings.HasSuffix(strings.Trim(r.URL.Path, "/"), end) {
				answer(w, http.StatusOK, content)

				return true
			}
		}

		answer(w, http.StatusNotFound, map[string]string{"Message": "unknown: " + r.URL.Path})
	}

	return true
}

const ownAccount = "111122223333/"

// queue answers for SQS. A queue of another account has its number before its name.
func (c *cloud) queue(w http.ResponseWriter, r *http.Request, action string) {
	var in struct {
		QueueName string
		Owner     string `json:"QueueOwnerAWSAccountId"`
		QueueURL  string `json:"QueueUrl"`
		Entries   []struct {
			ID          string `json:"Id"`
			MessageBody string
		}
	}

	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		answer(w, http.StatusBadRequest, map[string]string{"__type": "Bad", "message": err.Error()})

		return
	}

	switch action {
	case "GetQueueUrl":
		answer(w, http.StatusOK, map[string]string{"QueueUrl": c.endpoint + "/" + strings.TrimPrefix(in.Owner+"/", ownAccount) + in.QueueName})
	case "GetQueueAttributes":
		answer(w, http.StatusOK, map[string]any{"Attributes": c.queues[strings.TrimPrefix(in.QueueURL, c.endpoint+"/")]})
	case "SendMessageBatch":
		successful := []map[string]string{}

		for _, entry := range in.Entries {
			c.sent = append(c.sent, entry.MessageBody)
			successful = append(successful, map[string]string{"Id": entry.ID, "MessageId": rand.Text(), "MD5OfMessageBody": fmt.Sprintf("%x", md5.Sum([]byte(entry.MessageBody)))})
		}

		answer(w, http.StatusOK, map[string]any{"Successful": successful, "Failed": []any{}})
	default:
		answer(w, http.StatusBadRequest, map[string]string{"__type": "Unknown", "message": action})
	}
}

func answer(w http.ResponseWriter, status int, content any) {
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	w.WriteHeader(status)

	if err := json.NewEncoder(w).Encode(content); err != nil {
		panic(err) // maps of texts and numbers can always be encoded
	}
}

// ahead answers with a Date that is ahead.
type ahead struct {
	http.ResponseWriter

	by time.Duration
}

func (a ahead) WriteHeader(status int) {
	a.Header().Set("Date", time.Now().Add(a.by).UTC().Format(http.TimeFormat))
	a.ResponseWriter.WriteHeader(status)
}
