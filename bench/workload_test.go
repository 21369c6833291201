package main

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestBatch(t *testing.T) {
	t.Parallel()

	w := workload{size: 4, repeated: 1, receives: 2}
	event := w.batch(3)

	var counts []string

	for _, m := range event.Records {
		counts = append(counts, m.Attributes["ApproximateReceiveCount"])
	}

	if diff := cmp.Diff([]string{"1", "1", "1", "2"}, counts); diff != "" {
		t.Error(diff)
	}

	before := w.seenBefore(event)
	if len(before.Records) != 1 || before.Records[0].MessageId != event.Records[3].MessageId {
		t.Errorf("seen before: %v, want the last message", before.Records)
	}

	if got := before.Records[0].Attributes["ApproximateReceiveCount"]; got != "1" {
		t.Errorf("it was delivered then as number %s, want 1", got)
	}

	if got := event.Records[3].Attributes["ApproximateReceiveCount"]; got != "2" {
		t.Errorf("and is delivered now as number %s, want 2", got)
	}
}

func TestMessageIDsDiffer(t *testing.T) {
	t.Parallel()

	w := workload{size: 100}
	seen := map[string]bool{}

	for i := range 50 {
		for _, m := range w.batch(i).Records {
			if seen[m.MessageId] || len(m.MessageId) != 36 {
				t.Fatalf("%q stands twice, or is no UUID", m.MessageId)
			}

			seen[m.MessageId] = true
		}
	}
}

func TestNamesInThePlanExist(t *testing.T) {
	t.Parallel()

	names := map[string]bool{}
	for _, name := range append(variantNames(), workloadNames()...) {
		names[name] = true
	}

	for _, w := range workloads() {
		for _, name := range w.variants {
			if !names[name] {
				t.Errorf("workload %s: no variant %q", w.name, name)
			}
		}
	}

	for _, h := range handlerKinds() {
		for _, name := range append(append([]string{}, h.workloads...), h.without...) {
			if !names[name] {
				t.Errorf("handler %s: nothing is called %q", h.name, name)
			}
		}
	}
}
