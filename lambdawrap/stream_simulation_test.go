package lambdawrap_test

import (
	"maps"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// streamWay is a wrapper of a stream, and how Lambda reads that stream.
type streamWay struct {
	name  string
	wrap  func(*harness, lambdawrap.Handler) wrapped
	shard func(*queued) string // whose records are read one after the other; nil if there is one
	size  int                  // of the records that are one record of the stream, which fails as a whole
}

var simulatedStreams = []streamWay{
	{name: "Kinesis", wrap: (*harness).kinesis, size: 1},
	{name: "DynamoDBStream", wrap: (*harness).dynamoDBStream, size: 1},
	{name: "Kinesis, aggregated", wrap: (*harness).kinesisAggregated, size: aggregateSize},
	{name: "Kinesis behind a pipe", wrap: (*harness).kinesisPiped, size: 1},
	{name: "Kafka", wrap: (*harness).kafka, shard: func(q *queued) string { return q.group }, size: 1},
}

// The same simulation reads shards: requests, handlers and hooks fail at random for a minute, and the rules are the same. In
// addition, nothing before the number that an answer names for a shard may be undone.
func TestNoRandomSimulationOfAStreamBreaksTheRules(t *testing.T) {
	t.Parallel()

	for i, way := range simulatedStreams {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()

			for seed := uint64(i); seed < uint64(rounds(*simulations/2)) && !t.Failed(); seed += uint64(len(simulatedStreams)) {
				simulateStream(t, *firstSeed+seed, way)
			}
		})
	}
}

func simulateStream(t *testing.T, seed uint64, way streamWay) {
	t.Helper()

	s := newSimulation(seed)
	s.isBatch, s.isFIFO, s.deadLetter = false, true, true // without the hook, a key that failed for good stops the shard for ever
	s.count, s.keys = 4*s.count, 4*s.keys

	bubble(t, &s.store, func(h *harness) {
		s.harness = h
		s.start = time.Now()
		s.calm = s.start.Add(time.Minute)
		s.fill()

		for i, q := range s.queue {
			q.MessageId = strconv.Itoa(90 + i) // the numbers have two digits, and three
		}

		h.db.Intercept(s.requestFault)
		h.db.InterceptStatements(s.statementFault)

		h.opts.Workers, h.opts.Timeout, h.opts.Reserve = s.options.Workers, s.options.Timeout, s.options.Reserve
		h.opts.OnMessage, h.opts.DeadLetter = s.onMessage, s.deadLetterHook

		s.readShards(way, way.wrap(h, s.handle))
		h.db.Deliver()
		s.check()
		s.report()
	})
}

// readShards invokes the function as Lambda does, one batch after the other, until the shards are read and nothing fails any
// more.
func (s *simulation) readShards(way streamWay, function wrapped) {
	const size = 12 // of a batch

	var shards [][]*queued
	if way.shard == nil {
		shards = [][]*queued{s.queue}
	} else {
		byName := map[string][]*queued{}
		for _, q := range s.queue {
			byName[way.shard(q)] = append(byName[way.shard(q)], q)
		}

		shards = slices.Collect(maps.Values(byName))
	}

	for len(shards) > 0 && time.Since(s.start) < 3*time.Hour {
		var taken [][]*queued
		for _, shard := range shards {
			taken = append(taken, shard[:min(size/len(shards), len(shard))])
		}

		for i, done := range s.invokeStream(way, function, taken) {
			shards[i] = shards[i][done:]
		}

		shards = slices.DeleteFunc(shards, func(shard []*queued) bool { return len(shard) == 0 })

		if s.upTo(10) == 0 {
			s.harness.db.Deliver()
		}
	}
}

// invokeStream makes one invocation and returns how many records of each shard are behind it.
func (s *simulation) invokeStream(way streamWay, function wrapped, taken [][]*queued) []int {
	event := events.SQSEvent{}

	for _, shard := range taken {
		for _, q := range shard {
			event.Records = append(event.Records, q.SQSMessage)
		}
	}

	c, failed, err := s.call(function, event)
	defer s.mu.Unlock()

	done := make([]int, len(taken))
	if err != nil {
		return done
	}

	for i, shard := range taken {
		done[i] = s.advance(way, c, shard, failed)
	}

	for _, id := range failed {
		if !slices.ContainsFunc(event.Records, func(m events.SQSMessage) bool { return m.MessageId == id }) {
			s.breaksf("the answer names %s, which is not in the batch", id)
		}
	}

	if way.size > 1 { // what ended well can be in the record that the answer names
		failed = nil
	}

	s.checkCall(c, failed)

	return done
}

// advance returns how many records of a shard are before the one that the answer names.
func (s *simulation) advance(way streamWay, c *call, shard []*queued, failed []string) (done int) {
	named := slices.IndexFunc(shard, func(q *queued) bool { return slices.Contains(failed, q.MessageId) })
	if named < 0 {
		named = len(shard)
	} else {
		s.checkUndone(c, shard[named:min(named+way.size, len(shard))])
	}

	for i, q := range shard {
		if i > named && slices.Contains(failed, q.MessageId) {
			s.breaksf("an answer names %v, more than one record of a shard", failed)
		}
	}

	for _, q := range shard[:named] {
		s.goes(q)
	}

	return named
}

// checkUndone checks that something of the record that the answer names did not end well.
func (s *simulation) checkUndone(c *call, named []*queued) {
	for _, q := range named {
		if o := c.ended[q.MessageId]; o != lambdawrap.OutcomeCompleted && o != lambdawrap.OutcomeReplayed {
			return
		}
	}

	s.breaksf("%s ended well and is reported failed", named[0].MessageId)
}
