package functions_test

import (
	"path/filepath"
	"strings"
	"testing"
)

const library = "github.com/idemddb/go-idemddb"

// In the workspace all modules are built on the newest version that one of them requires. A user of one of them would get an
// older version than the tests ran with. Each version of the AWS SDK is also compiled anew, which took three minutes for
// cmd/idem.
func TestAllModulesRequireTheSameVersions(t *testing.T) {
	t.Parallel()

	type requirement struct{ module, version string }

	known := map[string]requirement{}

	for _, module := range modules(t) {
		for path, version := range required(t, module) {
			if other, isThere := known[path]; isThere && other.version != version {
				t.Errorf("%s requires %s %s, and %s requires %s", module, path, version, other.module, other.version)
			}

			known[path] = requirement{module, version}
		}
	}
}

// The go command installs no program whose go.mod has a replace directive, and ignores the one of a dependency.
func TestModulesRequireTheLibraryAsAUserGetsIt(t *testing.T) {
	t.Parallel()

	workspace := readRoot(t, "go.work")

	for _, module := range modules(t) {
		if strings.Contains(readRoot(t, filepath.Join(module, "go.mod")), "\nreplace") {
			t.Errorf("%s/go.mod has a replace directive", module)
		}

		version, requires := required(t, module)[library]
		if !requires { // the library itself, and idemlint
			continue
		}

		if replace := "\nreplace " + library + " " + version + " => ./\n"; !strings.Contains(workspace, replace) {
			t.Errorf("%s requires the library in version %q, and go.work lacks:%s", module, version, replace)
		}
	}
}

// modules returns the folders of the modules that go.work uses.
func modules(t *testing.T) []string {
	t.Helper()

	_, uses, _ := strings.Cut(readRoot(t, "go.work"), "\nuse (\n")
	uses, _, _ = strings.Cut(uses, ")")

	folders := strings.Fields(uses)
	if len(folders) < 2 || folders[0] != "." {
		t.Fatalf("go.work uses %q", folders)
	}

	return folders
}

// required returns the versions that a module requires, by the paths of modules.
func required(t *testing.T, module string) map[string]string {
	t.Helper()

	versions := map[string]string{}

	for line := range strings.Lines(readRoot(t, filepath.Join(module, "go.mod"))) {
		if fields := strings.Fields(strings.TrimPrefix(line, "require ")); len(fields) > 1 && strings.HasPrefix(fields[1], "v") {
			versions[fields[0]] = fields[1]
		}
	}

	if len(versions) < 1 {
		t.Fatalf("%s requires %v", module, versions)
	}

	return versions
}
