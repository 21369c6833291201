package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
)

const library = "github.com/idemddb/go-idemddb"

// requiring are the modules that require the library.
var requiring = []string{"idemotel/go.mod", "cmd/idem/go.mod"}

func checkVersions(_ context.Context, out io.Writer) error {
	root := os.DirFS(".")

	version, err := requiredVersion(root)
	if err != nil {
		return err
	}

	fmt.Fprintln(out, "the release that is being made is", version)

	return told("the versions do not agree", versionProblems(root, version))
}

// requiredVersion is that of the release which is being made: the modules require the library in it.
func requiredVersion(root fs.FS) (string, error) {
	mod, err := fs.ReadFile(root, requiring[0])
	if err != nil {
		return "", err //nolint:wrapcheck // names the file
	}

	found := requirement.FindSubmatch(mod)
	if found == nil {
		return "", errors.New(requiring[0] + " does not require the library")
	}

	return string(found[1]), nil
}

var (
	requirement = regexp.MustCompile(`(?m)^(?:require )?\s*` + regexp.QuoteMeta(library) + ` (v\S+)`)
	heading     = regexp.MustCompile(`(?m)^## (.*)$`)
	goVersion   = regexp.MustCompile(`(?m)^go (1\.\d+)`)

	// How pages name a version of the library: in a command, in a go.mod, and in prose.
	named = regexp.MustCompile(regexp.QuoteMeta(library) + `[a-z/]*[@ ](v\d+\.\d+\.\d+)|(?:release|go-idemddb),? (v\d+\.\d+\.\d+)`)
)

func versionProblems(root fs.FS, version string) []string {
	var problems []string

	tell := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	read := func(name string) string {
		content, err := fs.ReadFile(root, name)
		if err != nil {
			tell("%v", err)
		}

		return string(content)
	}

	for _, name := range requiring {
		if found := requirement.FindStringSubmatch(read(name)); found == nil || found[1] != version {
			tell("%s does not require the library in %s", name, version)
		}
	}

	if replaced := "replace " + library + " " + version + " => ./\n"; !strings.Contains(read("go.work"), replaced) {
		tell("go.work has no line %q", replaced)
	}

	// Users of a dead branch get no fixes, so the oldest version of Go that is promised is that of go.mod.
	oldest, readme := goVersion.FindStringSubmatch(read("go.mod")), read("README.md")
	if oldest == nil || !strings.Contains(readme, "Go "+oldest[1]+" and ") {
		tell("README.md does not promise the version of Go that go.mod asks for (%v)", oldest)
	}

	number := strings.TrimPrefix(version, "v")
	if top := heading.FindStringSubmatch(read("CHANGELOG.md")); top == nil || top[1] != "Unreleased" && !strings.HasPrefix(top[1]+" ", number+" ") {
		tell("CHANGELOG.md: the first release is neither Unreleased nor %s: %q", number, top)
	}

	for _, name := range pages(root) {
		for _, found := range named.FindAllStringSubmatch(read(name), -1) {
			if got := found[1] + found[2]; got != version {
				tell("%s names %s as a version of the library, which is %s", name, got, version)
			}
		}
	}

	return problems
}

// pages are those that say how to get the library. What earlier releases were is for the changelog to say.
func pages(root fs.FS) []string {
	names, _ := fs.Glob(root, "docs/*.md")
	top, _ := fs.Glob(root, "*.md")
	names = append(names, slices.DeleteFunc(top, func(name string) bool { return name == "CHANGELOG.md" })...)

	if found, _ := fs.Glob(root, "llms.txt"); len(found) > 0 {
		names = append(names, found...)
	}

	return slices.DeleteFunc(names, func(name string) bool { return path.Base(name) == "release.md" }) // its versions are examples
}
