package idemhttp_test

import (
	"bytes"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/textproto"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/idemhttp"
)

const replayed = "Idempotent-Replayed"

// replay sends what the result of a record says.
func replay(tb testing.TB, result []byte) *httptest.ResponseRecorder {
	tb.Helper()

	stored, err := idemhttp.DecodeAnswer(result)
	if err != nil {
		tb.Fatalf("%q: %v", result, err)
	}

	w := httptest.NewRecorder()
	stored.Send(w)

	return w
}

func TestAnAnswerIsReplayedAsFarAsItFits(t *testing.T) {
	t.Parallel()

	paid := strings.Repeat("paid", 1000)
	created := http.Header{"Location": {"/payments/1"}, "Content-Type": {"application/json"}, "Etag": {`"1"`}, "Set-Cookie": {"session=1"}}

	for name, c := range map[string]struct {
		header http.Header
		room   int // bytes
		whole  bool
		want   http.Header // of the replay
		body   string
	}{
		"all of it": {created, 1 << 20, true, http.Header{
			"Location": {"/payments/1"}, "Content-Type": {"application/json"}, "Etag": {`"1"`}, replayed: {"true"}, "Content-Length": {"4000"},
		}, paid},
		"without its body": {created, 1000, false, http.Header{
			"Location": {"/payments/1"}, "Content-Type": {"application/json"}, "Etag": {`"1"`}, replayed: {"body-omitted"}, "Content-Length": {"0"},
		}, ""},
		"without its headers": {created, 0, false, http.Header{
			"Location": {"/payments/1"}, replayed: {"body-omitted"}, "Content-Length": {"0"},
		}, ""},
		"headers that are too large": {http.Header{
			"Location": {"/1"}, "Link": {strings.Repeat("x", 9<<10)}, "Content-Type": {"text/x"}, "Content-Encoding": {"gzip"},
		}, 1 << 20, true, http.Header{
			"Location": {"/1"}, "Content-Type": {"text/x"}, "Content-Encoding": {"gzip"}, replayed: {"true"}, "Content-Length": {"4000"},
		}, paid},
		"a header that no message can have": {http.Header{"Etag": {"a\x00b", "c"}, "Content-Length": {"7"}}, 1 << 20, true, http.Header{
			"Etag": {"c"}, replayed: {"true"}, "Content-Length": {"4000"},
		}, paid},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			answer := idemhttp.HoldAnswer(httptest.NewRecorder())
			maps.Copy(answer.Header(), c.header)
			answer.WriteHeader(http.StatusCreated)

			if _, err := answer.Write([]byte(paid)); err != nil {
				t.Fatal(err)
			}

			result, whole := answer.Encode(func(b []byte) bool { return len(b) <= c.room })
			if whole != c.whole {
				t.Errorf("whole %t, want %t", whole, c.whole)
			}

			w := replay(t, result)
			if diff := cmp.Diff(c.want, w.Header()); diff != "" || w.Code != http.StatusCreated || w.Body.String() != c.body {
				t.Errorf("status %d, body %q, header (-want +got):\n%s", w.Code, w.Body, diff)
			}
		})
	}
}

func TestAResultThatIsNoAnswerIsRefused(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		result string
		isGood bool
	}{
		"no result":                    {"", true},
		"an answer":                    {"HTTP/1.1 200 OK\r\nIdempotent-Replayed: true\r\n\r\n", true},
		"JSON":                         {`{"paid":true}`, false},
		"half a status line":           {"HTTP/1.1 2", false},
		"half a header":                {"HTTP/1.1 200 OK\r\nIdempotent-Rep", false},
		"a body that is cut":           {"HTTP/1.1 200 OK\r\nIdempotent-Replayed: true\r\nContent-Length: 9\r\n\r\npaid", false},
		"an answer of another program": {"HTTP/1.1 200 OK\r\n\r\npaid", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			stored, err := idemhttp.DecodeAnswer([]byte(c.result))
			if (err == nil) != c.isGood {
				t.Errorf("got %v, want success: %t", err, c.isGood)
			}

			// The work is done, whatever the record holds.
			w := httptest.NewRecorder()
			if stored.Send(w); w.Code != http.StatusOK || w.Body.Len() > 0 || !c.isGood && w.Header().Get(replayed) != "body-omitted" {
				t.Errorf("sent %d, %v, %q", w.Code, w.Header(), w.Body)
			}
		})
	}
}

func TestAHeldAnswerIsSentWhole(t *testing.T) {
	t.Parallel()

	w := httptest.NewRecorder()
	w.Header().Set("X-Before", "1")

	answer := idemhttp.HoldAnswer(w)
	answer.Header().Set("Etag", `"1"`)

	if answer.Status() != 0 || answer.Size() != 0 || answer.HasTrailers() {
		t.Errorf("an empty answer has status %d, %d bytes", answer.Status(), answer.Size())
	}

	if _, err := answer.Write([]byte("pa")); err != nil {
		t.Fatal(err)
	}

	answer.WriteHeader(http.StatusTeapot)   // this comes too late
	answer.Header().Set("X-Late", "1")      // this comes too late
	answer.Header().Set("Trailer:X-T", "1") // a trailer may still be set
	answer.Flush()

	if _, err := answer.Write([]byte("id")); err != nil {
		t.Fatal(err)
	}

	if w.Body.Len() > 0 || !answer.HasTrailers() || answer.Size() != 4 {
		t.Errorf("before it is sent: %q, trailers %t, %d bytes", w.Body, answer.HasTrailers(), answer.Size())
	}

	answer.Send()

	want := http.Header{"X-Before": {"1"}, "Etag": {`"1"`}, replayed: {"false"}, "Content-Length": {"4"}}
	if diff := cmp.Diff(want, w.Header()); diff != "" || w.Code != http.StatusOK || w.Body.String() != "paid" {
		t.Errorf("status %d, body %q, header (-want +got):\n%s", w.Code, w.Body, diff)
	}
}

