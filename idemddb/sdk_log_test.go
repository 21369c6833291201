package idemddb_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// withoutChecksums is an HTTP client of a server that sends refusals without a checksum, as DynamoDB Local does.
type withoutChecksums struct{ server http.Handler }

func (c withoutChecksums) Do(r *http.Request) (*http.Response, error) {
	recorder := httptest.NewRecorder()
	c.server.ServeHTTP(recorder, r)

	response := recorder.Result()
	if response.StatusCode != http.StatusOK {
		response.Header.Del("X-Amz-Crc32")
	}

	return response, nil
}

// The SDK warns of each refusal without a checksum, unless its check is off.
func TestTheSDKLogsNothingForARefusal(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))

		client := dynamodb.New(dynamodb.Options{
			Region: "us-east-1", HTTPClient: withoutChecksums{db.Handler()},
			Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
			Logger: logging.LoggerFunc(func(_ logging.Classification, format string, v ...any) {
				t.Errorf("the SDK logs: "+format, v...)
			}),
		})

		s := storeOn(t, client, nil)
		must(t, claim(t, s, "k").Complete(t.Context(), []byte("done")))

		replay(t, s, "k")
	})
}
