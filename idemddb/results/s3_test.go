package results_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/results"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

var _ results.S3API = (*s3.Client)(nil)

const bucket = "results"

// objects is S3 behind its client, with one bucket.
type objects struct {
	err  error     // of every call; nil for none
	body io.Reader // of every object; nil for what was put

	mu   sync.Mutex
	kept map[string][]byte
}

func (o *objects) PutObject(_ context.Context, in *s3.PutObjectInput, _ ...func(*s3.Options)) (*s3.PutObjectOutput, error) {
	b, err := io.ReadAll(in.Body)
	if err = errors.Join(err, o.err); err != nil {
		return nil, err
	}

	o.mu.Lock()
	defer o.mu.Unlock()

	if o.kept == nil {
		o.kept = map[string][]byte{}
	}

	o.kept[*in.Bucket+" "+*in.Key] = b

	return &s3.PutObjectOutput{}, nil
}

func (o *objects) GetObject(_ context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	o.mu.Lock()
	defer o.mu.Unlock()

	b, ok := o.kept[*in.Bucket+" "+*in.Key]

	switch {
	case o.err != nil:
		return nil, o.err
	case o.body != nil:
		return &s3.GetObjectOutput{Body: io.NopCloser(o.body)}, nil
	case !ok:
		return nil, &types.NoSuchKey{}
	default:
		return &s3.GetObjectOutput{Body: io.NopCloser(bytes.NewReader(b))}, nil
	}
}

func TestWhatWasPutIsReadAndWhatIsGoneIsOmitted(t *testing.T) {
	t.Parallel()

	kept := results.S3(&objects{}, bucket)

	if err := kept.Put(t.Context(), "reports/a", []byte("a")); err != nil {
		t.Fatal(err)
	}

	if b, err := kept.Get(t.Context(), "reports/a"); string(b) != "a" || err != nil {
		t.Errorf("got %q, %v", b, err)
	}

	if b, err := kept.Get(t.Context(), "reports/b"); b != nil || !errors.Is(err, idemddb.ErrResultOmitted) {
		t.Errorf("got %q, %v, want that it is gone", b, err)
	}
}

// Only what is gone for good is omitted: all else can be mended.
func TestOtherErrorsAreErrors(t *testing.T) {
	t.Parallel()

	for name, o := range map[string]*objects{
		"denied":       {err: &smithy.GenericAPIError{Code: "AccessDenied"}},
		"no bucket":    {err: &types.NoSuchBucket{}},
		"archived":     {err: &types.InvalidObjectState{}},
		"slow":         {err: &smithy.GenericAPIError{Code: "SlowDown"}},
		"body cut off": {body: io.MultiReader(strings.NewReader("a"), cut{})},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			kept := results.S3(o, bucket)

			b, err := kept.Get(t.Context(), "reports/a")
			if b != nil || err == nil || errors.Is(err, idemddb.ErrResultOmitted) || !strings.Contains(err.Error(), bucket) {
				t.Errorf("Get: got %q, %v", b, err)
			}

			if err := kept.Put(t.Context(), "reports/a", nil); o.err != nil && !errors.Is(err, o.err) {
				t.Errorf("Put: got %v", err)
			}

			if name == "denied" && !strings.Contains(err.Error(), "s3:ListBucket") {
				t.Errorf("%v does not say what the role needs", err)
			}
		})
	}
}

// cut is a body that ends early.
type cut struct{}

func (cut) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

func TestWhatS3NeedsIsChecked(t *testing.T) {
	t.Parallel()

	kept := results.S3(&objects{}, "")
	_, err := kept.Get(t.Context(), "a")

	for _, err := range []error{err, kept.Put(t.Context(), "a", nil)} {
		if err == nil || !strings.Contains(err.Error(), "bucket: must not be empty") {
			t.Errorf("got %v", err)
		}
	}

	for _, api := range []results.S3API{nil, (*s3.Client)(nil)} {
		func() {
			defer func() {
				if v := recover(); v != "results: S3: api: must not be nil" {
					t.Errorf("panic: %v", v)
				}
			}()

			results.S3(api, bucket)
		}()
	}
}

// The SDK's own client must return errors that Get can distinguish.
func TestOverTheWire(t *testing.T) {
	t.Parallel()

	var (
		mu     sync.Mutex
		stored = map[string][]byte{}
	)

	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()

		switch b, ok := stored[r.URL.Path]; {
		case r.Method == http.MethodPut:
			stored[r.URL.Path], _ = io.ReadAll(r.Body)
		case ok:
			_, _ = w.Write(b)
		case strings.Contains(r.URL.Path, "denied"):
			w.WriteHeader(http.StatusForbidden)
			_, _ = w.Write([]byte(`<Error><Code>AccessDenied</Code></Error>`))
		default:
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`<Error><Code>NoSuchKey</Code></Error>`))
		}
	}))
	t.Cleanup(server.Close)

	client := s3.New(s3.Options{
		BaseEndpoint: &server.URL, Region: "eu-west-1", UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
	})

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))

	store, err := idemddb.New(db, "records", "reports", &idemddb.Options{Results: results.S3(client, bucket)})
	if err != nil {
		t.Fatal(err)
	}

	large := strings.Repeat("a", 100_000)
	ask := func() (string, error) {
		return idemddb.Do(t.Context(), store, "k", &idemddb.ClaimOptions{NeedResult: true}, func(context.Context) (string, error) {
			return large, nil
		})
	}

	for range 2 {
		if got, err := ask(); got != large || err != nil {
			t.Fatalf("got %d bytes, %v", len(got), err)
		}
	}

	mu.Lock()
	names := len(stored)
	clear(stored)
	mu.Unlock()

	if _, err := ask(); names != 1 || !errors.Is(err, idemddb.ErrResultOmitted) {
		t.Errorf("%d objects; after they are gone: %v", names, err)
	}

	_, err = results.S3(client, bucket).Get(t.Context(), "denied")
	if api, ok := errors.AsType[smithy.APIError](err); !ok || api.ErrorCode() != "AccessDenied" || errors.Is(err, idemddb.ErrResultOmitted) {
		t.Errorf("denied: got %v", err)
	}
}
