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

// kept is what users compile against, as of this commit: a change of it stands in the diff of the commit that makes it, where
// somebody looks at it. At a tag it is what users of that release compile against.
const kept = "internal/checks/release/api.txt"

func writeAPI(ctx context.Context) error {
	lines, err := apiText(ctx)
	if err != nil {
		return err
	}

	return os.WriteFile(kept, lines, 0o600) //nolint:wrapcheck // names the file
}

// checkAPI compares what users compile against today with the file, and with that of the last tag.
func checkAPI(ctx context.Context, out io.Writer) error {
	now, err := apiText(ctx)
	if err != nil {
		return err
	}

	listed, err := os.ReadFile(kept)
	if err != nil {
		return err //nolint:wrapcheck // names the file
	}

	tag, before, err := released(ctx)
	if err != nil {
		return err
	}

	version, err := requiredVersion(os.DirFS("."))
	if err != nil {
		return err
	}

	return errors.Join(compareWithFile(split(listed), split(now)), compareWithTag(out, tag, version, split(before), split(now)))
}

// compareWithFile demands that the file lists each name, and no other: nobody would see a name that it lacks, and nothing would
// notice when that name is gone again.
func compareWithFile(listed, now []string) error {
	added, gone := difference(listed, now)

	var problems []string
	for _, line := range added {
		problems = append(problems, "it lacks:        "+line)
	}

	for _, line := range gone {
		problems = append(problems, "nobody exports:  "+line)
	}

	return told(kept+" is not what users compile against. Write it by make api, and have the change looked at", problems)
}

// compareWithTag tells what is new since the last tag. What is gone or is another needs a version that may break. Without a tag
// there is nothing to compare with.
func compareWithTag(out io.Writer, tag, version string, before, now []string) error {
	if tag == "" {
		fmt.Fprintf(out, "%d names, and no release with which they can be compared\n", len(now))

		return nil
	}

	added, gone := difference(before, now)
	for _, line := range added {
		fmt.Fprintln(out, "new since "+tag+":", line)
	}

	fmt.Fprintf(out, "%d names are as in %s, %d are new, %d are gone or are others\n", len(now)-len(added), tag, len(added), len(gone))

	if mayBreak(tag, version) {
		for _, line := range gone {
			fmt.Fprintln(out, "gone since "+tag+":", line)
		}

		return nil
	}

	return told(fmt.Sprintf("%s breaks programs that compile with %s. Raise the version by make release. Gone", version, tag), gone)
}

// released returns the last tag that the work tree descends from, and what users compiled against then; "" if there is none.
func released(ctx context.Context) (tag string, lines []byte, err error) {
	described, err := exec.CommandContext(ctx, "git", "describe", "--tags", "--abbrev=0", "--match=v[0-9]*").Output()
	if err != nil {
		return "", nil, nil //nolint:nilerr // no tag
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

// mayBreak says whether a version may break what compiles with the tag: another minor version while the major one is 0, later
// another major version.
func mayBreak(tag, version string) bool {
	compatible := func(v string) string {
		parts := strings.SplitN(v, ".", 3)
		if parts[0] != "v0" || len(parts) < 2 {
			return parts[0]
		}

		return parts[0] + "." + parts[1]
	}

	return compatible(tag) != compatible(version)
}
