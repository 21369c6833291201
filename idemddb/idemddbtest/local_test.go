package idemddbtest_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

const localScript = "../../localstack/dynamodb-local.sh"

// local is the one DynamoDB Local of this test binary, started by the first test that asks for it.
var local struct {
	once     sync.Once
	endpoint string
	err      error
	stop     func()
}

func TestMain(m *testing.M) {
	code := m.Run()
	if local.stop != nil {
		local.stop()
	}
	os.Exit(code)
}

// realEngine returns a client of a real DynamoDB engine: the one at DYNAMODB_LOCAL_ENDPOINT, or one of its own. A test that can't have
// it fails: a comparison that did not take place proves nothing.
func realEngine(t testing.TB) *dynamodb.Client {
	t.Helper()
	local.once.Do(func() {
		if local.endpoint = os.Getenv("DYNAMODB_LOCAL_ENDPOINT"); local.endpoint == "" {
			local.endpoint, local.stop, local.err = startLocal()
		}
	})
	if local.err != nil {
		t.Fatalf("this test needs a real engine: set DYNAMODB_LOCAL_ENDPOINT, or make `%s run 0` work: %v", localScript, local.err)
	}
	return dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: &local.endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

// startLocal runs the script around a cat: the server ends with our end of its standard input, even if this process is killed.
func startLocal() (endpoint string, stop func(), err error) {
	cmd := exec.CommandContext(context.Background(), "bash", localScript, "with", "sh", "-c", `echo "$DYNAMODB_LOCAL_ENDPOINT"; exec cat`)
	var diagnostics strings.Builder
	cmd.Stderr = &diagnostics
	in, err := cmd.StdinPipe()
	if err != nil {
		return "", nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return "", nil, err
	}
	if err := cmd.Start(); err != nil {
		return "", nil, err
	}
	stop = func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		_ = cmd.Wait()
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		stop()
		return "", nil, fmt.Errorf("%w\n%s", err, diagnostics.String())
	}
	return strings.TrimSpace(line), stop, nil
}
