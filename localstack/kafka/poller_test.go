package kafka_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/lambdawrap"
	"github.com/idemddb/go-idemddb/localstack/kafka"
)

const (
	topic      = "payments"
	partitions = 3
	each       = 20 // records of a partition
)

// written is a log that a test can write to.
type written interface {
	kafka.Log
	create(topic string, partitions int) error
	remove(topic string) error
	send(topic string, partition int, value string) error
}

func TestAFunctionThatFailsAtRandomReadsALogOnceAndInOrder(t *testing.T) {
	t.Parallel()

	seeds := uint64(20)
	if testing.Short() {
		seeds = 5
	}

	for seed := range seeds {
		readOnceAndInOrder(t, &memory{}, seed)
	}
}

// consumer is a function that reads the log, and what it did.
type consumer struct {
	mu     sync.Mutex
	random *rand.Rand
	failed float64            // of the records
	done   map[int64][]string // by partition
}

func (c *consumer) work(_ context.Context, r lambdawrap.KafkaRecord) error {
	c.mu.Lock()
	defer c.mu.Unlock()

	if c.random.Float64() < c.failed {
		return errors.New("at random")
	}

	c.done[r.Partition] = append(c.done[r.Partition], string(r.Value))

	return nil
}

// take returns what was done since the last call, by partition.
func (c *consumer) take() map[int64][]string {
	c.mu.Lock()
	defer c.mu.Unlock()

	done := c.done
	c.done = map[int64][]string{}

	return done
}

// fill writes the same values as ever into a new topic.
func fill(t *testing.T, log written) {
	t.Helper()

	err := log.create(topic, partitions)
	for i := range each * partitions {
		err = errors.Join(err, log.send(topic, i%partitions, fmt.Sprint("p-", i)))
	}

	if err != nil {
		t.Fatal(err)
	}
}

// readOnceAndInOrder reads a log while handlers fail at random, reads it again, with other brokers, and reads the topic once more
// after it was made again.
func readOnceAndInOrder(t *testing.T, log written, seed uint64) {
	t.Helper()

	db := audited.Tables(t, nil, idemddbtest.CreateTable("records", ""))

	store, err := idemddb.New(db, "records", "payments", nil)
	if err != nil {
		t.Fatal(err)
	}

	c := &consumer{random: rand.New(rand.NewPCG(seed, 1)), failed: 0.2, done: map[int64][]string{}}
	p := &kafka.Poller{
		Log: log, Topic: topic, Offsets: make([]int64, partitions), Size: 7, Brokers: "b-1:9092",
		Function: lambdawrap.Kafka(store, c.work, &lambdawrap.KafkaOptions{Workers: partitions, Logger: slog.New(slog.DiscardHandler)}),
	}

	fill(t, log)
	drain(t, p)
	expectAll(t, "the first time", c.take())

	p.Offsets, p.Brokers = make([]int64, partitions), "b-7:9092,b-8:9092" // as after a rebalance that lost the offsets, and new brokers
	drain(t, p)

	if again := c.take(); len(again) > 0 {
		t.Errorf("seed %d: the second time %v ran again", seed, again)
	}

	if err := log.remove(topic); err != nil {
		t.Fatal(err)
	}

	fill(t, log)

	p.Offsets = make([]int64, partitions)
	drain(t, p)
	expectAll(t, "a topic that was made again", c.take())
}

func drain(t *testing.T, p *kafka.Poller) {
	t.Helper()

	for range 1000 {
		n, err := p.Poll(t.Context())
		if err != nil {
			t.Fatal(err)
		}

		if n == 0 {
			return
		}
	}

	t.Fatalf("the log is not read after 1000 invocations: offsets %v", p.Offsets)
}

func expectAll(t *testing.T, what string, done map[int64][]string) {
	t.Helper()

	for partition := range partitions {
		var want []string
		for i := range each {
			want = append(want, fmt.Sprint("p-", i*partitions+partition))
		}

		if got := done[int64(partition)]; !slices.Equal(got, want) {
			t.Errorf("%s: partition %d: got %v, want %v", what, partition, got, want)
		}
	}
}

// What the documentation of Lambda says about answers.
func TestAnswersBecomeOffsets(t *testing.T) {
	t.Parallel()

	failure := func(partition string, offset int64) lambdawrap.KafkaBatchItemFailure {
		return lambdawrap.KafkaBatchItemFailure{ItemIdentifier: lambdawrap.KafkaItemIdentifier{Partition: partition, Offset: offset}}
	}

	for name, test := range map[string]struct {
		failures []lambdawrap.KafkaBatchItemFailure
		err      error
		want     []int64
	}{
		"no failure":                       {nil, nil, []int64{3, 3, 3}},
		"one of one partition":             {[]lambdawrap.KafkaBatchItemFailure{failure("payments-1", 2)}, nil, []int64{3, 2, 3}},
		"two of one partition":             {[]lambdawrap.KafkaBatchItemFailure{failure("payments-0", 2), failure("payments-0", 1)}, nil, []int64{1, 3, 3}},
		"an offset that is not there":      {[]lambdawrap.KafkaBatchItemFailure{failure("payments-0", 2), failure("payments-1", 9)}, nil, []int64{0, 0, 0}},
		"a partition that is not there":    {[]lambdawrap.KafkaBatchItemFailure{failure("payments-9", 0)}, nil, []int64{0, 0, 0}},
		"an error, whatever the answer is": {nil, errors.New("the function failed"), []int64{0, 0, 0}},
	} {
		log := &memory{}
		fill(t, log)

		p := &kafka.Poller{
			Log: log, Topic: topic, Offsets: make([]int64, partitions), Size: 3,
			Function: func(context.Context, events.KafkaEvent) (lambdawrap.KafkaEventResponse, error) {
				return lambdawrap.KafkaEventResponse{BatchItemFailures: test.failures}, test.err
			},
		}
		if n, err := p.Poll(t.Context()); n != 3*partitions || err != nil || !slices.Equal(p.Offsets, test.want) {
			t.Errorf("%s: got %d records, %v, offsets %v, want %v", name, n, err, p.Offsets, test.want)
		}
	}
}
