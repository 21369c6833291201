package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// results are how tests ended ("pass", "fail" or "skip"), by package and name.
type results map[string]map[string]string

// contractEngines are the tests of the contract that the page means: each case of it is run by all of them, on two kinds of
// table.
const contractEngines = "^TestContract(InMemory|OverTheWire|OnDynamoDBLocal)$/."

// pattern is what go test -run needs.
func (p proof) pattern() string {
	if p.pkg == contractPackage {
		return contractEngines + "/^" + quote(p.test) + "$"
	}

	parts := strings.Split(p.test, "/")
	for i := range parts {
		parts[i] = "^" + quote(parts[i]) + "$"
	}

	return strings.Join(parts, "/")
}

// quote also keeps go test from splitting a name at a slash.
func quote(name string) string { return strings.ReplaceAll(regexp.QuoteMeta(name), "/", `\x2f`) }

// covers says whether a test is one that the proof names, or a case of it.
func (p proof) covers(name string) bool {
	if p.pkg == contractPackage {
		return strings.HasSuffix(name, "/"+p.test)
	}

	return name == p.test || strings.HasPrefix(name, p.test+"/")
}

// run runs the tests of the rows, one package after the other.
func run(ctx context.Context, rows []row) (results, error) {
	patterns := map[string][]string{}

	for _, r := range rows {
		for _, p := range r.proofs {
			patterns[p.pkg] = append(patterns[p.pkg], p.pattern())
		}
	}

	seen := results{}

	for _, pkg := range slices.Sorted(maps.Keys(patterns)) {
		if err := seen.test(ctx, pkg, strings.Join(patterns[pkg], "|")); err != nil {
			return nil, err
		}
	}

	return seen, nil
}

// test runs the tests of a package that match, and keeps how they ended. What a failing test has written goes to standard error.
func (s results) test(ctx context.Context, pkg, pattern string) error {
	cmd := exec.CommandContext(ctx, "go", "test", "-json", "-count=1", "-timeout=20m", "-run", pattern, "./"+pkg) //nolint:gosec // of the page
	cmd.Stderr = os.Stderr

	out, err := cmd.Output()
	if exit, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || exit.ExitCode() != 1) {
		return fmt.Errorf("run the tests of %s: %w", pkg, err)
	}

	s[pkg] = map[string]string{}

	failed, errRead := s.read(pkg, bytes.NewReader(out))
	if errRead != nil {
		return errRead
	}

	fmt.Fprint(os.Stderr, failed)

	if err != nil && failed == "" {
		return fmt.Errorf("the tests of %s end with an error, and none of them fails: %w", pkg, err)
	}

	return nil
}

// testEvent is a line of go test -json.
type testEvent struct {
	Action string `json:"Action"`
	Test   string `json:"Test"`
	Output string `json:"Output"`
}

// read reads the events of go test -json, and returns what the tests that failed have written.
func (s results) read(pkg string, events io.Reader) (failed string, err error) {
	written := map[string]string{}
	decoder := json.NewDecoder(events)

	for {
		var event testEvent

		switch err := decoder.Decode(&event); {
		case errors.Is(err, io.EOF):
			return failed, nil
		case err != nil:
			return failed, fmt.Errorf("read what go test says of %s: %w", pkg, err)
		}

		switch event.Action {
		case "output", "build-output":
			written[event.Test] += event.Output
		case "pass", "fail", "skip":
			s[pkg][event.Test] = event.Action

			if event.Action == "fail" && event.Test != "" {
				failed += written[event.Test]
			}
		}
	}
}

// count returns how many tests with the name of a proof have passed: one, or of the contract one for each engine and table. Each
// of their cases must have passed, too.
func (s results) count(p proof) (int, error) {
	passed := 0

	for name, ended := range s[p.pkg] {
		if !p.covers(name) {
			continue
		}

		if ended != "pass" {
			return 0, fmt.Errorf("%s %s: %s", p.pkg, name, ended)
		}

		if p.pkg == contractPackage || name == p.test {
			passed++
		}
	}

	if passed == 0 {
		return 0, fmt.Errorf("%s has no test %s that ends", p.pkg, p.test)
	}

	return passed, nil
}
