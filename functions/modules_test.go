package functions_test

import (
	"strings"
	"testing"
)

// Each version of the AWS SDK is compiled anew, which took three minutes for cmd/idem.
func TestAllModulesBuildOnTheSameVersions(t *testing.T) {
	t.Parallel()

	want := required(t, "go.mod")

	for _, file := range []string{"cmd/idem/go.mod", "idemotel/go.mod"} {
		for path, version := range required(t, file) {
			if want[path] != "" && version != want[path] {
				t.Errorf("%s requires %s %s, the library %s", file, path, version, want[path])
			}
		}
	}
}

// required returns the versions that a module requires, by the paths of modules.
func required(t *testing.T, file string) map[string]string {
	t.Helper()

	versions := map[string]string{}

	for line := range strings.Lines(readRoot(t, file)) {
		if fields := strings.Fields(strings.TrimPrefix(line, "require ")); len(fields) > 1 && strings.HasPrefix(fields[1], "v") {
			versions[fields[0]] = fields[1]
		}
	}

	if len(versions) < 3 {
		t.Fatalf("%s requires %v", file, versions)
	}

	return versions
}
