// Package kafka reads topics as Lambda's event source mapping for Kafka does, on the developer's own machine.
package kafka

import (
	"context"
	"fmt"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// Log holds the records of topics.
type Log interface {
	// Fetch returns up to limit records of a partition of a topic, from an offset on.
	Fetch(topic string, partition int, offset int64, limit int) ([]events.KafkaRecord, error)
}

// Poller reads topic-partitions. It turns the answers of a function into offsets as Lambda's documentation says: it goes on from
// the offset that an answer names for a topic-partition, or behind the last record if it names none. An error, or a place that is
// not in the event, brings the whole batch back.
type Poller struct {
	Log      Log
	Function func(context.Context, events.KafkaEvent) (lambdawrap.KafkaEventResponse, error)
	Topic    string
	Offsets  []int64 // by partition: the next record; to change one is to read from there
	Size     int     // of a batch, for each partition
	Brokers  string  // in the event
}

// Poll makes one invocation, and returns how many records it had. 0 means that the log is read.
func (p *Poller) Poll(ctx context.Context) (int, error) {
	event, n := events.KafkaEvent{
		EventSource: "SelfManagedKafka", BootstrapServers: p.Brokers, Records: map[string][]events.KafkaRecord{},
	}, 0

	for partition, offset := range p.Offsets {
		records, err := p.Log.Fetch(p.Topic, partition, offset, p.Size)
		if err != nil {
			return 0, err
		}

		if n += len(records); len(records) > 0 {
			event.Records[p.name(partition)] = records
		}
	}

	if n == 0 {
		return 0, nil
	}

	response, err := p.Function(ctx, event)
	if err != nil {
		return n, nil //nolint:nilerr // the batch comes back
	}

	p.advance(event, response)

	return n, nil
}

func (p *Poller) name(partition int) string { return fmt.Sprintf("%s-%d", p.Topic, partition) }

// advance moves the offsets behind what is done.
func (p *Poller) advance(event events.KafkaEvent, response lambdawrap.KafkaEventResponse) {
	named := map[string]int64{} // the lowest offset of each topic-partition

	for _, failure := range response.BatchItemFailures {
		id, isKnown := failure.ItemIdentifier, false
		for _, r := range event.Records[id.Partition] {
			isKnown = isKnown || r.Offset == id.Offset
		}

		if !isKnown {
			return
		}

		if lowest, ok := named[id.Partition]; !ok || id.Offset < lowest {
			named[id.Partition] = id.Offset
		}
	}

	for partition := range p.Offsets {
		records := event.Records[p.name(partition)]
		if len(records) == 0 {
			continue
		}

		p.Offsets[partition] = records[len(records)-1].Offset + 1
		if offset, isNamed := named[p.name(partition)]; isNamed {
			p.Offsets[partition] = offset
		}
	}
}
