package main

import (
	"net/http"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

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

// A record may be written by another program, or by hand.
func TestNothingOfARecordIsObeyedByATerminal(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.announce("p-9")
	n.edit("p-9", map[string]types.AttributeValue{
		"op": text(`{"what":"re\u001b[2Jlease","by":"an\u001b[2Jna\nx","why":"\u0007"}`), "own": text("8f6e\x1b[2J/x"), "tx": text("tx\x1b[2J"),
		"err": text("no\x1b[2J"), "att": number("2"),
	})
	n.idem("show", "p-9")
	n.idem("list", "twice")
	n.idem("list", "unsent")

	seen := n.aws.engine
	n.aws.engine = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.Header.Get("X-Amz-Target"), "UpdateItem") {
			n.aws.engine = seen
			n.edit("p-9", map[string]types.AttributeValue{"fence": number("7")})
		}

		seen.ServeHTTP(w, r)
	})

	n.idem("forget", "--lose-messages", "p-9", "--why", "x", "--yes")
	n.expect(exitRefused, "changed meanwhile")

	if i := strings.IndexAny(n.shown(), "\x1b\x07"); i >= 0 {
		t.Errorf("the terminal obeys %q", n.shown()[i:])
	}
}
