package lambdawrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// KafkaOptions shape the wrapper of Kafka. Nil and zero mean the defaults.
type KafkaOptions struct {
	// Cluster names the cluster in the default key, beside the ARN that an Amazon MSK cluster has. It is for functions that share a
	// namespace and read several self-managed clusters, which have no ARN. The bootstrap servers do not count, because their list
	// changes with the brokers. A change of Cluster makes all records new work. Defaults to "".
	Cluster string

	// DeadLetter takes a record that will never succeed, as StreamOptions.DeadLetter does. Defaults to nil: such a record is reported
	// failed, and its topic-partition stands still before it until the event source's own limits are reached.
	DeadLetter func(context.Context, KafkaRecord, error) error

	// Key picks a record's idempotency key, under the rules of [KeyFunc]. [KafkaKey], [KafkaBody] and [KafkaHeader] are ready. The
	// keys of a topic-partition are found side by side, too, and its records are worked on in their order. Defaults to
	// [KafkaRecordID].
	Key func(context.Context, KafkaRecord) (string, error)

	// Logger gets one line for each record that does not end well, with its partition, its offset and the hash of its key, never its
	// data. It also gets a warning for each takeover, and a line for each staged message that is not sent. Defaults to slog.Default()
	// at the time of the call.
	Logger *slog.Logger

	// OnRecord is called after each record's end, with the record as it arrived and its outcome. It must be safe for concurrent use.
	// Its panic is logged and changes nothing. Defaults to nil.
	OnRecord func(context.Context, KafkaRecord, Outcome)

	// RecordContext returns the context of one record, derived from ctx, as MessageContext of [Options] does. Defaults to nil: all
	// records have the context of the invocation.
	RecordContext func(context.Context, KafkaRecord) context.Context

	// Reserve is the part of the invocation's time that is kept back for settling and for the answer, as for [Options]. Negative is
	// an error. Defaults to 1 s.
	Reserve time.Duration

	// Timeout is the time for one handler, as for [Options]. Negative is an error. Defaults to 0: no limit.
	Timeout time.Duration

	// Workers is how many handlers run at a time, and beside them how many key functions, as for [StreamOptions]. Handlers of one
	// topic-partition always run one after the other, so more workers than partitions in an event are of use only for the keys.
	// Negative is an error. Defaults to 1.
	Workers int
}

// KafkaEventResponse is the answer of a function that reads Kafka: the records from which Lambda goes on, one for each
// topic-partition that has a failure. Package events has no type for it.
type KafkaEventResponse struct {
	// BatchItemFailures has at most one entry for each topic-partition. If no record comes back, [Kafka] returns an empty list, not
	// nil.
	BatchItemFailures []KafkaBatchItemFailure `json:"batchItemFailures"`
}

// KafkaBatchItemFailure names the first record of a topic-partition that comes back.
type KafkaBatchItemFailure struct {
	ItemIdentifier KafkaItemIdentifier `json:"itemIdentifier"` // the lowest offset that failed
}

// KafkaItemIdentifier is a record's place. Lambda sends the whole batch again if the event has no record with this place.
type KafkaItemIdentifier struct {
	Partition string `json:"partition"` // the topic, a hyphen and the number of the partition, as the event has it
	Offset    int64  `json:"offset"`    // in the topic-partition
}

