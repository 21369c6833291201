package main

import (
	"path/filepath"
	"testing"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// together runs all analyzers that look for mistakes, so that the programs are loaded once, and what one of them says of another's program is
// seen.
var together = &analysis.Analyzer{
	Name: "together", Doc: "run all analyzers of mistakes", Requires: []*analysis.Analyzer{reach},
	Run: func(pass *analysis.Pass) (any, error) {
		for _, a := range mistakes {
			one := *pass
			one.Analyzer = a

			if _, err := a.Run(&one); err != nil {
				return nil, err
			}
		}

		return nil, nil //nolint:nilnil // an analyzer without a result
	},
}

// Each mistake in testdata/mistakes has a comment that says what is reported, and nothing else is: package right is as programs should be.
func TestMistakes(t *testing.T) {
	t.Parallel()

	analysistest.Run(t, absolute(t, "testdata/mistakes"), together, "./...")
}

func absolute(t *testing.T, path string) string {
	t.Helper()

	path, err := filepath.Abs(path)
	if err != nil {
		t.Fatal(err)
	}

	return path
}

// Each handler in package unguarded has a comment that says what is reported, and nothing is said of those in package guarded. The clients of the
// queues are stubs, known by their import paths.
func TestUnguarded(t *testing.T) {
	t.Parallel()

	analysistest.Run(t, absolute(t, "testdata/unguarded"), unguarded, "example.com/shop/unguarded", "example.com/shop/guarded")
}
