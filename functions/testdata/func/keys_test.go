package main

import (
	"errors"
	"testing"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// Inputs do not share a key, not even those that lack a part of it: only the first of them would run.
func TestInputsDoNotShareAKey(t *testing.T) {
	t.Parallel()

	if key, err := byScheduledTime(t.Context(), scheduled{"s", "t"}); key != `["s","t"]` || err != nil {
		t.Errorf("got %q, %v", key, err)
	}

	if key, err := byExecution(t.Context(), task{"e", "s", "o"}); key != `["e","s","o"]` || err != nil {
		t.Errorf("got %q, %v", key, err)
	}

	one, _ := byExecution(t.Context(), task{"e", "s#1", "2"})
	if other, _ := byExecution(t.Context(), task{"e", "s", "1#2"}); other == one {
		t.Errorf("two tasks share the key %q", one)
	}

	_, errScheduled := byScheduledTime(t.Context(), scheduled{"s", ""})
	_, errTask := byExecution(t.Context(), task{"e", "s", ""})

	if !errors.Is(errScheduled, lambdawrap.ErrNoKey) || !errors.Is(errTask, lambdawrap.ErrNoKey) {
		t.Errorf("got %v, %v", errScheduled, errTask)
	}
}
