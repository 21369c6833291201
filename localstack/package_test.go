package localstack_test

import (
	"debug/buildinfo"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The sam program of this test does what sam build does with a function: it runs the Go command in its own environment.
func TestPackageBuildsForLambda(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("building and linking programs costs more than all else of this package")
	}

	dir := t.TempDir()
	program := filepath.Join(dir, "bootstrap")
	sam := filepath.Join(dir, "sam")

	script := "#!/bin/sh\ntest \"$*\" = 'build --build-dir x' || exit 1\nexec go build -o " + program + " ./internal/checks/proof\n" // a program with little to compile
	if err := os.WriteFile(sam, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}

	cmd := exec.CommandContext(t.Context(), "./package.sh", "--build-dir", "x")
	cmd.Env = append(os.Environ(), "SAM="+sam, "CGO_ENABLED=1", "GOOS=linux", "GOFLAGS=-buildvcs=false")

	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	built, err := buildinfo.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}

	settings := map[string]string{}
	for _, s := range built.Settings {
		settings[s.Key] = s.Value
	}

	if settings["CGO_ENABLED"] != "0" || settings["-tags"] != "lambda.norpc" || settings["vcs"] != "" {
		t.Errorf("settings %v: want no C library, the tag lambda.norpc, and what GOFLAGS had before", settings)
	}

	file, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()

	if symbols, err := file.Symbols(); err == nil {
		t.Errorf("it has %d symbols, want none", len(symbols))
	}

	content, err := os.ReadFile(program)
	if err != nil {
		t.Fatal(err)
	}

	if strings.Contains(string(content), "net/rpc.(*Server)") {
		t.Error("net/rpc is linked")
	}
}
