// Package realengine gives the tests of this module a DynamoDB that its authors did not write: DynamoDB Local.
package realengine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/localstack/dynamodblocal"
)

// shared is the DynamoDB Local that all tests of a test binary use. The first test that calls Client starts it.
var shared struct {
	start    sync.Once
	endpoint string
	err      error
	stop     func() error
}

// Main runs the tests of a package and then stops the DynamoDB Local that they started. A package that calls Client needs it.
// Others use it because the heaps of tests are small: without it they are collected again and again, which is a fifth of their
// processor time.
//
//	func TestMain(m *testing.M) { os.Exit(realengine.Main(m)) }
func Main(m *testing.M) int {
	debug.SetGCPercent(400) // four times as seldom as by default

	code := m.Run()

	if shared.stop != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping DynamoDB Local:", err)
		}
	}

	return code
}

// Client returns a client of the engine at DYNAMODB_LOCAL_ENDPOINT, or else of a DynamoDB Local that this test binary starts for
// itself. A test that cannot have one fails instead of being skipped, because a comparison that did not take place proves
// nothing. Only under -short no engine is started: that costs more than all else of most packages. The test is then skipped,
// unless an engine runs.
func Client(t testing.TB) *dynamodb.Client {
	t.Helper()

	if testing.Short() && os.Getenv("DYNAMODB_LOCAL_ENDPOINT") == "" {
		t.Skip("-short starts no DynamoDB Local: set DYNAMODB_LOCAL_ENDPOINT, or leave -short out")
	}

	shared.start.Do(start)

	if shared.err != nil {
		t.Fatalf("this test needs a real engine: set DYNAMODB_LOCAL_ENDPOINT, or make localstack/dynamodb-local.sh work: %v", shared.err)
	}

	return dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: &shared.endpoint,
		HTTPClient:   idemddb.HTTPClient(),
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}

func start() {
	if shared.endpoint = os.Getenv("DYNAMODB_LOCAL_ENDPOINT"); shared.endpoint != "" {
		return
	}

	root, err := moduleRoot()
	if err != nil {
		shared.err = err

		return
	}

	var output strings.Builder

	shared.endpoint, shared.stop, shared.err = dynamodblocal.Start(context.Background(), root, &output)
	if shared.err != nil {
		shared.err = fmt.Errorf("%w\n%s", shared.err, output.String())
	}
}

// moduleRoot returns the nearest folder above the working folder that has a go.mod. The tests of a package run in its own folder.
func moduleRoot() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("working folder: %w", err)
	}

	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
	}

	return "", errors.New("no go.mod above the working folder")
}
