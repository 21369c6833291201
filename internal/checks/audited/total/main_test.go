package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestTooFewChangesAreAnError(t *testing.T) {
	t.Parallel()

	name := filepath.Join(t.TempDir(), "audit.jsonl")
	if err := os.WriteFile(name, []byte(`{"package":"idemddb","judged":2,"kinds":{"new claim":2}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for want, c := range map[string]struct {
		least    int
		packages []string
	}{
		"2 changes are too few":                        {3, nil},
		`no change was of these kinds: ["claim again"`: {2, []string{"idemddb"}},
		"of package outbox had no change judged":       {2, []string{"idemddb", "outbox"}},
	} {
		var out bytes.Buffer
		if err := run(&out, name, c.least, c.packages); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}

		if !strings.HasPrefix(out.String(), "audit: 2 changes judged: 2 new claim;") {
			t.Errorf("got %q", out.String())
		}
	}

	if err := run(&bytes.Buffer{}, name+"x", 0, nil); err == nil {
		t.Error("no file: no error")
	}
}
