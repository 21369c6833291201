package idemhttp_test

import (
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/idemddb/go-idemddb/internal/idemhttp"
)

func TestQuotesAroundAKeyDoNotCount(t *testing.T) {
	t.Parallel()

	for value, want := range map[string]string{
		`k`: "k", `"k"`: "k", `""k""`: `"k"`, `k"1`: `k"1`, `"""`: `"`,
		``: "not valid", `"`: "not valid", `""`: "not valid", `"k`: "not valid", `k"`: "not valid", `k,1`: "not valid", "k\t": "not valid",
	} {
		key, refusal := idemhttp.Key(http.Header{idemhttp.KeyHeader: {value}})
		if refusal != nil && (key != "" || refusal != idemhttp.KeyInvalid) {
			t.Errorf("%s: got %q and %v", value, key, refusal)
		} else if refusal != nil {
			key = "not valid"
		}

		if key != want {
			t.Errorf("%s: got %q, want %q", value, key, want)
		}
	}

	if key, refusal := idemhttp.Key(http.Header{"Other": {"k"}}); key != "" || refusal != nil {
		t.Errorf("without the header: got %q, %v", key, refusal)
	}
}

func TestTheHandlersRequestHasTheBodyAndTheClientsStaysAsItIs(t *testing.T) {
	t.Parallel()

	for _, body := range []string{"", "{}"} {
		sent := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/payments?b=2&a=1", strings.NewReader(body))
		sent.ContentLength, sent.TransferEncoding = -1, []string{"chunked"}
		sent.Header.Set("Content-Type", "text/plain")

		rules := idemhttp.Rules{MaxBody: int64(len(body))}

		bytes, refusal := rules.Read(httptest.NewRecorder(), sent)
		if refusal != nil {
			t.Fatal(refusal)
		}

		got, fingerprint := idemhttp.WithBody(sent, bytes), rules.Fingerprint(sent, bytes)
		if want := `"example.com" "POST" "/payments" "a=1&b=2" ["text/plain"]` + "\n" + body; fingerprint != want {
			t.Errorf("got the fingerprint %s, want %s", fingerprint, want)
		}

		if read, err := io.ReadAll(got.Body); string(read) != body || err != nil || got.ContentLength != int64(len(body)) || got.TransferEncoding != nil {
			t.Errorf("got %q, %v, a length of %d, %v", read, err, got.ContentLength, got.TransferEncoding)
		}

		if sent.ContentLength != -1 || sent.TransferEncoding == nil {
			t.Error("the request of the client has changed")
		}
	}
}

func TestABodyThatCannotBeRead(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		body io.Reader
		want *idemhttp.Problem
	}{
		"too long": {strings.NewReader("12345"), idemhttp.BodyTooLarge.With("The body of a request may have at most 4 bytes.")},
		"broken":   {iotest.ErrReader(errors.New("connection reset")), idemhttp.BodyUnreadable},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/", c.body)

		got, refusal := idemhttp.Rules{MaxBody: 4}.Read(httptest.NewRecorder(), r)
		if got != nil || refusal == nil || *refusal != *c.want {
			t.Errorf("%s: got %q, %v", name, got, refusal)
		}
	}
}

// A body that a middleware has read is no empty one. Only the values of a form stand for it.
func TestABodyThatWasReadBeforeIsNoticed(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		body    string
		request http.Request
		want    bool
	}{
		"it is there":               {"{}", http.Request{ContentLength: 2}, false},
		"there was none":            {"", http.Request{}, false},
		"it is gone":                {"", http.Request{ContentLength: 2}, true},
		"a form was parsed":         {"", http.Request{ContentLength: 3, PostForm: url.Values{"a": {"1"}}}, false},
		"a form without values":     {"", http.Request{MultipartForm: &multipart.Form{}}, true},
		"values of several parts":   {"", http.Request{MultipartForm: &multipart.Form{}, PostForm: url.Values{"a": {"1"}}}, false},
		"a file beside such values": {"", http.Request{MultipartForm: &multipart.Form{File: map[string][]*multipart.FileHeader{"f": nil}}, PostForm: url.Values{"a": {"1"}}}, true},
	} {
		if got := idemhttp.IsReadBefore(&c.request, []byte(c.body)); got != c.want {
			t.Errorf("%s: got %v, want %v", name, got, c.want)
		}
	}
}
