package idemddb_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/logging"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// plain sends refusals without a checksum, as DynamoDB Local does.
type plain struct{ http.ResponseWriter }

func (w plain) WriteHeader(status int) {
	if status != http.StatusOK {
		w.Header().Del("X-Amz-Crc32")
	}

	w.ResponseWriter.WriteHeader(status)
}

// The SDK would warn of each duplicate.
func TestTheSDKHasNothingToSayOfARefusal(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), idemddb.Table("records")); err != nil {
		t.Fatal(err)
	}

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		db.Handler().ServeHTTP(plain{w}, r)
	}))
	defer server.Close()

	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &server.URL, HTTPClient: idemddb.HTTPClient(),
		Credentials: credentials.NewStaticCredentialsProvider("a", "b", ""),
		Logger: logging.LoggerFunc(func(_ logging.Classification, format string, v ...any) {
			t.Errorf("the SDK says: "+format, v...)
		}),
	})

	s, err := idemddb.New(client, "records", "test", nil)
	if err != nil {
		t.Fatal(err)
	}

	if err := claim(t, s, "k").Complete(t.Context(), []byte("done")); err != nil {
		t.Fatal(err)
	}

	replay(t, s, "k")
}
