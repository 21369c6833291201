package main

import (
	"net/http"
	"strings"
	"testing"
)

func TestLambdaHandsOutOneInvocation(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ path, body, want string }{
		"an answer":                {"invocation/" + requestID + "/response", `{"batchItemFailures":[]}`, ""},
		"an answer with a failure": {"invocation/" + requestID + "/response", `{"batchItemFailures":[{"itemIdentifier":"1"}]}`, "1 messages failed"},
		"a failed invocation":      {"invocation/" + requestID + "/error", `{"errorMessage":"no"}`, "no"},
		"a failed start":           {"init/error", `{"errorMessage":"no table"}`, "no table"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			batch := workload{size: 1}

			l, err := openLambda(t.Context(), batch.batch(0))
			if err != nil {
				t.Fatal(err)
			}
			defer l.close()

			base := "http://" + l.address + runtimeAPI

			got, err := http.Get(base + "invocation/next")
			if err != nil || got.Header.Get("Lambda-Runtime-Aws-Request-Id") != requestID {
				t.Fatal(got, err)
			}

			if _, err := http.Post(base+c.path, "application/json", strings.NewReader(c.body)); err != nil {
				t.Fatal(err)
			}

			at, err := l.answer(t.Context())
			if c.want == "" && (err != nil || at.IsZero()) || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("answered at %v: %v, want %q", at, err, c.want)
			}
		})
	}
}
