package turns_test

import (
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/turns"
)

func TestOneMessageAtATimeWorksOnAKeyAndTheSameWorkEndsAsTheFirst(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var keys turns.Keys[string]

		// Each message is at its place in the batch. They join in this order, because their keys are known in this order.
		batch := []struct {
			index int
			work  turns.Work
		}{
			{2, turns.Work{Key: "a", Fingerprint: "x"}},
			{3, turns.Work{Key: "b", Fingerprint: "x"}},
			{5, turns.Work{Key: "a", Fingerprint: "y"}},
			{4, turns.Work{Key: "a", Fingerprint: "x"}},
			{0, turns.Work{Key: "a", Fingerprint: "y"}},
			{1, turns.Work{Key: "a", Fingerprint: "z"}},
		}
		seats, now := make([]*turns.Seat[string], len(batch)), make([]string, len(batch))

		for i, m := range batch {
			seats[i] = keys.Join(m.index, m.work)

			go func() {
				outcome, isEnded := seats[i].Wait()
				if now[i] = "works"; isEnded {
					now[i] = outcome
				}
			}()
		}

		for step, c := range []struct {
			then func()
			want []string
		}{
			{func() {}, []string{"works", "works", "", "", "", ""}},
			{func() { seats[0].End("done") }, []string{"works", "works", "", "done", "works", ""}}, // the first of the batch is next
			{func() { seats[4].End("failed") }, []string{"works", "works", "failed", "done", "works", "works"}},
			{func() { seats[5].End("refused") }, []string{"works", "works", "failed", "done", "works", "works"}},
		} {
			c.then()
			synctest.Wait()

			if diff := cmp.Diff(c.want, now); diff != "" {
				t.Errorf("step %d (-want +got):\n%s", step, diff)
			}
		}

		for fingerprint, want := range map[string]string{"x": "done", "y": "failed", "z": "refused"} {
			s := keys.Join(6, turns.Work{Key: "a", Fingerprint: fingerprint})
			if outcome, isEnded := s.Wait(); outcome != want || !isEnded || s.Works() {
				t.Errorf("one that joins late with %s: %q, ended: %v", fingerprint, outcome, isEnded)
			}
		}

		if !keys.Join(6, turns.Work{Key: "a", Fingerprint: "w"}).Works() {
			t.Error("other work of a key that is free does not begin")
		}
	})
}
