package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	eventbridgetypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

var digits = strings.Split("0123456789", "")

// What one message of a request becomes, whatever the service.
func TestSenderMatchesAnswersWithMessages(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		fails map[string]failure
		want  []string
	}{
		"all messages are accepted":                    {nil, []string{"sent", "sent", "sent"}},
		"one message fails at the service":             {map[string]failure{"b": {"InternalFailure", false}}, []string{"sent", "kept", "sent"}},
		"one message is refused as the sender's fault": {map[string]failure{"a": {"InvalidArgument", true}}, []string{"parked", "sent", "sent"}},
		"each message has another answer": {
			map[string]failure{"b": {"InternalFailure", false}, "c": {"InvalidArgument", true}}, []string{"sent", "kept", "parked"},
		},
		"the answer leaves one message out":  {map[string]failure{"c": {}}, []string{"sent", "sent", "kept"}},
		"the answer leaves all messages out": {map[string]failure{"a": {}, "b": {}, "c": {}}, []string{"kept", "kept", "kept"}},
		"a throttled message is kept":        {map[string]failure{"a": {"ThrottlingException", true}}, []string{"kept", "sent", "sent"}},
		"a message that is denied is kept":   {map[string]failure{"a": {"AccessDeniedException", true}}, []string{"kept", "sent", "sent"}},
		"a source that is denied is kept":    {map[string]failure{"a": {"NotAuthorizedForSourceException", true}}, []string{"kept", "sent", "sent"}},
		"a message without its key is kept":  {map[string]failure{"a": {"KmsDisabled", true}}, []string{"kept", "sent", "sent"}},
		"a message to no target is parked":   {map[string]failure{"a": {"ResourceNotFoundException", true}}, []string{"parked", "sent", "sent"}},
	} {
		for _, service := range senderNames {
			s := &services{fails: c.fails}

			got := became(s.senders()[service].Send(t.Context(), "ledger", messages("a", "b", "c")))
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", service, name, diff)
			}

			if diff := cmp.Diff([][]string{{"a", "b", "c"}}, s.requests); diff != "" {
				t.Errorf("%s: %s: requests (-want +got):\n%s", service, name, diff)
			}
		}
	}
}

// SQS and SNS say whose fault a failure is. EventBridge does not, and its unknown codes are not permanent.
func TestSenderTrustsSenderFault(t *testing.T) {
	t.Parallel()

	for service, want := range map[string]string{"SQS": "parked", "SNS": "parked", "EventBridge": "kept"} {
		s := &services{fails: map[string]failure{"a": {"Novel", true}}}
		if got := became(s.senders()[service].Send(t.Context(), "ledger", messages("a"))); got[0] != want {
			t.Errorf("%s: a new code of the sender's fault: %s, want %s", service, got[0], want)
		}
	}

	for service, want := range map[string]string{"SQS": "kept", "SNS": "kept", "EventBridge": "parked"} {
		s := &services{fails: map[string]failure{"a": {"InvalidArgument", false}}}
		if got := became(s.senders()[service].Send(t.Context(), "ledger", messages("a"))); got[0] != want {
			t.Errorf("%s: a known code, not of the sender's fault: %s, want %s", service, got[0], want)
		}
	}
}

// An error of a whole request is the answer for each of its messages.
func TestSenderOfRefusedRequest(t *testing.T) {
	t.Parallel()

	code := func(code string) error { return &smithy.GenericAPIError{Code: code, Fault: smithy.FaultClient} }

	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"SQS has no such queue":                  {&sqstypes.QueueDoesNotExist{}, "parked"},
		"SQS has no such queue, by its old code": {code("AWS.SimpleQueueService.NonExistentQueue"), "parked"},
		"SNS has no such topic":                  {&snstypes.NotFoundException{}, "parked"},
		"EventBridge has no such bus":            {&eventbridgetypes.ResourceNotFoundException{}, "parked"},
		"access is denied":                       {code("AccessDenied"), "kept"},
		"SNS denies access":                      {&snstypes.AuthorizationErrorException{}, "kept"},
		"the request is throttled":               {&sqstypes.RequestThrottled{}, "kept"},
		"the topic is throttled":                 {&snstypes.ThrottledException{}, "kept"},
		"the key is not there":                   {&sqstypes.KmsNotFound{}, "kept"},
		"credentials have expired":               {code("ExpiredToken"), "kept"},
		"a code that nobody knows":               {code("Novel"), "kept"},
		"the service is down":                    {&smithy.GenericAPIError{Code: "ServiceUnavailable", Fault: smithy.FaultServer}, "kept"},
		"the network is down":                    {io.ErrUnexpectedEOF, "kept"},
	} {
		for _, service := range senderNames {
			s := &services{refuse: func([]string) error { return fmt.Errorf("operation error: %w", c.err) }}

			answers := s.senders()[service].Send(t.Context(), "ledger", messages("a", "b"))
			if diff := cmp.Diff([]string{c.want, c.want}, became(answers)); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", service, name, diff)
			}

			if !errors.Is(answers[1], c.err) || !strings.HasPrefix(answers[1].Error(), "outbox: ledger: ") {
				t.Errorf("%s: %s: %v", service, name, answers[1])
			}

			if len(s.requests) != 1 {
				t.Errorf("%s: %s: requests %v, want one", service, name, s.requests)
			}
		}
	}
}

