package outbox_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
)

func TestSenderFillsRequests(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		service string
		sizes   []int // of the messages, with all that counts
		want    []int // messages of each request
	}{
		"no message, no request":                            {"SQS", nil, nil},
		"ten messages go in one request":                    {"SQS", slices.Repeat([]int{100}, 10), []int{10}},
		"the eleventh message goes in a second request":     {"SNS", slices.Repeat([]int{100}, 11), []int{10, 1}},
		"EventBridge takes ten, too":                        {"EventBridge", slices.Repeat([]int{100}, 21), []int{10, 10, 1}},
		"SQS takes 1 MiB":                                   {"SQS", []int{1 << 19, 1 << 19}, []int{2}},
		"SQS takes no more than 1 MiB":                      {"SQS", []int{1 << 19, 1<<19 + 1}, []int{1, 1}},
		"SNS takes 256 KiB":                                 {"SNS", []int{1 << 17, 1 << 17}, []int{2}},
		"SNS takes no more than 256 KiB":                    {"SNS", []int{1 << 17, 1<<17 + 1}, []int{1, 1}},
		"EventBridge takes less than 1 MB":                  {"EventBridge", []int{500_000, 499_999}, []int{2}},
		"EventBridge does not take 1 MB":                    {"EventBridge", []int{500_000, 500_000}, []int{1, 1}},
		"a message that is too large goes alone":            {"SNS", []int{100, 300 << 10, 100, 100}, []int{1, 1, 2}},
		"a message that is too large goes alone, the first": {"SQS", []int{2 << 20, 100}, []int{1, 1}},
	} {
		s := &services{}

		overhead := len("idemddb-id") + len("String") + len("tx")
		if c.service == "EventBridge" {
			overhead = len("payments") + len("captured") + len("idemddb:") + len("tx")
		}

		var ms []idemddb.Message
		for _, size := range c.sizes {
			ms = append(ms, idemddb.Message{ID: "tx", Body: strings.Repeat("x", size-overhead)})
		}

		answers := s.senders()[c.service].Send(t.Context(), "ledger", ms)
		if len(answers) != len(ms) || slices.ContainsFunc(answers, func(err error) bool { return err != nil }) {
			t.Errorf("%s: answers %v", name, answers)
		}

		var got []int
		for _, bodies := range s.requests {
			got = append(got, len(bodies))
		}

		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s: messages of each request (-want +got):\n%s", name, diff)
		}
	}
}

// Attributes, the id, the sequence and an event's source and detail-type count, too.
func TestSenderCountsWhatItAdds(t *testing.T) {
	t.Parallel()

	const (
		queued = len("tenant"+"String"+"seven") + len("idemddb-id"+"String"+"tx-0") + len("idemddb-sequence"+"Number"+"42")
		event  = len("payments"+"captured") + len("idemddb:tx-0") + len("idemddb-sequence:42")
	)

	for service, left := range map[string]int{
		"SQS": 1<<20 - queued - len("idemddb-id"+"String"+"tx-1"), "SNS": 256<<10 - queued - len("idemddb-id"+"String"+"tx-1"),
		"EventBridge": 999_999 - event - len("payments"+"captured"+"idemddb:tx-1"),
	} {
		for more, want := range []int{1, 2} { // a message that just fits, and one that does not
			ms := messages("", strings.Repeat("x", left+more))
			if ms[0].Sequence = 42; service != "EventBridge" {
				ms[0].Attributes = map[string]string{"tenant": "seven"}
			}

			s := &services{}
			s.senders()[service].Send(t.Context(), "ledger", ms)

			if len(s.requests) != want {
				t.Errorf("%s: %d bytes too many: %d requests, want %d", service, more, len(s.requests), want)
			}
		}
	}
}
