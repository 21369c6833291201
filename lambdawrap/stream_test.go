package lambdawrap_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestOtherKeysOfAStreamGoOnAfterAFailureAndTheLowestNumberIsReported(t *testing.T) {
	everyStream(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		closed := always()
		function := wrap(failing(closed, "a2", "c1"))
		event := batch("101 a1 a", "102 b1 b", "103 a2 a", "104 b2 b", "105 a3 a", "106 c1 c", "107 b3 b")

		h.check(function, event, []string{"103"}, []string{"101", "102", "103", "104", "106", "107"})
		h.ordered("101", "103")
		h.ordered("102", "104", "107")
		h.equal("a3", h.state("a3"), "none")

		closed.Store(false)
		h.check(function, batch("103 a2 a", "104 b2 b", "105 a3 a", "106 c1 c", "107 b3 b"), nil, []string{"103", "105", "106"})
		h.ordered("103", "105")
	})
}

func TestSequenceNumbersAreComparedAsIntegers(t *testing.T) {
	t.Parallel()

	long := "9" + strings.Repeat("0", 126) + "1" // it has 128 digits

	for name, test := range map[string]struct{ first, second, lowest string }{
		"another number of digits": {"1000", "999", "999"},
		"128 digits":               {"1" + long[:127], long, "1" + long[:127]},
		"leading zeros":            {"0099", "100", "0099"},
		"the last digit":           {long[:127] + "2", long, long},
		"in their order":           {"5", "6", "5"},
	} {
		for _, way := range streamWays {
			each(t, name+", "+way.name, oneHarness, func(h *harness) {
				h.answered(way.wrap(h, failingWith(errBank, "a", "b")), batch(test.first+" a a", test.second+" b b"), test.lowest)
			})
		}
	}
}

func TestOnePoisonAmong10000RecordsIsParkedAndAllOthersRunOnce(t *testing.T) {
	t.Parallel()

	const attempts, size = 3, 1000

	for _, way := range streamWays {
		each(t, way.name, inBubble(&idemddb.Options{MaxAttempts: attempts}), func(h *harness) {
			h.opts.Workers = 25
			parked := h.parkingBecauseOf(idemddb.ErrFailed)
			want := map[string]int{} // by sequence number: runs

			s := &shard{harness: h, size: size, limit: 100}
			for i := range rounds(10_000) {
				s.records = append(s.records, batch(fmt.Sprintf("%d k%d g%d", 9000+i, i, i%100)).Records...)
				want[s.records[i].MessageId] = 1
			}

			poison := s.records[len(s.records)/2]
			want[poison.MessageId] = attempts

			h.equal("the shard is read", s.drain(way.wrap(h, failingWith(errBank, poison.Body))), true)
			h.equal("parked", parked.all(), []string{poison.MessageId + " true"})
			h.equal("invocations", s.invocations, len(s.records)/size+attempts)

			got := map[string]int{}
			for _, id := range h.runs.all() {
				got[id]++
			}

			h.equal("runs", cmp.Diff(want, got), "")
		})
	}
}

func TestARecordOfAStreamWaitsForAKeyThatIsHeldAsLongAsThereIsTime(t *testing.T) {
	everyStream(t, func(h *harness, wrap func(lambdawrap.Handler) wrapped) {
		other := claim(h, h.store, "a1")
		time.AfterFunc(5*time.Second, func() { _ = other.Release(h.Context(), nil) })

		function := wrap(succeed)

		took := h.answeredIn(20*time.Second, function, batch("1 a1 a", "2 a2 a", "3 b1 b"))
		h.ran("1", "2", "3")
		h.ordered("3", "1", "2") // other keys do not wait
		h.lasts(took, 5*time.Second, 7*time.Second)

		claim(h, h.store, "c1")
		h.runs.clear()

		h.answeredIn(20*time.Second, function, batch("4 c1 c", "5 c2 c", "6 b2 b"), "4")
		h.ran("6")
	})
}