// A message that makes a service refuse the whole request is parked alone.
func TestSenderSendsMessagesOfInvalidRequestAlone(t *testing.T) {
	t.Parallel()

	for _, code := range []string{
		"BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", "RequestEntityTooLarge", "InvalidMessageContents",
		"InvalidAttributeName", "InvalidAttributeValue", "InvalidParameter", "InvalidParameterValue", "ParameterValueInvalid",
		"ValidationError", "ValidationException",
	} {
		for _, service := range senderNames {
			s := &services{refuse: func(bodies []string) error {
				if slices.Contains(bodies, "b") {
					return &smithy.GenericAPIError{Code: code, Fault: smithy.FaultClient}
				}

				return nil
			}}

			got := became(s.senders()[service].Send(t.Context(), "ledger", messages("a", "b", "c")))
			if diff := cmp.Diff([]string{"sent", "parked", "sent"}, got); diff != "" {
				t.Errorf("%s: %s (-want +got):\n%s", service, code, diff)
			}

			if diff := cmp.Diff([][]string{{"a", "b", "c"}, {"a"}, {"b"}, {"c"}}, s.requests); diff != "" {
				t.Errorf("%s: %s: requests (-want +got):\n%s", service, code, diff)
			}
		}
	}
}

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

		var ms []idemddb.StoredMessage
		for _, size := range c.sizes {
			ms = append(ms, idemddb.StoredMessage{ID: "tx", Message: idemddb.Message{Body: strings.Repeat("x", size-overhead)}})
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

func TestSenderStopsWhenItsTimeIsOver(t *testing.T) {
	t.Parallel()

	for _, service := range senderNames {
		ctx, cancel := context.WithCancel(t.Context())
		s := &services{}
		s.refuse = func([]string) error { cancel(); return nil } // its answer still arrives

		answers := s.senders()[service].Send(ctx, "ledger", messages(append(digits, "10")...))
		if got := became(answers); len(s.requests) != 1 || got[9] != "sent" || got[10] != "kept" || !errors.Is(answers[10], context.Canceled) {
			t.Errorf("%s: %d requests, answers %v", service, len(s.requests), answers)
		}
	}
}

// A wrong address loses no message: it is kept until a version with the right one sends it.
func TestSenderKeepsMessagesForWrongAddress(t *testing.T) {
	t.Parallel()

	s := &services{}

	for want, sender := range map[string]idemddb.Sender{
		`outbox: ledger: queueURL: must be a queue's URL, as https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, is "arn:aws:sqs:eu-west-1:1:q"`: outbox.SQS(s, "arn:aws:sqs:eu-west-1:1:q"),
		`outbox: ledger: queueURL: must be a queue's URL, as https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, is ""`:                          outbox.SQS(s, ""),
		`outbox: ledger: topicARN: must be a topic's ARN, as arn:aws:sns:REGION:ACCOUNT:NAME, is "ledger"`:                                  outbox.SNS(s, "ledger"),
		`outbox: ledger: topicARN: must be a topic's ARN, as arn:aws:sns:REGION:ACCOUNT:NAME, is "arn:aws:sqs:eu-west-1:1:q"`:               outbox.SNS(s, "arn:aws:sqs:eu-west-1:1:q"),
		`outbox: ledger: bus: must not be empty; the account's default event bus has the name "default"`:                                    outbox.EventBridge(s, "", "s", "d"),
		`outbox: ledger: source: must not be empty`:     outbox.EventBridge(s, "b", "", "d"),
		`outbox: ledger: detailType: must not be empty`: outbox.EventBridge(s, "b", "s", ""),
	} {
		answers := sender.Send(t.Context(), "ledger", messages("a", "b"))
		if len(answers) != 2 || answers[0].Error() != want || answers[1].Error() != want || errors.Is(answers[0], outbox.ErrPermanent) {
			t.Errorf("got %v, want %s", answers, want)
		}
	}

	if len(s.requests) != 0 {
		t.Errorf("requests: %v", s.requests)
	}
}

func TestSenderPanicsWithoutClient(t *testing.T) {
	t.Parallel()

	for want, f := range map[string]func(){
		"outbox: SQS: api: must not be nil":         func() { outbox.SQS(nil, queueURL) },
		"outbox: SNS: api: must not be nil":         func() { outbox.SNS(nil, topicARN) },
		"outbox: EventBridge: api: must not be nil": func() { outbox.EventBridge(nil, "b", "s", "d") },
	} {
		func() {
			defer func() {
				if got := recover(); got != want {
					t.Errorf("panic %v, want %s", got, want)
				}
			}()
			f()
		}()
	}
}

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
