// Idemlint finds mistakes in programs that use go-idemddb which no type can forbid: a claim that is thrown away, an error of
// Complete that is returned for work that is done, an error of Stage that is ignored, a key that is the same for all messages.
// With -unguarded it lists handlers that get messages at least once and do work for them without a guard, in programs that do not
// use the library yet.
//
//	idemlint ./...
//	idemlint -unguarded ./...
//	go vet -vettool=$(which idemlint) ./...
//
// The page docs/testing.md of the repository explains each finding.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/unitchecker"
)

// mistakes are the analyzers that run unless others are named.
var mistakes = []*analysis.Analyzer{discarded, returned, unstaged, optimistic, key, storeOnce, handlerContext, target}

// The first form of a command line is that of a person, who names packages: go vet then runs this program for each package, with
// facts about the packages that it imports. The second form is that of go vet.
func main() {
	args := os.Args[1:]
	if len(args) > 0 && !isOfVet(args) {
		os.Exit(vet(args))
	}

	unitchecker.Main(analyzers(args)...)
}

// isOfVet reports whether the command line is one of those that go vet calls its tools with, or asks for help.
func isOfVet(args []string) bool {
	last := args[len(args)-1]

	return args[0] == "help" || strings.HasSuffix(last, ".cfg") || slices.ContainsFunc(args, func(arg string) bool {
		name := strings.TrimLeft(arg, "-")

		return len(name) < len(arg) && (name == "flags" || name == "V=full" || name == "h" || name == "help")
	})
}

// analyzers returns the analyzers for a command line of go vet. What is unguarded is listed only for those who ask for it,
// because whether a piece of work may be repeated is for them to say.
func analyzers(args []string) []*analysis.Analyzer {
	asked := slices.ContainsFunc(args, func(arg string) bool {
		name, value, _ := strings.Cut(strings.TrimLeft(arg, "-"), "=")

		return name == unguarded.Name && value != "false" || name == "flags"
	})
	if asked || len(args) == 0 || args[0] == "help" {
		return append(slices.Clone(mistakes), unguarded)
	}

	return mistakes
}

// vet runs go vet with this program as its tool, and returns its exit code.
func vet(args []string) int {
	program, err := os.Executable()
	if err != nil {
		return fail(err)
	}

	// Ctrl-C reaches go vet, too, which ends by itself.
	signal.Ignore(os.Interrupt)

	//nolint:gosec,noctx // the arguments are the user's own, and so is the end
	cmd := exec.Command("go", append([]string{"vet", "-vettool=" + program}, args...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr

	err = cmd.Run()

	if ended, ok := errors.AsType[*exec.ExitError](err); ok {
		return ended.ExitCode()
	}

	if err != nil {
		return fail(err)
	}

	return 0
}

func fail(err error) int {
	fmt.Fprintln(os.Stderr, "idemlint:", err)

	return 1
}
