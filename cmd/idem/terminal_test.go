package main

import (
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// A key comes from a message, so that its sender must not write on the operator's terminal.
func TestWhatATerminalObeysIsNotInTheCommandsThatAreAdvised(t *testing.T) {
	t.Parallel()

	const key = "p\x1b]0;paid\x07-9"

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.fail(key, "no")
	n.idem("show", key)

	if strings.ContainsAny(n.lastOut, "\x1b\x07") {
		t.Errorf("the terminal obeys %q", n.lastOut)
	}

	_, advised, _ := strings.Cut(n.lastOut, "then: idem reopen --why '…' ")
	hash, _, _ := strings.Cut(strings.TrimPrefix(advised, "--hash "), ";")
	n.idem("reopen", "--hash", hash, "--why", "x", "--yes")
	n.expect(exitDone, "open: now redrive its message")
}
