package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// It sets the environment, so it does not run in parallel.
func TestTheCostPageHasTheQueriesOfASweep(t *testing.T) {
	db := idemddbtest.New(nil)
	if _, err := db.CreateTable(t.Context(), idemddbtest.CreateTable("records", "unsent")); err != nil {
		t.Fatal(err)
	}

	var queries atomic.Int64

	engine := db.Handler()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".Query") {
			queries.Add(1)
		}

		engine.ServeHTTP(w, r)
	}))
	defer server.Close()

	stand.Env(t, map[string]string{"AWS_ENDPOINT_URL_DYNAMODB": server.URL})

	handler, err := wire(t.Context())
	if err == nil {
		err = handler(t.Context())
	}

	if err != nil {
		t.Fatal(err)
	}

	page, err := os.ReadFile("../../docs/cost.md")
	if err != nil {
		t.Fatal(err)
	}

	aMonth := float64(queries.Load()) * 60 * 24 * 30
	dollars := aMonth / 2 * 0.125e-6 // an eventually consistent query that finds nothing is half a read unit

	if want := fmt.Sprintf("| the relay's %d queries a minute, 16 for each of its two namespaces, %.1f million a month | about $%.2f a month",
		queries.Load(), aMonth/1e6, dollars); !strings.Contains(string(page), want) {
		t.Errorf("docs/cost.md lacks %q", want)
	}
}