func TestAStatusDecidesWhatAnAnswerMayHave(t *testing.T) {
	t.Parallel()

	for status, c := range map[int]struct{ panics, isKept, hasBody bool }{
		-1: {panics: true}, 0: {panics: true}, 99: {panics: true}, 1000: {panics: true},
		100: {}, 103: {}, // an informational status is not kept, and the next one counts
		101: {isKept: true}, 204: {isKept: true}, 304: {isKept: true},
		200: {isKept: true, hasBody: true}, 404: {isKept: true, hasBody: true}, 999: {isKept: true, hasBody: true},
	} {
		answer := idemhttp.HoldAnswer(httptest.NewRecorder())

		func() {
			defer func() {
				if panicked := recover() != nil; panicked != c.panics {
					t.Errorf("%d: panics %t, want %t", status, panicked, c.panics)
				}
			}()

			answer.WriteHeader(status)
		}()

		if want := map[bool]int{true: status}[c.isKept]; answer.Status() != want {
			t.Errorf("%d: the status is %d, want %d", status, answer.Status(), want)
		}

		if _, err := answer.Write([]byte("x")); c.isKept && errors.Is(err, http.ErrBodyNotAllowed) == c.hasBody {
			t.Errorf("%d: a body: %v, want one: %t", status, err, c.hasBody)
		}
	}
}

// FuzzAReplayIsTheFirstAnswer stores an answer and decodes it again. The body must be the same, byte for byte, and so must the
// headers be as a client would have read them: without space around them, and with spaces for line breaks.
func FuzzAReplayIsTheFirstAnswer(f *testing.F) {
	f.Add(200, "application/json", "/payments/1", []byte(`{"paid":true}`))
	f.Add(204, "", "\n /1\t", []byte{})
	f.Add(502, "\u2004", "", []byte("x")) // a space, but not of HTTP
	f.Add(101, "a: b", "\r\n\r\nHTTP/1.1 500 No", []byte("HTTP/1.1 200 OK\r\n\r\n"))
	f.Add(999, "\x00", "ä\xff\x7f", []byte("\x00\xff\r\n"))

	f.Fuzz(func(t *testing.T, status int, contentType, location string, body []byte) {
		if status < 200 && status != http.StatusSwitchingProtocols || status > 999 {
			return
		}

		answer := idemhttp.HoldAnswer(httptest.NewRecorder())
		answer.Header()["Content-Type"], answer.Header()["Location"] = []string{contentType}, []string{location}
		answer.WriteHeader(status)

		if _, err := answer.Write(body); err != nil {
			body = nil
		}

		result, whole := answer.Encode(func([]byte) bool { return true })

		w := replay(t, result)
		if !whole || w.Code != status || !bytes.Equal(w.Body.Bytes(), body) || w.Header().Get(replayed) != "true" {
			t.Fatalf("whole %t, status %d, body %q, header %v, of %q", whole, w.Code, w.Body, w.Header(), result)
		}

		// An empty Content-Type is dropped; a Location never, and none that nobody could read.
		for name, value := range map[string]string{"Content-Type": contentType, "Location": location} {
			got := w.Header()[name]
			if want := asRead(value); !slices.Equal(got, want) &&
				(name == "Location" || got != nil || strings.Join(want, "") != "") {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	})
}

// FuzzDecode decodes what another program may have stored.
func FuzzDecode(f *testing.F) {
	f.Add([]byte("HTTP/1.1 200 OK\r\nIdempotent-Replayed: true\r\n\r\npaid"))
	f.Add([]byte(`{"paid":true}`))
	f.Fuzz(func(_ *testing.T, result []byte) { _, _ = idemhttp.DecodeAnswer(result) })
}

// asRead returns the value of a header as a client reads it; none if it cannot be sent.
func asRead(value string) []string {
	if strings.ContainsFunc(value, func(c rune) bool { return c < ' ' && c != '\t' && c != '\r' && c != '\n' || c == 0x7f }) {
		return nil
	}

	return []string{textproto.TrimString(strings.NewReplacer("\n", " ", "\r", " ").Replace(value))}
}

// An informational answer has the handler's headers, and what stands around the handler keeps its own: a header that the handler
// has set is not taken for one of theirs, which no replay has.
func TestAnInformationalAnswerLeavesTheHeadersAsTheyWere(t *testing.T) {
	t.Parallel()

	w := httptest.NewRecorder()
	w.Header().Set("Server", "around")

	a := idemhttp.HoldAnswer(w)
	a.Header().Set("Link", "</style.css>; rel=preload")
	a.WriteHeader(http.StatusEarlyHints)

	if got := w.Header(); len(got) != 1 || got.Get("Server") != "around" {
		t.Errorf("the headers around the handler are %v", got)
	}

	a.WriteHeader(http.StatusCreated)

	if stored, _ := a.Encode(func([]byte) bool { return true }); !strings.Contains(string(stored), "Link: </style.css>") {
		t.Errorf("a replay lacks the handler's header:\n%s", stored)
	}
}

// lenient takes any status, as the writers of some adapters do.
type lenient struct{ http.ResponseWriter }

func (lenient) WriteHeader(int) {}

func TestAnImpossibleStatusPanicsWhateverTheWriterTakes(t *testing.T) {
	t.Parallel()

	for _, status := range []int{-1, 99, 1000} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%d: no panic", status)
				}
			}()
			idemhttp.HoldAnswer(lenient{httptest.NewRecorder()}).WriteHeader(status)
		}()
	}
}
