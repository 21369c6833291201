package idemotel

import (
	"slices"
	"strings"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

const operation = "process"

// made holds what was made once of each key, because OpenTelemetry sorts and copies the attributes of each measurement. The keys
// are few: the queues of a function, the outcomes and the kinds of events. It is safe for concurrent use.
type made[K comparable, V any] struct {
	make func(K) V
	all  sync.Map // from K to V
}

func (m *made[K, V]) of(key K) V {
	v, isThere := m.all.Load(key)
	if !isThere {
		v, _ = m.all.LoadOrStore(key, m.make(key))
	}

	return v.(V) //nolint:forcetypeassert // no other type is stored
}

// queue is what all messages of a queue have in common.
type queue struct {
	spanName string
	span     []trace.SpanStartOption
	endings  made[lambdawrap.Outcome, ending]
}

// ending is what all messages of a queue with one outcome have in common.
type ending struct {
	attributes []attribute.KeyValue // of the span
	duration   []metric.RecordOption
}

// newQueue reads the name of a queue, which is the last part of its ARN.
func newQueue(arn string) *queue {
	name := arn[strings.LastIndex(arn, ":")+1:]
	attributes := []attribute.KeyValue{
		semconv.MessagingSystemAWSSQS, semconv.MessagingOperationName(operation), semconv.MessagingDestinationName(name),
	}

	q := &queue{
		spanName: strings.TrimSpace(operation + " " + name),
		span: []trace.SpanStartOption{
			trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attributes...),
			trace.WithAttributes(semconv.FaaSTriggerPubSub, semconv.MessagingOperationTypeProcess),
		},
	}
	q.endings.make = func(o lambdawrap.Outcome) ending {
		ended := []attribute.KeyValue{outcomeKey.String(string(o))}
		if isFailure(o) {
			ended = append(ended, semconv.ErrorTypeKey.String(string(o)))
		}

		set := attribute.NewSet(slices.Concat(attributes, ended)...)

		return ending{ended, []metric.RecordOption{metric.WithAttributeSet(set)}}
	}

	return q
}

// ofKind returns the attributes of an event's count.
func ofKind(kind idemddb.Kind) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(kindKey.String(string(kind))))}
}
