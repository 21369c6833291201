package functions_test

import (
	"os/exec"
	"testing"
)

// "./..." leaves testdata out, so that nothing else runs the tests of the programs that the pages show.
func TestTheProgramsOfThePagesPassTheirTests(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("building and linking programs costs more than all else of this package")
	}

	if out, err := exec.CommandContext(t.Context(), "go", "test", "-count=1", "./testdata/moving/...", "./testdata/func").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