func TestAStreamWithIdempotencyOffRunsEveryDeliveryInOrder(t *testing.T) {
	for _, way := range streamWays {
		t.Run(way.name, func(t *testing.T) {
			t.Setenv("IDEMDDB_DISABLED", "true")

			h := newHarness(t, nil)
			function := way.wrap(h, failingWith(errBank, "bad"))

			for range 2 {
				h.check(function, batch("1 k a", "2 k a", "3 bad b", "4 k b"), []string{"3"}, []string{"1", "2", "3"})
				h.ordered("1", "2")
			}

			h.equal("requests", len(h.db.Requests()), 0)
		})
	}
}

func TestWhatIsNoEventOfAStreamIsAnInvocationErrorBeforeAnythingRuns(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		event events.SQSEvent
		want  string
	}{
		"no records":                {events.SQSEvent{}, "the event has no Records"},
		"no sequence number":        {batch("1 a a", " b b"), "Records[1] has no sequence number"},
		"a sequence number of text": {batch("1 a a", "m2 b b"), "Records[1] has no sequence number"},
	} {
		for _, way := range streamWays {
			each(t, name+", "+way.name, oneHarness, func(h *harness) {
				h.errs(name, errorOf(way.wrap(h, succeed)(h.Context(), test.event)), test.want)
				h.ran()
				h.equal("requests", len(h.db.Requests()), 0)
			})
		}
	}
}

// The default keys are those of the event source, so that each delivery of a record has the same one.
func TestTheDefaultKeysOfStreams(t *testing.T) {
	h := parallelHarness(t)
	keys := map[string]bool{}

	for range 2 {
		_, kinesisErr := lambdawrap.Kinesis(h.store, streamHandler(h.noted(succeed), messageOfKinesis), nil)(
			t.Context(), events.KinesisEvent{Records: []events.KinesisEventRecord{kinesisRecord(batch("1 a a").Records[0])}})
		_, changeErr := lambdawrap.DynamoDBStream(h.store, streamHandler(h.noted(succeed), messageOfChange), nil)(
			t.Context(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{change(batch("1 a a").Records[0])}})
		h.equal("errors", errors.Join(kinesisErr, changeErr), nil)
	}

	h.ran("1", "1")

	for _, it := range h.db.Items("records") {
		keys[keyOf(idemddbtest.Request{Key: it})] = true
	}

	h.equal("keys", slices.Sorted(maps.Keys(keys)), []string{
		`#["` + dynamodbARN + `","event-1"]`, `#["` + kinesisARN + `","shardId-000000000000:1"]`,
	})
}

func TestHooksGetTheRecordOfAStreamAsItArrived(t *testing.T) {
	t.Parallel()

	image := func() map[string]events.DynamoDBAttributeValue {
		return map[string]events.DynamoDBAttributeValue{
			"bytes": events.NewBinaryAttribute([]byte("bytes")), "null": events.NewNullAttribute(),
			"sets": events.NewListAttribute([]events.DynamoDBAttributeValue{
				events.NewBinarySetAttribute([][]byte{[]byte("b")}), events.NewStringSetAttribute([]string{"s"}), events.NewNumberSetAttribute([]string{"1"}),
			}),
			"map": events.NewMapAttribute(map[string]events.DynamoDBAttributeValue{"in": events.NewStringAttribute("it")}),
		}
	}
	record := func() events.DynamoDBEventRecord {
		r := change(batch("1 a a").Records[0])
		r.Change.OldImage, r.UserIdentity = image(), &events.DynamoDBUserIdentity{Type: "Service"}

		return r
	}

	h := newHarness(t, nil)
	given := 0
	isAsItArrived := func(r events.DynamoDBEventRecord) {
		given++

		h.equal("record", cmp.Diff(record(), r, cmp.AllowUnexported(events.DynamoDBAttributeValue{}, events.SecondsEpochTime{})), "")
	}

	_, err := lambdawrap.DynamoDBStream(h.store, func(_ context.Context, r events.DynamoDBEventRecord) error {
		old := r.Change.OldImage
		old["bytes"].Binary()[0] = 'X'
		sets := old["sets"].List()
		sets[0].BinarySet()[0][0] = 'X'
		sets[1].StringSet()[0], sets[2].NumberSet()[0] = "X", "X"
		sets[0] = events.NewNullAttribute()
		old["map"].Map()["in"] = events.NewNullAttribute()
		r.UserIdentity.Type = "X"

		clear(old)
		clear(r.Change.Keys)
		clear(r.Change.NewImage)

		return lambdawrap.Permanent(errBank)
	}, &lambdawrap.StreamOptions[events.DynamoDBEventRecord]{
		DeadLetter: func(_ context.Context, r events.DynamoDBEventRecord, cause error) error {
			isAsItArrived(r)
			h.equal("cause", errors.Is(cause, errBank), true)

			return nil
		},
		OnRecord: func(_ context.Context, r events.DynamoDBEventRecord, o lambdawrap.Outcome) {
			isAsItArrived(r)
			h.equal("outcome", o, lambdawrap.OutcomeFailed)
		},
		Logger: h.opts.Logger,
	})(t.Context(), events.DynamoDBEvent{Records: []events.DynamoDBEventRecord{record()}})

	h.equal("error", err, nil)
	h.equal("hooks", given, 2)

	h.reports(lambdawrap.Kinesis(h.store, func(_ context.Context, r events.KinesisEventRecord) error {
		clear(r.Kinesis.Data)

		return nil
	}, &kinesisOptions{OnRecord: func(_ context.Context, r events.KinesisEventRecord, _ lambdawrap.Outcome) {
		h.equal("data", string(r.Kinesis.Data), "a")
	}}), kinesisEvent(kinesisRecord(batch("1 a a").Records[0])), "")
}