// Kafka wraps a handler of single Kafka records for lambda.Start and makes it idempotent, for Amazon MSK and for self-managed
// clusters. The event source mapping must have ReportBatchItemFailures, which needs the provisioned mode, or Lambda takes failed
// records for done.
//
// The records of a topic-partition are worked on in the order of their offsets; topic-partitions side by side, as far as
// KafkaOptions.Workers allows. Which topic-partition comes first differs from one call to the next. After a failure the rest of
// that topic-partition waits, and others go on. The answer names the lowest failed offset of each topic-partition. Lambda goes on
// from there, and records that are done are answered from their records in the table. Each record ends as one of [Kinesis] does:
// a record whose key another worker holds waits, Options.MaxAttempts of the Store and KafkaOptions.DeadLetter park what keeps
// failing, and without both one such record stops its topic-partition.
//
// The function is for mappings that keep the order. A share group (ConsumptionMode Queue) has none, and answers in another
// format.
//
// The returned function is safe for concurrent use. Its error is not nil only if the event is none of Kafka (then nothing ran),
// if the wrapper itself failed (then the whole batch comes back), or if an option is wrong, which the error names. Kafka panics
// for a nil store or handler.
func Kafka(
	store *idemddb.Store, h func(context.Context, KafkaRecord) error, opts *KafkaOptions,
) func(context.Context, events.KafkaEvent) (KafkaEventResponse, error) {
	o := KafkaOptions{}
	if opts != nil {
		o = *opts
	}

	s := &stream[KafkaRecord]{
		group: func(r KafkaRecord) string { return r.Topic + "-" + strconv.FormatInt(r.Partition, 10) },
		clone: KafkaRecord.clone, optsName: "KafkaOptions", key: KafkaRecordID,
	}
	s.wrap(store, h, &StreamOptions[KafkaRecord]{
		DeadLetter: o.DeadLetter, Key: o.Key, Logger: o.Logger, OnRecord: o.OnRecord, RecordContext: o.RecordContext, Reserve: o.Reserve,
		Timeout: o.Timeout, Workers: o.Workers,
	})

	return func(ctx context.Context, event events.KafkaEvent) (KafkaEventResponse, error) {
		units, wrongEvent := kafkaUnits(event, o.Cluster)
		failed, err := s.workOn(ctx, units, wrongEvent)

		return kafkaAnswer(failed), err
	}
}

// kafkaUnits returns the units of work of an event: those of a topic-partition together, in the order of their offsets. The
// topic-partitions come in any order, so that none of them is always the last one to get time.
func kafkaUnits(event events.KafkaEvent, cluster string) ([]unit[KafkaRecord], error) {
	if err := checkKafka(event); err != nil {
		return nil, err
	}

	var units []unit[KafkaRecord]

	for partition, given := range event.Records {
		first := len(units)

		for i, g := range given {
			r, err := kafkaRecord(g)
			if err != nil {
				return nil, fmt.Errorf("lambdawrap: records[%.100q][%d] %w; nothing of the event ran", partition, i, err)
			}

			r.EventSourceARN, r.Cluster = event.EventSourceARN, cluster
			id := slog.Group("", slog.String("partition", partition), slog.Int64("offset", r.Offset)) // without a name, both stand in the line
			units = append(units, unit[KafkaRecord]{record: r, shard: partition, number: strconv.FormatInt(r.Offset, 10), id: id})
		}

		slices.SortStableFunc(units[first:], func(a, b unit[KafkaRecord]) int { return cmp.Compare(a.record.Offset, b.record.Offset) })
	}

	return units, nil
}

// kafkaAnswer names these offsets, by topic-partition.
func kafkaAnswer(failed map[string]string) KafkaEventResponse {
	response := KafkaEventResponse{BatchItemFailures: []KafkaBatchItemFailure{}}

	for _, partition := range slices.Sorted(maps.Keys(failed)) {
		offset, _ := strconv.ParseInt(failed[partition], 10, 64) // as kafkaUnits wrote it
		response.BatchItemFailures = append(response.BatchItemFailures, KafkaBatchItemFailure{KafkaItemIdentifier{partition, offset}})
	}

	return response
}

// The values of an event's eventSource.
const (
	kafkaMSK         = "aws:kafka"
	kafkaSelfManaged = "SelfManagedKafka"
)

// checkKafka refuses events of other sources, before anything runs. A record of Kafka has no source of its own.
func checkKafka(event events.KafkaEvent) error {
	switch {
	case event.EventSource != "" && event.EventSource != kafkaMSK && event.EventSource != kafkaSelfManaged:
		return fmt.Errorf("lambdawrap: the event is of %.100q: expected one of Apache Kafka (%q or %q); nothing of the event ran",
			event.EventSource, kafkaMSK, kafkaSelfManaged)
	case event.Records == nil:
		return errors.New("lambdawrap: the event has no records: expected an event of Apache Kafka, is this one of another source or a console test?")
	default:
		return nil
	}
}
