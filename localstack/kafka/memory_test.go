package kafka_test

import (
	"encoding/base64"
	"time"

	"github.com/aws/aws-lambda-go/events"
)

// memory is a log of topics in memory.
type memory struct {
	topics map[string][][]events.KafkaRecord
	clock  int64
}

func (m *memory) Fetch(topic string, partition int, offset int64, limit int) ([]events.KafkaRecord, error) {
	records := m.topics[topic][partition]
	from := min(int(offset), len(records))

	return records[from:min(from+limit, len(records))], nil
}

func (m *memory) create(topic string, partitions int) error {
	if m.topics == nil {
		m.topics = map[string][][]events.KafkaRecord{}
	}

	m.topics[topic] = make([][]events.KafkaRecord, partitions)

	return nil
}

func (m *memory) remove(topic string) error {
	delete(m.topics, topic)

	return nil
}

func (m *memory) send(topic string, partition int, value string) error {
	m.clock++
	records := &m.topics[topic][partition]
	*records = append(*records, events.KafkaRecord{
		Topic: topic, Partition: int64(partition), Offset: int64(len(*records)), Timestamp: events.MilliSecondsEpochTime{Time: time.UnixMilli(m.clock)},
		TimestampType: "CREATE_TIME", Value: base64.StdEncoding.EncodeToString([]byte(value)),
	})

	return nil
}
