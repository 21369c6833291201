package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// kept is what users compile against, as of the last release; before the first one, as of the last time that somebody looked at it.
const kept = "internal/checks/release/api.txt"

func writeAPI(ctx context.Context) error {
	lines, err := apiText(ctx)
	if err != nil {
		return err
	}

	return os.WriteFile(kept, lines, 0o600) //nolint:wrapcheck // names the file
}

// checkAPI compares what users compile against today with that of the last tag. It tells what is new. What is gone or is another needs a version that
// may break. Without a tag, it is compared with the file of the work tree.
func checkAPI(ctx context.Context, out io.Writer) error {
	now, err := apiText(ctx)
	if err != nil {
		return err
	}

	tag, before, err := released(ctx)
	if err != nil {
		return err
	}

	version, err := requiredVersion(os.DirFS("."))
	if err != nil {
		return err
	}

	added, gone := difference(split(before), split(now))
	for _, line := range added {
		fmt.Fprintln(out, "new since "+tag+":", line)
	}

	fmt.Fprintf(out, "%d names are as in %s, %d are new, %d are gone or are others\n", len(split(now))-len(added), tag, len(added), len(gone))

	if mayBreak(tag, version) {
		for _, line := range gone {
			fmt.Fprintln(out, "gone since "+tag+":", line)
		}

		return nil
	}

	return told(fmt.Sprintf("%s breaks programs that compile with %s. Raise the version by make release, or, before the first release, "+
		"accept it by make api. Gone", version, tag), gone)
}

// released returns the last tag that the work tree descends from, and what users compiled against then.
func released(ctx context.Context) (tag string, lines []byte, err error) {
	described, err := exec.CommandContext(ctx, "git", "describe", "--tags", "--abbrev=0", "--match=v[0-9]*").Output()
	if err != nil { // no tag
		lines, err = os.ReadFile(kept)

		return kept, lines, err //nolint:wrapcheck // names the file
	}

	tag = strings.TrimSpace(string(described))

	lines, err = exec.CommandContext(ctx, "git", "show", tag+":"+kept).Output() //nolint:gosec // what git itself said
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		err = fmt.Errorf("%s of %s: %s", kept, tag, exit.Stderr)
	}

	return tag, lines, err
}

func split(text []byte) []string {
	return slices.DeleteFunc(strings.Split(string(text), "\n"), func(line string) bool { return line == "" })
}

// difference returns the lines that are new and those that are gone. Both lists are sorted.
func difference(before, now []string) (added, gone []string) {
	for _, line := range now {
		if _, is := slices.BinarySearch(before, line); !is {
			added = append(added, line)
		}
	}

	for _, line := range before {
		if _, is := slices.BinarySearch(now, line); !is {
			gone = append(gone, line)
		}
	}

	return added, gone
}

// mayBreak says whether a version may break what compiles with the tag: another minor version while the major one is 0, later another major version.
func mayBreak(tag, version string) bool {
	compatible := func(v string) string {
		parts := strings.SplitN(v, ".", 3)
		if parts[0] != "v0" || len(parts) < 2 {
			return parts[0]
		}

		return parts[0] + "." + parts[1]
	}

	return tag != kept && compatible(tag) != compatible(version)
}
