package idemhttp_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/idemhttp"
)

func TestAfterIsInWholeSecondsRoundedUp(t *testing.T) {
	t.Parallel()

	for wait, want := range map[time.Duration]string{
		-1: "", 0: "", 1: "1", time.Second: "1", time.Second + 1: "2", time.Minute: "60", 24 * time.Hour: "86400",
	} {
		w := httptest.NewRecorder()
		idemhttp.KeyInProgress.After(wait).Write(w)

		if got := w.Header().Get("Retry-After"); got != want {
			t.Errorf("%v: Retry-After is %q, want %q", wait, got, want)
		}
	}

	w := httptest.NewRecorder()
	if idemhttp.KeyInProgress.Write(w); w.Header().Get("Retry-After") != "" {
		t.Error("After changed the problem itself")
	}
}

func TestWriteSendsProblemDetails(t *testing.T) {
	t.Parallel()

	w := httptest.NewRecorder()
	w.Header().Set("Content-Length", "1")
	idemhttp.BodyTooLarge.With("too large").Write(w)

	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatal(err)
	}

	want := map[string]any{
		"type":  "https://github.com/idemddb/go-idemddb/blob/main/docs/http.md#body-too-large",
		"title": "The body is too large", "status": 413.0, "detail": "too large",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}

	header := http.Header{"Content-Type": {"application/problem+json"}, "Content-Length": {strconv.Itoa(w.Body.Len())}}
	if diff := cmp.Diff(header, w.Header()); diff != "" || w.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("status %d, headers (-want +got):\n%s", w.Code, diff)
	}
}
