package idemddbtest_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/localstack/dynamodblocal"
)

// local is the one DynamoDB Local of this test binary, started by the first test that asks for it.
var local struct {
	once     sync.Once
	endpoint string
	err      error
	stop     func() error
}

func TestMain(m *testing.M) {
	code := m.Run()
	if local.stop != nil {
		if err := local.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "stopping DynamoDB Local:", err)
		}
	}
	os.Exit(code)
}

// realEngine returns a client of a real DynamoDB engine: the one at DYNAMODB_LOCAL_ENDPOINT, or one of its own. A test that can't have
// it fails: a comparison that did not take place proves nothing.
func realEngine(t testing.TB) *dynamodb.Client {
	t.Helper()
	local.once.Do(func() {
		if local.endpoint = os.Getenv("DYNAMODB_LOCAL_ENDPOINT"); local.endpoint == "" {
			var says strings.Builder
			if local.endpoint, local.stop, local.err = dynamodblocal.Start(context.Background(), "../..", &says); local.err != nil {
				local.err = fmt.Errorf("%w\n%s", local.err, says.String())
			}
		}
	})
	if local.err != nil {
		t.Fatalf("this test needs a real engine: set DYNAMODB_LOCAL_ENDPOINT, or make localstack/dynamodb-local.sh work: %v", local.err)
	}
	return dynamodb.New(dynamodb.Options{
		Region:       "us-east-1",
		BaseEndpoint: &local.endpoint,
		Credentials:  credentials.NewStaticCredentialsProvider("local", "local", ""),
	})
}
