//go:build unix

package main

import (
	"fmt"
	"syscall"
	"time"
)

// processTime is the processor time of this process, user and system: all threads, and no other process.
func processTime() (time.Duration, error) {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0, fmt.Errorf("getrusage: %w", err)
	}

	return time.Duration(r.Utime.Nano() + r.Stime.Nano()), nil
}
