package idemotel_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemotel"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// linked returns a span's links as "trace id-span id kind".
func linked(span sdktrace.ReadOnlySpan) (texts []string) {
	for _, l := range span.Links() {
		kind := ""
		for _, a := range l.Attributes {
			kind += " " + a.Value.String()
		}

		texts = append(texts, l.SpanContext.TraceID().String()+"-"+l.SpanContext.SpanID().String()+kind)
	}

	return texts
}

func name(c trace.SpanContext) string { return c.TraceID().String() + "-" + c.SpanID().String() }

func (s *station) linkedTo(span sdktrace.ReadOnlySpan, want ...string) {
	s.Helper()

	if got := linked(span); !slices.Equal(got, want) {
		s.Errorf("links %q, want %q", got, want)
	}
}

func TestAReplayAndATakeoverAreLinkedToTheRunThatTheyStandFor(t *testing.T) {
	t.Parallel()

	for _, opts := range []idemddb.Options{{}, {Single: true}, {Cache: 10}, {MaxAttempts: 5}} {
		for _, optimistic := range []bool{false, true} {
			t.Run(fmt.Sprintf("single %t, cache %d, attempts %d, optimistic %t", opts.Single, opts.Cache, opts.MaxAttempts, optimistic), func(t *testing.T) {
				t.Parallel()

				s := newStation(t)
				s.opts.Optimistic = optimistic
				store := s.open(opts)
				work := func(ctx context.Context, _ events.SQSMessage) error { return idemddb.Stage(ctx, idemddb.Effects{}) }

				ctx, died := s.tracer.Tracer("test").Start(t.Context(), "a worker that dies")
				if _, _, err := store.Claim(ctx, "p-1", nil); err != nil {
					t.Fatal(err)
				}

				s.clock.Advance(time.Minute)

				redelivered := message("p-1")
				redelivered.Attributes["ApproximateReceiveCount"] = "2"
				s.invoke(store, work, redelivered)

				takeover := s.ended("id of p-1")
				s.linkedTo(takeover, name(died.SpanContext())+" takeover")

				s.reset()
				s.invoke(store, work, redelivered)
				s.linkedTo(s.ended("id of p-1"), name(takeover.SpanContext())+" replayed")

				s.reset()
				s.invoke(store, work, message("p-2"))
				s.linkedTo(s.ended("id of p-2")) // a first run stands for itself
			})
		}
	}
}

// A caller of Do has a span of its own, which gets the links.
func TestTheSpanOfACallerOfDoIsLinked(t *testing.T) {
	t.Parallel()

	s := newStation(t)
	store := s.open(idemddb.Options{})

	for range 2 {
		ctx, span := s.tracer.Tracer("test").Start(t.Context(), "order")
		if _, err := idemddb.Do(ctx, store, "p-1", nil, func(context.Context) (int, error) { return 1, nil }); err != nil {
			t.Fatal(err)
		}

		span.End()
	}

	ended := s.spans.Ended()
	s.linkedTo(ended[0])
	s.linkedTo(ended[1], name(ended[0].SpanContext())+" replayed")
}

// A record may hold what another program's Options.Trace wrote, or what somebody damaged.
func TestATraceOfTheRecordThatCannotBeReadIsNoLink(t *testing.T) {
	t.Parallel()

	for _, text := range []string{
		"", "run-1", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7", "00-00000000000000000000000000000000-00f067aa0ba902b7-01",
		"ff-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01", "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-zz", "----",
	} {
		t.Run(text, func(t *testing.T) {
			t.Parallel()

			s := newStation(t)
			other := s.openBare(&idemddb.Options{Trace: func(context.Context) string { return text }})

			if failed := s.invoke(other, succeed, message("p-1")); len(failed) > 0 {
				t.Fatal(failed)
			}

			s.reset()

			if failed := s.invoke(s.open(idemddb.Options{}), fail, message("p-1")); len(failed) > 0 {
				t.Errorf("come back: %v", failed)
			}

			s.linkedTo(s.ended("id of p-1"))
		})
	}
}

