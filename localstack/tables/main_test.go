package main

import (
	"net/http/httptest"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestRunCreatesBothTablesOnce(t *testing.T) {
	db := idemddbtest.New(nil)

	server := httptest.NewServer(db.Handler())
	defer server.Close()

	setEnv(t, server.URL)

	var out strings.Builder
	for range 2 {
		if err := run(t.Context(), &out, "records", "ledger"); err != nil {
			t.Fatal(err)
		}
	}

	want := "table records created\ntable ledger created\ntable records is there\ntable ledger is there\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}

	var got []string
	for _, r := range db.Requests() {
		got = append(got, r.Operation+" "+r.Table)
	}

	requests := []string{"CreateTable records", "UpdateTimeToLive records", "CreateTable ledger", "CreateTable records", "CreateTable ledger"}
	if diff := cmp.Diff(requests, got); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

func TestRunNeverReachesAWS(t *testing.T) {
	setEnv(t, "")

	err := run(t.Context(), nil, "records", "ledger")
	if err == nil || !strings.Contains(err.Error(), "AWS_ENDPOINT_URL_DYNAMODB") {
		t.Errorf("run without an endpoint: %v, want an error that names the variable", err)
	}
}

func setEnv(t *testing.T, endpoint string) {
	t.Helper()

	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL_DYNAMODB": endpoint, "AWS_ENDPOINT_URL": "", "AWS_REGION": "us-east-1", "AWS_CA_BUNDLE": "",
		"AWS_ACCESS_KEY_ID": "local", "AWS_SECRET_ACCESS_KEY": "local", "AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none,
	} {
		t.Setenv(name, value)
	}
}
