package idemotel_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestSpansAndMetricsNameTheVersionOfThisModule(t *testing.T) {
	t.Parallel()

	s := newStation(t)
	s.invoke(s.open(idemddb.Options{}), succeed, message("p-1"))

	if got := s.ended("id of p-1").InstrumentationScope().Version; got == "" {
		t.Error("the scope of the spans has no version")
	}

	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(t.Context(), &all); err != nil {
		t.Fatal(err)
	}

	for _, of := range all.ScopeMetrics {
		if of.Scope.Version == "" {
			t.Error("the scope of the metrics has no version")
		}
	}
}

func TestEachMessageHasASpanOfItsOwn(t *testing.T) {
	t.Parallel()

	s := newStation(t)
	store := s.open(idemddb.Options{})

	s.invoke(store, func(ctx context.Context, _ events.SQSMessage) error {
		_, span := s.tracer.Tracer("test").Start(ctx, "charge")
		span.End()

		return nil
	}, message("p-1"), message("p-2"))

	var invocation trace.SpanContext

	for _, span := range s.spans.Ended() {
		if span.Name() == "invocation" {
			invocation = span.SpanContext()
		}
	}

	for _, body := range []string{"p-1", "p-2"} {
		span := s.ended("id of " + body)

		if span.Parent().SpanID() != invocation.SpanID() {
			t.Errorf("%s: its span is a child of %v, want the invocation's %v", body, span.Parent().SpanID(), invocation.SpanID())
		}

		if span.Name() != "process payments" || span.SpanKind() != trace.SpanKindConsumer {
			t.Errorf("%s: span %q of kind %v", body, span.Name(), span.SpanKind())
		}

		got := map[string]string{}
		for _, a := range span.Attributes() {
			got[string(a.Key)] = a.Value.String()
		}

		if diff := cmp.Diff(map[string]string{
			"faas.trigger": "pubsub", "messaging.system": "aws_sqs", "messaging.operation.type": "process",
			"messaging.operation.name": "process", "messaging.destination.name": "payments", "messaging.message.id": "id of " + body,
			"idemddb.outcome": "completed",
		}, got); diff != "" {
			t.Errorf("%s: attributes (-want +got):\n%s", body, diff)
		}

		children := 0

		for _, other := range s.spans.Ended() {
			if other.Name() == "charge" && other.Parent().SpanID() == span.SpanContext().SpanID() {
				children++
			}
		}

		if children != 1 {
			t.Errorf("%s: %d spans of its handler are its children, want 1", body, children)
		}
	}
}

// A message that has no span is a gap in every trace, so each way in which a message can end is tried.
func TestTheSpanOfAMessageHasItsOutcomeAndIsAnErrorOnlyForAFailure(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		before func(s *station, store *idemddb.Store)
		work   lambdawrap.Handler
		want   lambdawrap.Outcome
		status codes.Code
	}{
		"the work is done":       {nil, succeed, lambdawrap.OutcomeCompleted, codes.Unset},
		"the work fails":         {nil, fail, lambdawrap.OutcomeReleased, codes.Error},
		"the work fails forever": {nil, func(context.Context, events.SQSMessage) error { return lambdawrap.Permanent(errBank) }, lambdawrap.OutcomeFailed, codes.Error},
		"the work panics":        {nil, func(context.Context, events.SQSMessage) error { panic(errBank) }, lambdawrap.OutcomeReleased, codes.Error},
		"the work was done before": {func(s *station, store *idemddb.Store) {
			s.invoke(store, succeed, message("p-1"))
		}, fail, lambdawrap.OutcomeReplayed, codes.Unset},
		"another worker holds the key": {func(s *station, store *idemddb.Store) {
			if _, _, err := store.Claim(s.Context(), "p-1", nil); err != nil {
				s.Fatal(err)
			}
		}, fail, lambdawrap.OutcomeInProgress, codes.Unset},
		"the key failed for good before": {func(s *station, store *idemddb.Store) {
			s.invoke(store, func(context.Context, events.SQSMessage) error { return lambdawrap.Permanent(errBank) }, message("p-1"))
		}, succeed, lambdawrap.OutcomeRefused, codes.Error},
		"the key was used for another input": {func(s *station, store *idemddb.Store) {
			s.opts.Fingerprint = func(_ context.Context, m events.SQSMessage) (string, error) { return m.MessageId, nil }

			claim, record, err := store.Claim(s.Context(), "p-1", &idemddb.ClaimOptions{Fingerprint: "another"})
			if claim == nil {
				s.Fatalf("got record %v, error %v, want a claim", record, err)
			}

			if err := claim.Complete(s.Context(), nil); err != nil {
				s.Fatal(err)
			}
		}, succeed, lambdawrap.OutcomeMismatch, codes.Error},
		"the message has no key": {func(s *station, _ *idemddb.Store) {
			s.opts.Key = func(context.Context, events.SQSMessage) (string, error) { return "", nil }
		}, succeed, lambdawrap.OutcomeNoKey, codes.Error},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newStation(t)
			store := s.open(idemddb.Options{})

			if c.before != nil {
				c.before(s, store)
				s.reset()
			}

			s.invoke(store, c.work, message("p-1"))

			span := s.ended("id of p-1")
			if got := valueOf(span, "idemddb.outcome"); got != string(c.want) || span.Status().Code != c.status {
				t.Errorf("outcome %q and status %v, want %q and %v", got, span.Status().Code, c.want, c.status)
			}

			wantType := ""
			if c.status == codes.Error {
				wantType = string(c.want)
			}

			if got := valueOf(span, "error.type"); got != wantType {
				t.Errorf("error.type %q, want %q", got, wantType)
			}
		})
	}
}

