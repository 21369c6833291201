package idemotel_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"
	otelmetric "go.opentelemetry.io/otel/metric"
	noopmetric "go.opentelemetry.io/otel/metric/noop"
	"go.opentelemetry.io/otel/sdk/metric"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemotel"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestWrongOptionsAreErrorsThatNameTheField(t *testing.T) {
	t.Parallel()

	for field, opts := range map[string]*idemotel.Options{
		"Options.FlushTimeout":   {FlushTimeout: -time.Second},
		"Options.TracerProvider": {TracerProvider: (*sdktrace.TracerProvider)(nil)},
		"Options.MeterProvider":  {MeterProvider: (*metric.MeterProvider)(nil)},
	} {
		if tel, err := idemotel.New(opts); tel != nil || err == nil || !strings.Contains(err.Error(), "idemotel: "+field+": must not be") {
			t.Errorf("%s: got %v, %v", field, tel, err)
		}
	}
}

// brokenMeters makes no counters.
type (
	brokenMeters struct{ noopmetric.MeterProvider }
	brokenMeter  struct{ noopmetric.Meter }
)

func (brokenMeters) Meter(string, ...otelmetric.MeterOption) otelmetric.Meter { return brokenMeter{} }

func (brokenMeter) Int64Counter(string, ...otelmetric.Int64CounterOption) (otelmetric.Int64Counter, error) {
	return nil, errBank
}

func TestAMeterProviderThatRefusesIsAnErrorOfNew(t *testing.T) {
	t.Parallel()

	if tel, err := idemotel.New(&idemotel.Options{MeterProvider: brokenMeters{}}); tel != nil || !errors.Is(err, errBank) {
		t.Errorf("got %v, %v", tel, err)
	}
}

func TestWhatIsNilPanicsBeforeTheFirstMessage(t *testing.T) {
	t.Parallel()

	tel := must(t, nil)

	const noTelemetry = "idemotel: Telemetry: must not be nil; check the error of New"

	var none *idemotel.Telemetry

	for name, c := range map[string]struct {
		use  func()
		want string
	}{
		"Flush without a Telemetry": {func() { idemotel.Flush(none, func(context.Context, int) (int, error) { return 0, nil }) }, noTelemetry},
		"Flush without a handler":   {func() { idemotel.Flush[int, int](tel, nil) }, "idemotel: handler: must not be nil"},
		"StoreOptions":              {func() { none.StoreOptions(nil) }, noTelemetry},
		"MessageOptions":            {func() { none.MessageOptions(nil) }, noTelemetry},
		"ForceFlush":                {func() { _ = none.ForceFlush(t.Context()) }, noTelemetry},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			defer func() {
				if got := recover(); got != c.want {
					t.Errorf("panic %v, want %v", got, c.want)
				}
			}()

			c.use()
		})
	}
}

func TestTheOptionsOfTheUserAreKept(t *testing.T) {
	t.Parallel()

	type key struct{}

	var heard []string

	s := newStation(t)
	s.opts.MessageContext = func(ctx context.Context, m events.SQSMessage) context.Context {
		return context.WithValue(ctx, key{}, m.Body)
	}
	s.opts.OnMessage = func(ctx context.Context, _ events.SQSMessage, o lambdawrap.Outcome) {
		heard = append(heard, "end of "+ctx.Value(key{}).(string)+": "+string(o))
	}
	given := idemddb.Options{
		Trace: func(context.Context) string { return "run-1" },
		Observe: func(ctx context.Context, e idemddb.Event) {
			heard = append(heard, string(e.Kind)+" "+ctx.Value(key{}).(string)+e.Trace)
		},
	}

	s.invoke(s.open(given), succeed, message("p-1"))
	s.invoke(s.open(given), succeed, message("p-1"))

	if diff := cmp.Diff([]string{
		"claimed p-1", "completed p-1", "end of p-1: completed", "replayed p-1run-1", "end of p-1: replayed",
	}, heard); diff != "" {
		t.Error(diff)
	}

	if got := s.points("idemddb.events", "idemddb.kind")["replayed"]; got != 1 {
		t.Errorf("%d replays are counted, want 1", got)
	}

	if o := s.tel.MessageOptions(&s.opts); o == &s.opts || s.tel.StoreOptions(&given) == &given {
		t.Error("the options of the user are changed in place")
	}
}

// The user's hooks may fail. The span of the message ends, or never begins.
func TestHooksOfTheUserThatFailLeaveTheSpanWhole(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		set   func(*lambdawrap.Options)
		spans int
	}{
		"OnMessage panics": {func(o *lambdawrap.Options) {
			o.OnMessage = func(context.Context, events.SQSMessage, lambdawrap.Outcome) { panic("hook") }
		}, 2},
		"MessageContext panics": {func(o *lambdawrap.Options) {
			o.MessageContext = func(context.Context, events.SQSMessage) context.Context { panic("hook") }
		}, 1},
		"MessageContext returns nil": {func(o *lambdawrap.Options) {
			o.MessageContext = func(context.Context, events.SQSMessage) context.Context { return nil }
		}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s := newStation(t)
			c.set(&s.opts)

			if failed := s.invoke(s.open(idemddb.Options{}), succeed, message("p-1")); len(failed) > 0 {
				t.Errorf("come back: %v", failed)
			}

			if got := len(s.spans.Ended()); got != c.spans || len(s.spans.Started()) != got {
				t.Errorf("%d spans ended and %d began, want %d", got, len(s.spans.Started()), c.spans)
			}
		})
	}
}
