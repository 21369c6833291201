package main

import (
	"io"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// hesitating is an operator who types Ctrl-C in the place of an answer.
type hesitating struct {
	*night

	over <-chan struct{}
}

func (h hesitating) Read([]byte) (int, error) {
	h.aws.interrupt()
	<-h.over

	return 0, io.EOF
}

func TestAQuestionCanBeInterrupted(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.fail("p-9", "no")

	for _, c := range []struct {
		command []string
		code    int
		said    string
	}{
		{[]string{"reopen", "p-9", "--why", "x"}, exitRefused, "idem: nothing was changed"},
		{[]string{"reopen", "p-9"}, exitError, "idem: --why: must not be empty"},
	} {
		n.enter(hesitating{n, t.Context().Done()}, c.command...)
		n.expect(c.code, c.said)
	}

	n.idem("show", "p-9")
	n.expect(exitDone, "FAILED")
}
