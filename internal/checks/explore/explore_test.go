package main

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestEveryOrderOfEventsKeepsEachRule(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("hundreds of thousands of states take seconds")
	}

	var out bytes.Buffer
	if err := run([]string{"-short"}, &out); err != nil {
		t.Fatalf("%v\n%s", err, &out)
	}

	if !strings.HasSuffix(out.String(), "\nexhausted\n") {
		t.Errorf("got\n%s\nwant all of it to be visited", &out)
	}

	t.Logf("%s", &out)
}

func TestWhatWasCutOffIsNotExhausted(t *testing.T) {
	t.Parallel()

	var out bytes.Buffer
	if err := run([]string{"-short", "-states", "10"}, &out); !errors.Is(err, errCutOff) {
		t.Errorf("got %v, want %v", err, errCutOff)
	}

	if strings.Contains(out.String(), "exhausted") || !strings.Contains(out.String(), "cut off") {
		t.Errorf("got\n%s", &out)
	}
}

func TestWithoutARuleItsPropertyBreaks(t *testing.T) {
	t.Parallel()

	for without, want := range map[rule]struct {
		lines int // of a shortest story
		end   string
	}{
		ruleAlone:     {1, "writer 1 is alone, and its write does not leave in the same step"},
		ruleTogether:  {4, "writer 2 has waited for 1.666666ms behind a flight, and does not leave"},
		ruleItself:    {7, "DynamoDB has answered writer 3, and its write is sent again"},
		ruleLeft:      {6, "the write of writer 1 is sent, and its caller has left"},
		ruleLimits:    {6, "the request of writer 2 and writer 3 writes the record a twice"},
		ruleConflict:  {5, "the requests of writer 1 and writer 2 are under way, and both write the record a"},
		ruleGate:      {7, "touches no hot item, and its write stands behind the gate"},
		ruleAdditions: {9, "the item x has 1, and the completed records add up to 5"},
		ruleProof:     {3, "writer 1 has the claim a, and the record does not say so"},
		ruleRead:      {6, "had ended before"},
		ruleProbe:     {10, "ask at the same time whether shared requests are still denied"},
	} {
		t.Run(fmt.Sprint("rule ", int(without)), func(t *testing.T) {
			t.Parallel()

			var out bytes.Buffer
			if err := run([]string{"-without", fmt.Sprint(int(without))}, &out); err != nil {
				t.Fatal(err)
			}

			if !strings.Contains(out.String(), want.end) || !strings.Contains(out.String(), fmt.Sprintf("\n%3d. ", want.lines)) ||
				strings.Contains(out.String(), fmt.Sprintf("\n%3d. ", want.lines+1)) {
				t.Errorf("got\n%s\nwant %d lines that end with %q", &out, want.lines, want.end)
			}
		})
	}
}

func TestOnlyARuleWithAPropertyCanBeDropped(t *testing.T) {
	t.Parallel()

	if err := run([]string{"-without", "12"}, &bytes.Buffer{}); err == nil || !strings.Contains(err.Error(), "no rule 12") {
		t.Errorf("got %v", err)
	}
}
