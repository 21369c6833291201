package main

import (
	"strings"
	"testing"
)

// A person names packages; go vet asks for flags and a version, and hands over files of its own. Handlers without a guard are
// listed only if that is asked for.
func TestCommandLines(t *testing.T) {
	t.Parallel()

	for line, want := range map[string]struct{ isOfVet, isUnguarded bool }{
		"./...":                         {false, false},
		"-unguarded ./...":              {false, true},
		"-optimistic=false ./shop":      {false, false},
		"-flags":                        {true, true},
		"-V=full":                       {true, false},
		"-unguarded /tmp/b001/vet.cfg":  {true, true},
		"--unguarded=true /tmp/vet.cfg": {true, true},
		"-unguarded=false /tmp/vet.cfg": {true, false},
		"/tmp/b001/vet.cfg":             {true, false},
		"help unguarded":                {true, true},
	} {
		args := strings.Fields(line)
		got := analyzers(args)

		if isUnguarded := got[len(got)-1] == unguarded; isOfVet(args) != want.isOfVet || isUnguarded != want.isUnguarded {
			t.Errorf("%s: got of vet %v, unguarded %v, want %+v", line, isOfVet(args), isUnguarded, want)
		}
	}
}
