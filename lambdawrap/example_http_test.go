package lambdawrap_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A client repeats a payment under one Idempotency-Key. The payment is made once, and both requests have the same answer.
func ExampleHTTP() {
	store, _ := inMemory(nil)

	pay := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Println("paid")
		w.Header().Set("Location", "/payments/p-1")
		w.WriteHeader(http.StatusCreated)
	})

	handler := lambdawrap.HTTP(store, pay, &lambdawrap.HTTPOptions{Caller: verified, Logger: quiet})

	for range 2 {
		ask(handler, "k-1", `{"amount":1250}`)
	}

	ask(handler, "k-1", `{"amount":9999}`)
	// Output:
	// paid
	// 201, replayed: "false"
	// 201, replayed: "true"
	// 422, replayed: "": Idempotency-Key was used for another request
}

// What the handler stages is written in one transaction with its answer: exactly once, whatever dies.
func ExampleHTTP_stage() {
	store, _ := inMemory(&idemddb.Options{Senders: map[string]idemddb.Sender{"payments": nil}}) // the relay sends

	pay := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := idemddb.Stage(r.Context(), idemddb.Effects{Messages: []idemddb.Message{{To: "payments", Body: "{}"}}})
		if err != nil {
			http.Error(w, "not staged", http.StatusInternalServerError)

			return
		}

		w.WriteHeader(http.StatusAccepted)
	})

	opts := &lambdawrap.HTTPOptions{Caller: verified, Optimistic: true, Logger: quiet}
	handler := lambdawrap.HTTP(store, pay, opts)

	for range 2 {
		ask(handler, "k-1", "{}")
	}
	// Output:
	// 202, replayed: "false"
	// 202, replayed: "true"
}

// A program that looks at records computes the key of a request, for which it must know the caller.
func ExampleHTTPKey() {
	request := httptest.NewRequest(http.MethodPost, "/payments", nil)
	request.Header.Set("Idempotency-Key", `"k-1"`)

	fmt.Println(lambdawrap.HTTPKey("customer-1", request))
	fmt.Println(lambdawrap.HTTPKey("", request))
	// Output:
	// #["customer-1","k-1"] <nil>
	//  lambdawrap: no key in the message: caller is empty; what does HTTPOptions.Caller return for this request?
}

// Without a key or a caller nothing runs and nothing is stored.
func ExampleHTTPOptions() {
	store, _ := inMemory(nil)

	handler := lambdawrap.HTTP(store, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway) // the bank is closed
	}), &lambdawrap.HTTPOptions{
		Caller: func(*http.Request) (string, error) { return "", errors.New("the token is over") },
		Keep:   func(status int) bool { return status < http.StatusInternalServerError },
		Logger: quiet, Required: true,
	})

	ask(handler, "", "{}")
	ask(handler, "k-1", "{}")
	// Output:
	// 400, replayed: "": Idempotency-Key is missing
	// 401, replayed: "": The caller is not known
}

// verified stands for the identity that the authentication in front has verified.
func verified(*http.Request) (string, error) { return "customer-1", nil }

// ask sends a request and prints the answer.
func ask(handler http.Handler, key, body string) {
	r := httptest.NewRequest(http.MethodPost, "/payments", strings.NewReader(body))
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}

	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, r)

	text, _ := io.ReadAll(recorder.Body)
	title := ""

	if _, rest, ok := strings.Cut(string(text), `"title":"`); ok {
		title, _, _ = strings.Cut(rest, `"`)
		title = ": " + title
	}

	fmt.Printf("%d, replayed: %q%s\n", recorder.Code, recorder.Header().Get("Idempotent-Replayed"), title)
}
