package schedule_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/schedule"
)

// script is a history of one batch. Each line is what happens, an arrow, and the actions that follow:
//
//	found 0 a, found 1 b:x => expect 2, claim 0, claim 1
//
// "found 1 b:x" says that the key of message 1 is b, with the fingerprint x. "+150us" lets time pass. "ran 0" says that the
// handler of message 0 returned without an effect that is not recorded, "effect 0" that it had one. "longest 1s" is how long an
// earlier handler took. "rests" demands that the schedule is not to be called at a later time.
type script struct {
	name  string
	batch schedule.Config
	lines string
}

// messages returns messages that are written as their groups; "-" has none, and "!" needs no claim.
func messages(text string) (all []schedule.Message) {
	for word := range strings.FieldsSeq(text) {
		switch word {
		case "-":
			all = append(all, schedule.Message{})
		case "!":
			all = append(all, schedule.Message{Unclaimed: true})
		default:
			all = append(all, schedule.Message{Group: word})
		}
	}

	return all
}

var start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// until returns the time of an invocation in which handlers may start for this long.
func until(d, timeout time.Duration) schedule.Time {
	return schedule.Time{Begun: start, End: start.Add(d), Timeout: timeout}
}

func run(t *testing.T, scripts []script) {
	t.Helper()
	t.Parallel()

	for _, c := range scripts {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			h := &history{T: t, schedule: schedule.New(c.batch), now: start}

			for line := range strings.Lines(c.lines) {
				if line = strings.TrimSpace(line); line != "" {
					h.line(line)
				}
			}
		})
	}
}

type history struct {
	*testing.T

	schedule *schedule.Schedule
	now      time.Time
	happened bool // an event whose actions are not taken yet
}

func (h *history) line(line string) {
	h.Helper()

	happens, want, _ := strings.Cut(line, "=>")

	for event := range strings.SplitSeq(happens, ",") {
		h.event(strings.Fields(event))
	}

	if diff := cmp.Diff(strings.TrimSpace(want), h.actions()); diff != "" {
		h.Fatalf("%s (-want +got):\n%s", line, diff)
	}
}

func (h *history) event(words []string) {
	h.Helper()

	if d, ok := strings.CutPrefix(words[0], "+"); ok {
		at := h.schedule.Wake(h.now)

		if h.now = h.now.Add(h.duration(d)); !at.IsZero() && !at.After(h.now) {
			h.schedule.Tick(h.now)
			h.happened = true
		}

		return
	}

	h.happened = h.happened || words[0] != "longest"

	i := 0
	if len(words) > 1 {
		i, _ = strconv.Atoi(words[1])
	}

	s := h.schedule

	switch words[0] {
	case "found":
		key, fingerprint, _ := strings.Cut(words[2], ":")
		s.Found(i, schedule.Work{Key: key, Fingerprint: fingerprint})
	case "keyless":
		s.Keyless(i)
	case "split":
		n, _ := strconv.Atoi(words[2])
		if first, ok := s.Split(i, n); fmt.Sprint(first, ok) != words[3]+" "+words[4] {
			h.Fatalf("split %d: %d, %v", i, first, ok)
		}
	case "longest":
		s.Longest = h.duration(words[1])
	case "ran", "effect":
		s.Ran(h.now, i, words[0] == "effect")
	case "fails":
		s.Failed(i)
	case "settled", "unwritten":
		s.Settled(i, words[0] == "settled")
	case "finished", "failed":
		s.Finished(i, words[0] == "failed", words[0] == "finished")
	case "call":
		s.Call(h.now)
	default:
		h.plain(words[0], i)
	}
}

// plain does the events that are written as their methods.
func (h *history) plain(name string, i int) {
	h.Helper()

	events := map[string]func(int){
		"claimed": h.schedule.Claimed, "waits": h.schedule.Waits, "again": h.schedule.Again, "try-failed": h.schedule.TryFailed,
		"hook": h.schedule.Hook, "hooked": h.schedule.Hooked,
	}
	whole := map[string]func(){"stop": h.schedule.Stop, "called": h.schedule.Called, "rests": h.rests}

	switch {
	case events[name] != nil:
		events[name](i)
	case whole[name] != nil:
		whole[name]()
	default:
		h.Fatalf("there is no event %q", name)
	}
}

func (h *history) rests() {
	h.Helper()

	if at := h.schedule.Wake(h.now); !at.IsZero() {
		h.Errorf("it wants to be called in %v", at.Sub(h.now))
	}
}

func (h *history) duration(text string) time.Duration {
	h.Helper()

	d, err := time.ParseDuration(text)
	if err != nil {
		h.Fatal(err)
	}

	return d
}

// actions returns the actions as a text.
func (h *history) actions() string {
	var texts []string

	if !h.happened {
		return ""
	}

	h.happened = false

	for _, a := range h.schedule.Actions(h.now) {
		switch a.Kind {
		case schedule.Expect, schedule.Warn:
			texts = append(texts, fmt.Sprintf("%s %d", a.Kind, a.Other))
		case schedule.Same, schedule.Blocked:
			texts = append(texts, fmt.Sprintf("%s %d as %d", a.Kind, a.Message, a.Other))
		case schedule.Stop, schedule.Late, schedule.Idle:
			texts = append(texts, string(a.Kind))
		default:
			texts = append(texts, fmt.Sprintf("%s %d", a.Kind, a.Message))
		}
	}

	return strings.Join(texts, ", ")
}
