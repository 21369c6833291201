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
	if err := os.WriteFile(name, []byte(`{"judged":2,"kinds":{"new claim":2}}`+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	for want, least := range map[string]int{"2 changes are too few": 3, `no change was of these kinds: ["claim again"`: 2} {
		var out bytes.Buffer
		if err := run(&out, name, least); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("at least %d: got %v, want %s", least, err, want)
		}

		if !strings.HasPrefix(out.String(), "audit: 2 changes judged: 2 new claim;") {
			t.Errorf("got %q", out.String())
		}
	}

	if err := run(&bytes.Buffer{}, name+"x", 0); err == nil {
		t.Error("no file: no error")
	}
}