func TestAMessageIsLinkedToItsProducer(t *testing.T) {
	t.Parallel()

	const (
		w3c  = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
		xray = "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1"

		byW3C  = "0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7"
		byXRay = "5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8"
	)

	for name, c := range map[string]struct {
		traceparent, xray string
		want              []string
	}{
		"a traceparent":                         {w3c, "", []string{byW3C}},
		"a header of X-Ray":                     {"", xray, []string{byXRay}},
		"both: what the producer wrote":         {w3c, xray, []string{byW3C}},
		"a traceparent that cannot be read":     {"00-no-no-01", xray, []string{byXRay}},
		"a header in another order, with more":  {"", "Lineage=a:0|b:1; Sampled=0;Parent=53995c3f42cd8ad8;Root=1-5759e988-bd862e3fe1be46a994272793", []string{byXRay}},
		"a header without a parent":             {"", "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1", nil},
		"a header of another version":           {"", "Root=2-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8", nil},
		"a header whose ids are not ids":        {"", "Root=1-5759e988-bd862e3fe1be46a99427279x;Parent=53995c3f42cd8ad8", nil},
		"a header whose root has too many bits": {"", "Root=1-5759e988-bd862e3fe1be46a994272793-1;Parent=53995c3f42cd8ad8", nil},
		"a header that is none":                 {"", ";;=;Root;Root=;Parent=1", nil},
		"nothing":                               {"", "", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newStation(t)
			m := message("p-1")

			if c.traceparent != "" {
				m.MessageAttributes["traceparent"] = events.SQSMessageAttribute{DataType: "String", StringValue: &c.traceparent}
			}

			if c.xray != "" {
				m.Attributes["AWSTraceHeader"] = c.xray
			}

			s.invoke(s.open(idemddb.Options{}), succeed, m, message("p-2"))

			span := s.ended("id of p-1")
			s.linkedTo(span, c.want...)

			if span.Parent().TraceID() != span.SpanContext().TraceID() || slices.Contains(c.want, span.Parent().TraceID().String()) {
				t.Errorf("the producer is its parent: %v", span.Parent())
			}

			s.linkedTo(s.ended("id of p-2")) // no link to another message's producer
		})
	}
}

func TestTheLinkToAProducerKeepsWhetherItIsSampled(t *testing.T) {
	t.Parallel()

	for header, want := range map[string]bool{
		"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1": true,
		"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=0": false,
		"Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8":           false,
	} {
		s := newStation(t)
		m := message("p-1")
		m.Attributes["AWSTraceHeader"] = header
		s.invoke(s.open(idemddb.Options{}), succeed, m)

		if l := s.ended("id of p-1").Links()[0].SpanContext; l.IsSampled() != want || !l.IsRemote() {
			t.Errorf("%s: sampled %t, remote %t", header, l.IsSampled(), l.IsRemote())
		}
	}
}

func TestTraceIsTheTraceparentOfTheContextsSpan(t *testing.T) {
	t.Parallel()

	if got := idemotel.Trace(t.Context()); got != "" {
		t.Errorf("without a span: %q, want none", got)
	}

	for sampler, flags := range map[sdktrace.Sampler]string{sdktrace.AlwaysSample(): "01", sdktrace.NeverSample(): "00"} {
		ctx, span := sdktrace.NewTracerProvider(sdktrace.WithSampler(sampler)).Tracer("test").Start(t.Context(), "order")
		if got, want := idemotel.Trace(ctx), "00-"+name(span.SpanContext())+"-"+flags; got != want {
			t.Errorf("%s: got %q, want %q", sampler.Description(), got, want)
		}
	}
}

// A trace that is not sampled costs no work its answer.
func TestASpanThatIsNotSampledChangesNothing(t *testing.T) {
	t.Parallel()

	s := newStation(t)

	tel, err := idemotel.New(&idemotel.Options{TracerProvider: sdktrace.NewTracerProvider(sdktrace.WithSampler(sdktrace.NeverSample()))})
	if err != nil {
		t.Fatal(err)
	}

	runs := 0
	function := lambdawrap.SQS(s.openBare(tel.StoreOptions(nil)), func(context.Context, events.SQSMessage) error {
		runs++

		return nil
	}, tel.MessageOptions(&s.opts))

	for range 2 {
		if response, err := function(t.Context(), events.SQSEvent{Records: []events.SQSMessage{message("p-1")}}); err != nil || len(response.BatchItemFailures) > 0 {
			t.Errorf("got %v, %v", response, err)
		}
	}

	if runs != 1 {
		t.Errorf("%d runs, want 1", runs)
	}
}
