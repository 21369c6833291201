package planner

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestTextIsTheWholeState(t *testing.T) {
	t.Parallel()

	s := newStage(t)
	s.run("z comes until 10s, +1ms, z lands not-now") // pauses
	s.run("x comes until 10s")
	s.run("a comes until 10s, b comes until 10s, +1ms, x lands, a leaves")
	s.run("G joins, G joins, G expects 1, c comes of C in G until 10s, d comes of b until 10s alone, +1ms")

	want := `T 6ms and 5ms, 0 times read first
flight for 1ms, counted true, probe false, repeated 0 times: (#3 of a, left) (#4 of b, 0 tries, 0 of them beside answered ones, 2ms, next pause 25ms, ends in 9.997s, alone false, seen false)
group, open 1, members 2, expected 1: (#5 of C, 0 tries, 0 of them beside answered ones, 1ms, next pause 25ms, ends in 9.997s, alone false, seen false)
alone: (#6 of b, 0 tries, 0 of them beside answered ones, 1ms, next pause 25ms, ends in 9.997s, alone true, seen false)
paused: (#1 of z, 1 tries, 0 of them beside answered ones, -23.000001ms, next pause 50ms, ends in 9.997s, alone false, seen false)
`
	if diff := cmp.Diff(want, s.p.Text(s.now)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	s = newStage(t)
	s.run("denied, +1m")
	s.p.DenyReads(s.now)

	want = "T 6ms and 5ms, 0 times read first, shared requests denied for 4m0s, probing false, reads denied for 5m0s, probing false\n"
	if diff := cmp.Diff(want, s.p.Text(s.now)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	s = newStage(t)

	write := func(record string) *Write {
		return &Write{Policy: Policy{End: s.now.Add(time.Second)}, Record: record, Group: &Group{}, Joint: &Joint{}}
	}

	f := s.p.Submit(s.now, write("a"))
	f.MayRepeat = true
	s.p.Land(s.now, f, []Answer{NotNow}, 1)

	s.p.Submit(s.now, write("b"))
	f = s.p.Ready(s.now).Flights[0]
	f.HasMetEnded, f.Conflicts = true, []string{"x"}
	s.p.Land(s.now, f, []Answer{AtOnce}, 1)

	want = `T 6ms and 5ms, 10 times read first
gate opens in 50ms, hot items in a flight 1, hot: x for 320ms
flight for 0s, counted true, probe false, repeated 1 times, sent once more in 25.000001ms: (#1 of a, 1 tries, 0 of them beside answered ones, 0s, next pause 0s, ends in 1s, alone false, seen false)
group, open 1, members 0, expected 0: (#2 of b, 1 tries, 0 of them beside answered ones, 0s, next pause 25ms, ends in 1s, alone false, seen true)
`
	if diff := cmp.Diff(want, s.p.Text(s.now)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
