package main

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// After an outage with kills the operator asks which payments may have been done twice. The runbook shows the answer.
func TestDrillWhatMayHaveHappenedTwice(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.outage()
		n.idem("list", "twice", "--since", "2h")
		n.expect(exitDone, "5 found")
		n.onThePage("twice")
	})
}

// outage leaves keys of which the handlers began twice, and others that were not done twice.
func (n *night) outage() {
	n.t.Helper()

	const first, second = "8f6e1c1e-7f0b-4a55-9c39-0e7d3a2f6f1b", "c2a7b1de-0f4e-4a4e-8d1c-b6d0d7f0a9e3"

	settle := func(err error) {
		n.t.Helper()

		if err != nil {
			n.t.Fatal(err)
		}
	}
	change := func(key, command, why string) {
		n.t.Helper()

		if n.idem(command, key, "--why", why, "--yes") != exitDone {
			n.t.Fatal(n.shown())
		}

		n.screen.Reset()
	}

	n.claim("p-old", first)
	n.clock.Advance(time.Minute)
	n.complete("p-old") // long ago
	n.clock.Advance(3 * time.Hour)

	n.complete("p-once")
	n.fail("p-failed", "no")
	settle(n.claim("p-retried", first).Release(n.t.Context(), errors.New("the bank is closed")))
	n.complete("p-retried")

	never := n.worker(&idemddb.Options{NoTakeover: true})
	ordinary := n.store
	n.store = never
	n.claim("p-guarded", first)
	n.store = ordinary

	for _, key := range []string{"p-7", "p-8", "p-9", "p-waiting", "p-stuck"} {
		n.claim(key, first) // the worker is killed
	}

	change("p-waiting", "release", "its process hangs")
	n.clock.Advance(time.Minute)
	settle(n.claim("p-9", second).Complete(n.t.Context(), nil))
	settle(n.claim("p-8", second).Fail(n.t.Context(), errors.New("account anna is closed")))
	settle(n.claim("p-7", second).CompleteWith(n.t.Context(), nil, idemddb.Effects{Messages: []idemddb.Message{{To: "captured", Body: "p-7"}}}))

	n.store = never
	if got := n.deliver("p-guarded"); !got.Failed {
		n.t.Fatalf("got %+v, want that nobody takes the key over", got)
	}

	change("p-guarded", "reopen", "the bank has no such payment")
	settle(n.claim("p-guarded", second).Complete(n.t.Context(), nil))
	n.store = ordinary
	n.clock.Advance(9 * time.Minute)
}

func TestListTwiceNamesExactlyWhatMayHaveHappenedTwice(t *testing.T) {
	onEachEngine(t, func(n *night) {
		n.outage()

		for name, test := range map[string]struct {
			flags []string
			want  map[group][]string
		}{
			"since the outage": {[]string{"--since", "2h"}, map[group][]string{
				inDoubt: {"p-8", "p-9", "p-guarded"}, staged: {"p-7"}, pending: {"p-waiting"},
			}},
			"ever": {nil, map[group][]string{
				inDoubt: {"p-8", "p-9", "p-guarded", "p-old"}, staged: {"p-7"}, pending: {"p-waiting"},
			}},
			"with retries": {[]string{"--retries"}, map[group][]string{
				inDoubt: {"p-8", "p-9", "p-guarded", "p-old"}, staged: {"p-7"}, pending: {"p-waiting"}, retried: {"p-retried"},
			}},
		} {
			n.idem(append([]string{"list", "twice", "--json"}, test.flags...)...)
			n.expect(exitDone)

			got := map[group][]string{}

			for line := range strings.Lines(n.lastOut) {
				var v operate.View
				if err := json.Unmarshal([]byte(line), &v); err != nil || v.SecondRun == nil {
					n.t.Fatalf("%s: %v", line, err)
				}

				which := groupOf(v.SecondRun)
				got[which] = append(got[which], v.Key)
			}

			for which := inDoubt; which <= retried; which++ {
				slices.Sort(got[which])

				if !slices.Equal(got[which], test.want[which]) {
					n.t.Errorf("%s: %q: got %q, want %q", name, titles[which], got[which], test.want[which])
				}
			}
		}
	})
}

// The traces of both runs lead to their logs.
func TestListTwiceShowsTheTraceOfTheRunBefore(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.trace("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	n.claim("p-9", "")
	n.clock.Advance(time.Minute)
	n.trace("00-5bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	n.complete("p-9")

	n.idem("list", "twice")
	n.expect(exitDone, "TRACE OF THE RUN BEFORE", "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
	n.idem("show", "p-9")
	n.expect(exitDone, "ran again      taken over; the lease before ended 2026-01-02 03:00:30Z (30s ago)", "00-5bf92f35")
}

func TestListTwiceOfATableWithoutAnySaysSo(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.complete("p-once")
	n.idem("list", "twice")
	n.expect(exitNothing, "0 found among 1 records")
}

// The record keeps its last change alone, so it may not say who released or reopened the key.
func TestWhyTheWorkBeganAgainIsSaidAsFarAsTheRecordKnows(t *testing.T) {
	t.Parallel()

	now := time.Date(2026, 1, 2, 3, 0, 0, 0, time.UTC)
	by := func(what string) *operate.Change {
		return &operate.Change{What: what, By: "anna", Why: "the bank asked", At: now.Add(-time.Minute)}
	}

	for want, c := range map[string]struct {
		reason operate.Reason
		ended  time.Time
		last   *operate.Change
	}{
		"taken over; the lease before ended 2026-01-02 03:00:00Z (now)":     {operate.TakenOver, now, nil},
		"taken over; the lease before ended 2026-01-02 03:00:05Z (in 5s)":   {operate.TakenOver, now.Add(5 * time.Second), nil},
		"taken over after a lease ran out":                                  {operate.TakenOver, time.Time{}, nil},
		"released by anna, 2026-01-02 02:59:00Z (1m0s ago): the bank asked": {operate.WasReleased, now, by("release")},
		"released by an operator":                                           {operate.WasReleased, now, nil},
		"reopened by a program":                                             {operate.WasReopened, now, by("release")},
		"reopened by anna, 2026-01-02 02:59:00Z (1m0s ago): the bank asked": {operate.WasReopened, now, by("reopen")},
		"released by an operator, or reopened":                              {operate.WasChanged, now, nil},
		"the handler returned an error":                                     {operate.WasRetried, now, nil},
		"not known: a worker of an older version has run it again":          {operate.ReasonAbsent, now, nil},
		"another reason": {"another reason", now, nil},
	} {
		v := &operate.View{SecondRun: &operate.SecondRun{Why: []operate.Reason{c.reason}, LeaseEnded: c.ended}, Last: c.last}
		if got := whyTwice(v, now); got != want {
			t.Errorf("%s: got %q, want %q", c.reason, got, want)
		}
	}
}
