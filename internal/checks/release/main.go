// Release checks what a release must not get wrong. Run it in the root of the repository; make release-check runs all of it.
//
//	go run ./internal/checks/release api                what users compile against is what api.txt lists, and breaks nothing of the last release
//	go run ./internal/checks/release api -write         write api.txt
//	go run ./internal/checks/release versions           the versions that the modules, the changelog and the pages name
//	go run ./internal/checks/release licences FILE...   the licences in bills of materials (CycloneDX) are on the list
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := check(ctx, os.Stdout, os.Args[1:])

	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func check(ctx context.Context, out io.Writer, args []string) error {
	switch strings.Join(args[:min(len(args), 2)], " ") {
	case "api":
		return checkAPI(ctx, out)
	case "api -write":
		return writeAPI(ctx)
	case "versions":
		return checkVersions(ctx, out)
	}

	if len(args) > 1 && args[0] == "licences" {
		return checkLicences(out, args[1:])
	}

	return errors.New("say which check: api, api -write, versions, or licences FILE")
}

// told is the error of a check that has found problems, or nil if it has found none.
func told(what string, problems []string) error {
	if len(problems) == 0 {
		return nil
	}

	return fmt.Errorf("%s:\n  %s", what, strings.Join(problems, "\n  "))
}
