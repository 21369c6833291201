// Package program is what the main functions in this folder share.
package program

import (
	"context"
	"fmt"
	"os"
	"os/signal"
)

// Main calls run with a context that an interrupt ends. If run fails, Main prints the program's name and the error to standard
// error and ends the process with status 1.
func Main(name string, run func(context.Context) error) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)

	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, name+":", err)
		os.Exit(1)
	}
}
