package main

import (
	"path/filepath"
	"sync"
	"testing"

	"golang.org/x/sync/errgroup"
	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/analysistest"
)

// together runs all analyzers that look for mistakes, so that the programs are loaded once, and what one of them says of
// another's program is seen.
var together = &analysis.Analyzer{
	Name: "together", Doc: "run all analyzers of mistakes", Requires: []*analysis.Analyzer{reach},
	Run: func(pass *analysis.Pass) (any, error) {
		var (
			all   errgroup.Group
			mu    sync.Mutex
			found = pass.Report
		)

		for _, a := range mistakes { // side by side, as go vet runs them
			one := *pass
			one.Analyzer = a
			one.Report = func(d analysis.Diagnostic) {
				mu.Lock()
				defer mu.Unlock()

				found(d)
			}

			all.Go(func() error {
				_, err := a.Run(&one)

				return err
			})
		}

		return nil, all.Wait()
	},
}

// Each mistake in testdata/mistakes has a comment that says what is reported, and nothing else is: package right is as programs
// should be.
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

// Each handler in package unguarded has a comment that says what is reported, and nothing is said of those in package guarded.
// The clients of the queues are stubs, known by their import paths.
func TestUnguarded(t *testing.T) {
	t.Parallel()

	analysistest.Run(t, absolute(t, "testdata/unguarded"), unguarded, "example.com/shop/unguarded", "example.com/shop/guarded")
}
