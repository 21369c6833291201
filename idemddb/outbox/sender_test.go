package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/eventbridge"
	eventbridgetypes "github.com/aws/aws-sdk-go-v2/service/eventbridge/types"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	snstypes "github.com/aws/aws-sdk-go-v2/service/sns/types"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	sqstypes "github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

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
		"BatchRequestTooLong", "AWS.SimpleQueueService.BatchRequestTooLong", "RequestEntityTooLarge",
		"RequestEntityTooLargeException", "InvalidMessageContents", "MalformedDetail", "InvalidArgument", "InvalidParameterValueException",
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
		`outbox: ledger: queueURL: must be a queue's URL, as https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, is "https:///1/q"`:              outbox.SQS(s, "https:///1/q"),
		`outbox: ledger: queueURL: must be a queue's URL, as https://sqs.REGION.amazonaws.com/ACCOUNT/NAME, is "https://sqs/"`:              outbox.SQS(s, "https://sqs/"),
		`outbox: ledger: topicARN: must be a topic's ARN, as arn:aws:sns:REGION:ACCOUNT:NAME, is "arn:aws:sns:eu-west-1:1:"`:                outbox.SNS(s, "arn:aws:sns:eu-west-1:1:"),
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

// A sender is made while the program starts. Its first message would be too late to find a client that was never set.
func TestSendersPanicWithoutAClient(t *testing.T) {
	t.Parallel()

	for _, test := range []struct {
		want string
		make func()
	}{
		{"outbox: SQS: api: must not be nil", func() { outbox.SQS(nil, queueURL) }},
		{"outbox: SQS: api: must not be nil", func() { outbox.SQS((*sqs.Client)(nil), queueURL) }},
		{"outbox: SNS: api: must not be nil", func() { outbox.SNS(nil, topicARN) }},
		{"outbox: SNS: api: must not be nil", func() { outbox.SNS((*sns.Client)(nil), topicARN) }},
		{"outbox: EventBridge: api: must not be nil", func() { outbox.EventBridge(nil, "b", "s", "d") }},
		{"outbox: EventBridge: api: must not be nil", func() { outbox.EventBridge((*eventbridge.Client)(nil), "b", "s", "d") }},
	} {
		func() {
			defer func() {
				if got := recover(); got != test.want {
					t.Errorf("panic %v, want %s", got, test.want)
				}
			}()
			test.make()
		}()
	}
}

func TestASweepWithoutAClientIsAMisuse(t *testing.T) {
	t.Parallel()

	for _, api := range []outbox.API{nil, (*dynamodb.Client)(nil)} {
		report, err := outbox.Sweep(t.Context(), newAccount(t).store("payments", "", true), api)
		if !errors.Is(err, idemddb.ErrMisuse) || !strings.Contains(err.Error(), "api: must not be nil") || !report.Incomplete {
			t.Errorf("got %+v, %v, want an ErrMisuse that names the argument", report, err)
		}
	}
}