// Records whose item cannot be read are one group, so that their order is kept.
func TestChangesWithoutAKeyAreInOrder(t *testing.T) {
	h := parallelHarness(t)
	event := events.DynamoDBEvent{}

	for i := range 20 {
		r := change(batch(fmt.Sprintf("%d a a", 100+i)).Records[0])
		r.Change.Keys = map[string]events.DynamoDBAttributeValue{"account": {}} // this value cannot be encoded
		event.Records = append(event.Records, r)
	}

	response, err := lambdawrap.DynamoDBStream(h.store, streamHandler(h.noted(succeed), messageOfChange),
		&lambdawrap.StreamOptions[events.DynamoDBEventRecord]{Workers: 5})(t.Context(), event)

	h.equal("error", err, nil)
	h.equal("failed", len(response.BatchItemFailures), 0)
	h.equal("in order", slices.IsSorted(h.runs.all()), true)
	h.equal("runs", len(h.runs.all()), 20)
}

// A claim of a record that was delivered before asks for the record of its key first. A new record whose claim did so would cost
// a second statement.
func TestOnlyRecordsBehindTheReportedOneCountAsDeliveredBefore(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		h.opts.Workers = 2
		function := h.kinesis(failingWith(errBank, "bad"))
		h.answered(function, batch("100 bad bad"), "100")
		h.costs()

		h.answered(function, batch("200 a a", "201 b b")) // Lambda has given the other one up
		fresh, _ := h.costs()

		h.answered(function, batch("300 bad bad"), "300")
		h.costs()
		h.answered(function, batch("300 c c", "301 d d"))

		if again, _ := h.costs(); fresh != 2 || again != 3 {
			h.Errorf("a new record costs %d requests, and one that counts as delivered before %d, want 2 and 3", fresh, again)
		}
	})
}

// The records beyond a failure come again with it. Those that are done share requests: 25 are answered by one.
func TestWhatWasDoneBeyondAFailureOfAStreamIsACheapReplay(t *testing.T) {
	t.Parallel()

	records := 1000
	if testing.Short() {
		records = 200
	}

	for name, opts := range map[string]*idemddb.Options{"without a limit of attempts": nil, "with one": {MaxAttempts: 5}} {
		each(t, name, inBubble(opts), func(h *harness) {
			h.opts.Workers = 25
			texts := []string{"100 bad bad"}

			for i := range records {
				texts = append(texts, fmt.Sprintf("%d k%d g%d", 101+i, i, i%(records/5)))
			}

			function := h.kinesis(failingWith(errBank, "bad"))
			h.answered(function, batch(texts...), "100")
			h.costs()

			// Where the scheduler lets workers go on one after the other, some of them claim alone: so the best of four deliveries counts.
			best := records

			for range 4 {
				h.runs.clear()
				h.answered(function, batch(texts...), "100")
				h.ran("100")

				requests, units := h.costs()
				best = min(best, requests)
				h.atMost("write units of the replays", units, records+10)
			}

			h.atMost("requests for the replays", best, records/20)
		})
	}
}
