// Idem looks at the records of go-idemddb and changes them by hand. See docs/operations.md.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() { os.Exit(mainCode()) }

func mainCode() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	a := &app{in: os.Stdin, out: os.Stdout, log: os.Stderr, getenv: os.Getenv, interactive: isTerminal(os.Stdin)}

	return a.run(ctx, os.Args[1:])
}

func isTerminal(f *os.File) bool {
	info, err := f.Stat()

	return err == nil && info.Mode()&os.ModeCharDevice != 0
}
