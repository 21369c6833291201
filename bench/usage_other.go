//go:build !unix

package main

import (
	"errors"
	"time"
)

func processTime() (time.Duration, error) {
	return 0, errors.New("processor time is read by getrusage, which this system does not have")
}
