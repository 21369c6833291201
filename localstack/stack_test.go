package localstack_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// The machine of these tests has no Python, so that stack.sh can start nothing.
func TestStackSaysWhatIsMissingBeforeItFetches(t *testing.T) {
	t.Parallel()

	tools := t.TempDir()

	for _, tool := range []string{"bash", "cat", "cksum", "cut", "dirname", "env", "sed"} {
		path, err := exec.LookPath(tool)
		if err != nil {
			t.Fatal(err)
		}

		if err := os.Symlink(path, filepath.Join(tools, tool)); err != nil {
			t.Fatal(err)
		}
	}

	for name, c := range map[string]struct{ command, way, want string }{
		"up, another way":           {"up", "bla", "LOCALSTACK=bla? It is docker or processes"},
		"check, another way":        {"check", "bla", "LOCALSTACK=bla? It is docker or processes"},
		"up without Python 3.13":    {"up", "processes", "Python 3.13 is missing."},
		"check without Python 3.13": {"check", "processes", "Python 3.13 is missing."},
		"fetch without Python 3.13": {"fetch", "", "Python 3.13 is missing."},
		"with, without Python 3.13": {"with", "", "Python 3.13 is missing."},
		"unset, it is processes":    {"up", "", "Python 3.13 is missing."},
		"up without Docker":         {"up", "docker", "no Docker engine with compose answers"},
		"check without Docker":      {"check", "docker", "no Docker engine with compose answers"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			cache := t.TempDir()
			cmd := exec.CommandContext(t.Context(), "./stack.sh", c.command, "true")
			cmd.Env = []string{"PATH=" + tools, "HOME=" + cache, "PYENV_ROOT=" + cache, "IDEMDDB_CACHE=" + cache, "LOCALSTACK=" + c.way}

			out, err := cmd.CombinedOutput()
			if (err != nil) != (c.want != "") || !strings.Contains(string(out), c.want) {
				t.Errorf("got %v, want %q:\n%s", err, c.want, out)
			}

			if strings.Count(string(out), "\n") > 1 {
				t.Errorf("more than one line: it went on\n%s", out)
			}

			if files, err := os.ReadDir(cache); err != nil || len(files) > 0 {
				t.Errorf("the cache has %v, %v, want nothing", files, err)
			}
		})
	}
}
