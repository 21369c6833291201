package lambdawrap

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/dbitem"
)

// KafkaRecord is one record of a topic, as [Kafka] reads it from the event: its key and its value are no longer in base64.
// Records that Lambda decoded with a schema registry have JSON in both.
//
// The event does not tell null from empty, so neither do Key and Value. A tombstone, which deletes a key of a compacted topic,
// has a key and no value: len(r.Value) == 0.
type KafkaRecord struct {
	EventSourceARN string              // of an Amazon MSK cluster; "" for a self-managed one
	Cluster        string              // KafkaOptions.Cluster
	Topic          string              // its name
	Partition      int64               // its number in the topic
	Offset         int64               // in the topic-partition
	Timestamp      time.Time           // of the producer or of the broker, as TimestampType says
	TimestampType  string              // CREATE_TIME or LOG_APPEND_TIME
	Key            []byte              // as the producer set it; empty for none
	Value          []byte              // as the producer sent it; empty for a tombstone
	Headers        []KafkaRecordHeader // in their order; a name may come more than once
}

// KafkaRecordHeader is one header of a record.
type KafkaRecordHeader struct {
	Name  string // as it stands in the record
	Value []byte // its bytes
}

// kafkaRecord reads one record. One that cannot be read, or whose failure could not be reported, is an error.
func kafkaRecord(g events.KafkaRecord) (r KafkaRecord, err error) {
	r = KafkaRecord{
		Topic: g.Topic, Partition: g.Partition, Offset: g.Offset, Timestamp: g.Timestamp.Time, TimestampType: g.TimestampType,
	}

	if r.Topic == "" || r.Partition < 0 || r.Offset < 0 {
		return r, errors.New("has no topic, partition and offset: expected an event of Apache Kafka")
	}

	if r.Key, err = base64.StdEncoding.DecodeString(g.Key); err != nil {
		return r, fmt.Errorf("has a key that is not in base64: %w", err)
	}

	if r.Value, err = base64.StdEncoding.DecodeString(g.Value); err != nil {
		return r, fmt.Errorf("has a value that is not in base64: %w", err)
	}

	for _, header := range g.Headers { // each has one name
		for _, name := range slices.Sorted(maps.Keys(header)) {
			r.Headers = append(r.Headers, KafkaRecordHeader{name, header[name]})
		}
	}

	return r, nil
}

// clone returns a copy that shares nothing with the record.
func (r KafkaRecord) clone() KafkaRecord {
	r.Key, r.Value = bytes.Clone(r.Key), bytes.Clone(r.Value)
	r.Headers = dbitem.CloneEach(r.Headers, func(h KafkaRecordHeader) KafkaRecordHeader {
		return KafkaRecordHeader{h.Name, bytes.Clone(h.Value)}
	})

	return r
}
