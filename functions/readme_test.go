package functions_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The README's Go is code that is compiled elsewhere: above each block stands the file that holds it.

var goBlock = regexp.MustCompile("(?sm)^(?:<!-- source: ([^ ]+) -->\n)?```go\n(.*?)^```$")

func TestReadmeShowsCodeThatIsCompiled(t *testing.T) {
	t.Parallel()

	blocks := goBlock.FindAllStringSubmatch(readRoot(t, "README.md"), -1)
	if len(blocks) == 0 {
		t.Fatal("found no block of Go")
	}

	for _, b := range blocks {
		source, block := b[1], b[2]

		switch {
		case source == "":
			t.Errorf("no source above the block\n%s", block)
		case filepath.Base(source) == "main.go": // a whole program
			if diff := cmp.Diff(readRoot(t, source), block); diff != "" {
				t.Errorf("%s (-file +README):\n%s", source, diff)
			}
		case !strings.Contains(readRoot(t, source), block) && !strings.Contains(readRoot(t, source), indent(block)):
			t.Errorf("%s does not hold, at the margin or one tab in, the block\n%s", source, block)
		}
	}
}

func TestReadmeStartsWithAShortProgram(t *testing.T) {
	t.Parallel()

	program := readRoot(t, "functions/testdata/quickstart/main.go")
	if got := strings.Count(program, "\n"); got > 20 {
		t.Errorf("main.go has %d lines, want 20 at most", got)
	}

	const firstScreen = 60 // lines

	lines := strings.SplitAfter(readRoot(t, "README.md"), "\n")
	if !strings.Contains(strings.Join(lines[:firstScreen], ""), program) {
		t.Errorf("main.go is not in the README's first %d lines", firstScreen)
	}
}

func TestReadmeNamesWhatExists(t *testing.T) {
	t.Parallel()

	readme, makefile := readRoot(t, "README.md"), readRoot(t, "Makefile")

	for _, m := range regexp.MustCompile(`\]\(([^):#]+)\)`).FindAllStringSubmatch(readme, -1) {
		if _, err := os.Stat(filepath.Join("..", m[1])); err != nil {
			t.Errorf("link: %v", err)
		}
	}

	for _, m := range regexp.MustCompile("(?:^|`)make ([a-z0-9-]+)").FindAllStringSubmatch(readme, -1) {
		if !strings.Contains(makefile, "\n"+m[1]+":") {
			t.Errorf("make %s: the Makefile has no such target", m[1])
		}
	}
}

// The README's program, as it stands, on Lambda's runtime interface: a message and its duplicate.
func TestReadmeProgramPaysOnce(t *testing.T) {
	t.Parallel()

	program := filepath.Join(t.TempDir(), "bootstrap")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "./testdata/quickstart").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), idemddb.Table("records")); err != nil {
		t.Fatal(err)
	}

	dynamo := httptest.NewServer(db.Handler())
	defer dynamo.Close()

	runtime := newRuntime()
	defer runtime.server.Close()

	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()

	var log bytes.Buffer

	cmd := exec.CommandContext(ctx, program)
	cmd.Stderr = &log
	cmd.Env = []string{
		"AWS_LAMBDA_RUNTIME_API=" + strings.TrimPrefix(runtime.server.URL, "http://"), "AWS_ENDPOINT_URL_DYNAMODB=" + dynamo.URL,
		"AWS_REGION=eu-west-1", "AWS_ACCESS_KEY_ID=local", "AWS_SECRET_ACCESS_KEY=local",
	}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	payment := events.SQSEvent{Records: []events.SQSMessage{{
		MessageId: "m-1", EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments", Body: `{"id":"p-1"}`,
	}}}
	for range 2 {
		if got, want := runtime.invoke(ctx, t, payment), `{"batchItemFailures":[]}`; got != want {
			t.Errorf("answer: got %s, want %s", got, want)
		}
	}

	end()

	_ = cmd.Wait() // killed

	if got := strings.Count(log.String(), "paying p-1"); got != 1 {
		t.Errorf("paid %d times, want once\n%s", got, log.String())
	}
}

// runtime is Lambda's runtime interface. Its invocations are r-1, r-2 and so on.
type runtime struct {
	server     *httptest.Server
	deliveries chan []byte
	answers    chan string
}

// invoke delivers an event to the program and returns its answer, "" if there is none in time.
func (r runtime) invoke(ctx context.Context, t *testing.T, event events.SQSEvent) string {
	t.Helper()

	payload, err := json.Marshal(event)
	if err != nil {
		t.Fatal(err)
	}

	select {
	case r.deliveries <- payload:
	case <-ctx.Done():
	}

	select {
	case answer := <-r.answers:
		return answer
	case <-ctx.Done():
		t.Error("no answer in time")

		return ""
	}
}

func newRuntime() runtime {
	r := runtime{answers: make(chan string), deliveries: make(chan []byte)}

	var invocations atomic.Int64

	mux := http.NewServeMux()
	mux.HandleFunc("GET /2018-06-01/runtime/invocation/next", func(w http.ResponseWriter, request *http.Request) {
		select {
		case <-request.Context().Done():
		case event := <-r.deliveries:
			w.Header().Set("Lambda-Runtime-Aws-Request-Id", fmt.Sprintf("r-%d", invocations.Add(1)))
			w.Header().Set("Lambda-Runtime-Deadline-Ms", strconv.FormatInt(time.Now().Add(30*time.Second).UnixMilli(), 10))
			_, _ = w.Write(event)
		}
	})
	mux.HandleFunc("POST /2018-06-01/runtime/invocation/{id}/{outcome}", func(w http.ResponseWriter, request *http.Request) {
		body, _ := io.ReadAll(request.Body)
		w.WriteHeader(http.StatusAccepted)

		select {
		case r.answers <- string(body):
		case <-request.Context().Done():
		}
	})
	r.server = httptest.NewServer(mux)

	return r
}

func readRoot(t *testing.T, name string) string {
	t.Helper()

	content, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}

	return string(content)
}

// indent moves every line that is not empty one tab in.
func indent(text string) string {
	return regexp.MustCompile(`(?m)^(.)`).ReplaceAllString(text, "\t$1")
}