// Of the outcomes that need a fault of the table or of time, the status is looked at alone.
func TestTheStatusOfEachOtherOutcome(t *testing.T) {
	t.Parallel()

	for outcome, want := range map[lambdawrap.Outcome]codes.Code{
		lambdawrap.OutcomeBlocked: codes.Unset, lambdawrap.OutcomeNoTime: codes.Unset, lambdawrap.OutcomeEmpty: codes.Unset,
		lambdawrap.OutcomeUnrecorded: codes.Error, lambdawrap.OutcomeFenced: codes.Error, lambdawrap.OutcomeUnanswered: codes.Error,
		lambdawrap.OutcomeCorrupt: codes.Error, lambdawrap.OutcomeUncommitted: codes.Error, lambdawrap.OutcomeUnsent: codes.Error,
		lambdawrap.OutcomeLate: codes.Error,
	} {
		t.Run(string(outcome), func(t *testing.T) {
			t.Parallel()

			s := newStation(t)
			opts := s.tel.MessageOptions(nil)
			opts.OnMessage(opts.MessageContext(t.Context(), message("p-1")), message("p-1"), outcome)

			if got := s.ended("id of p-1").Status().Code; got != want {
				t.Errorf("status %v, want %v", got, want)
			}
		})
	}
}

func TestBatchHasASpanForEachMessageToo(t *testing.T) {
	t.Parallel()

	s := newStation(t)
	function := lambdawrap.Batch(s.open(idemddb.Options{}), func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
		return events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{{ItemIdentifier: "id of p-2"}}}, nil
	}, s.tel.MessageOptions(&s.opts))

	for range 2 {
		s.reset()

		if _, err := function(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message("p-1"), message("p-2")}}); err != nil {
			t.Fatal(err)
		}
	}

	got := []string{valueOf(s.ended("id of p-1"), "idemddb.outcome"), valueOf(s.ended("id of p-2"), "idemddb.outcome")}
	if want := []string{"replayed", "released"}; !slices.Equal(got, want) {
		t.Errorf("outcomes %q, want %q", got, want)
	}
}

// What is private stays out of every span and every metric, also where it stands in the text of an error.
func TestNoAttributeHoldsTheKeyOrTheBody(t *testing.T) {
	t.Parallel()

	const secret = "jane@example.org"

	s := newStation(t)
	store := s.open(idemddb.Options{MaxAttempts: 2})
	leak := func(_ context.Context, m events.SQSMessage) error { return errors.New("paying for " + m.Body) }
	m := message(secret)
	m.MessageId = "m-1"

	for _, work := range []lambdawrap.Handler{leak, leak, leak, succeed} {
		s.invoke(store, work, m, message("p-1"))
	}

	if _, _, err := store.Claim(t.Context(), secret+" died", nil); err != nil {
		t.Fatal(err)
	}

	s.clock.Advance(time.Minute)
	m.Body += " died"
	s.invoke(store, func(context.Context, events.SQSMessage) error { panic("no money for " + m.Body) }, m)

	if len(s.spans.Ended()) < 9 {
		t.Fatalf("%d spans, too few to prove anything", len(s.spans.Ended()))
	}

	for _, span := range s.spans.Ended() {
		for _, link := range span.Links() {
			s.public(secret, "link of "+span.Name(), link.Attributes)
		}

		for _, event := range span.Events() {
			s.public(secret, "event of "+span.Name(), event)
		}

		s.public(secret, "span", span.Name(), span.Attributes(), span.Status(), span.SpanContext().TraceState())
	}

	s.public(secret, "metrics", s.collected())
}

// public demands that nothing in these values holds the secret.
func (s *station) public(secret, what string, values ...any) {
	s.Helper()

	for _, v := range values {
		if text := dump(v); strings.Contains(text, secret) {
			s.Errorf("%s: %s", what, text)
		}
	}
}
