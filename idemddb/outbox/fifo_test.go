package outbox_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

func TestFIFOSenderSendsGroupsInOrder(t *testing.T) {
	t.Parallel()

	const heldBack = "outbox: ledger: not tried: message tx-0 stands before it in its message group and is not known to be sent"

	for name, c := range map[string]struct {
		bodies string // the first letter of each is its group; a dash is none
		fails  map[string]failure
		want   []string
		sent   [][]string
	}{
		"one group, one message at a time": {
			"a1 a2 a3", nil, []string{"sent", "sent", "sent"}, [][]string{{"a1"}, {"a2"}, {"a3"}},
		},
		"groups share requests": {
			"a1 a2 b1 b2 c1", nil, slices.Repeat([]string{"sent"}, 5), [][]string{{"a1", "b1", "c1"}, {"a2", "b2"}},
		},
		"messages without a group do not wait for each other": {
			"-1 -2 -3", nil, []string{"sent", "sent", "sent"}, [][]string{{"-1", "-2", "-3"}},
		},
		"a failure stops its group and no other": {
			"a1 a2 b1 b2 a3 -1", map[string]failure{"a1": {"InternalFailure", false}},
			[]string{"kept", "kept", "sent", "sent", "kept", "sent"}, [][]string{{"a1", "b1", "-1"}, {"b2"}},
		},
		"a parked message stops its group, too, and those behind it are kept": {
			"a1 a2 a3", map[string]failure{"a1": {"InvalidParameterValue", true}},
			[]string{"parked", "kept", "kept"}, [][]string{{"a1"}},
		},
		"a message without an answer stops its group": {
			"a1 a2", map[string]failure{"a1": {}}, []string{"kept", "kept"}, [][]string{{"a1"}},
		},
		"a later failure leaves the earlier ones sent": {
			"a1 a2 a3", map[string]failure{"a2": {"InternalFailure", false}},
			[]string{"sent", "kept", "kept"}, [][]string{{"a1"}, {"a2"}},
		},
		"more than ten groups": {
			"a1 b1 c1 d1 e1 f1 g1 h1 i1 a2 j1 k1", nil, slices.Repeat([]string{"sent"}, 12),
			[][]string{{"a1", "b1", "c1", "d1", "e1", "f1", "g1", "h1", "i1", "j1"}, {"a2", "k1"}},
		},
	} {
		ms := messages(strings.Fields(c.bodies)...)
		for i := range ms {
			ms[i].Group = strings.TrimPrefix(ms[i].Body[:1], "-")
		}

		s := &services{}

		for service, sender := range map[string]idemddb.Sender{"SQS": outbox.SQS(s, queueURL+".fifo"), "SNS": outbox.SNS(s, topicARN+".fifo")} {
			*s = services{fails: c.fails}

			answers := sender.Send(t.Context(), "ledger", ms)
			if diff := cmp.Diff(c.want, became(answers)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", service, name, diff)
			}

			if diff := cmp.Diff(c.sent, s.requests); diff != "" {
				t.Errorf("%s: %s: requests (-want +got):\n%s", service, name, diff)
			}

			if c.want[0] != "sent" && answers[1].Error() != heldBack {
				t.Errorf("%s: %s: answer %q, want %q", service, name, answers[1], heldBack)
			}
		}
	}
}

// Whatever fails: each message has an answer, is sent at most once, and is sent only if all before it in its group were accepted.
func TestFIFOSenderNeverOvertakes(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		s := &services{fails: map[string]failure{}}

		ms := messages(rapid.SliceOfNDistinct(rapid.StringMatching(`[a-z]{4}`), 0, 40, rapid.ID).Draw(t, "bodies")...)
		for i := range ms {
			ms[i].Group = rapid.SampledFrom([]string{"", "a", "b", "c"}).Draw(t, "group")
			if rapid.IntRange(0, 9).Draw(t, "fails") == 0 {
				s.fails[ms[i].Body] = rapid.SampledFrom([]failure{{}, {"InternalFailure", false}, {"Bad", true}}).Draw(t, "failure")
			}
		}

		answers := became(outbox.SQS(s, queueURL+".fifo").Send(t.Context(), "ledger", ms))
		if len(answers) != len(ms) {
			t.Fatalf("%d answers for %d messages", len(answers), len(ms))
		}

		requests := slices.Concat(s.requests...)
		stopped := map[string]bool{}
		last := map[string]int{} // the request of a group's last message

		for i, m := range ms {
			_, fails := s.fails[m.Body]
			tried := slices.Contains(requests, m.Body)

			if tried == stopped[m.Group] || (answers[i] == "sent") != (tried && !fails) {
				t.Fatalf("message %d: tried: %v, its group is stopped: %v, answer %s", i, tried, stopped[m.Group], answers[i])
			}

			if m.Group == "" {
				continue
			}

			stopped[m.Group] = stopped[m.Group] || fails

			if n := slices.IndexFunc(s.requests, func(bodies []string) bool { return slices.Contains(bodies, m.Body) }); tried {
				if before, ok := last[m.Group]; ok && n <= before {
					t.Fatalf("message %d went in request %d, the one before it in its group in request %d", i, n, before)
				}

				last[m.Group] = n
			}
		}

		if slices.Sort(requests); len(slices.Compact(slices.Clone(requests))) != len(requests) {
			t.Fatalf("a message was sent twice: %v", s.requests)
		}
	})
}
