package planner

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTextIsTheWholeState(t *testing.T) {
	t.Parallel()

	s := newStage(t)
	s.run("z comes until 10s, +1ms, z lands not-now") // pauses
	s.run("x comes until 10s")
	s.run("a comes until 10s, b comes until 10s, +1ms, x lands, a leaves")
	s.run("G joins, G joins, G expects 1, c comes of C in G until 10s, d comes of b until 10s alone, +1ms")

	want := `T 6ms and 5ms
flight for 1ms, counted true, probe false: (#3 of a, left) (#4 of b, 0 tries, 0 of them beside answered ones, 2ms, next pause 25ms, ends in 9.997s, alone false)
group, open 1, members 2, expected 1: (#5 of C, 0 tries, 0 of them beside answered ones, 1ms, next pause 25ms, ends in 9.997s, alone false)
alone: (#6 of b, 0 tries, 0 of them beside answered ones, 1ms, next pause 25ms, ends in 9.997s, alone true)
paused: (#1 of z, 1 tries, 0 of them beside answered ones, -23.000001ms, next pause 50ms, ends in 9.997s, alone false)
`
	if diff := cmp.Diff(want, s.p.Text(s.now)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}

	s = newStage(t)
	s.run("denied, +1m")
	s.p.DenyReads(s.now)

	want = "T 6ms and 5ms, shared requests denied for 4m0s, probing false, reads denied for 5m0s, probing false\n"
	if diff := cmp.Diff(want, s.p.Text(s.now)); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
