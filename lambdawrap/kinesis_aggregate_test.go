package lambdawrap_test

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/internal/kpl"
	"github.com/idemddb/go-idemddb/internal/kpl/kpltest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// aggregated returns the record of the Kinesis Producer Library with this sequence number and these user records, which are
// written as "data partitionKey". Its own partition key is that of no user record.
func aggregated(number string, records ...string) events.KinesisEventRecord {
	var users []kpl.UserRecord

	for _, text := range records {
		data, key, _ := strings.Cut(text, " ")
		users = append(users, kpl.UserRecord{PartitionKey: key, Data: []byte(data)})
	}

	r := kinesisRecord(batch(number + " - of-the-aggregate").Records[0])
	r.Kinesis.Data = kpltest.Aggregate(users...)

	return r
}

func kinesisEvent(records ...events.KinesisEventRecord) events.KinesisEvent {
	return events.KinesisEvent{Records: records}
}

type kinesisOptions = lambdawrap.StreamOptions[events.KinesisEventRecord]

// userRecords wraps a handler with Kinesis and the default key. The body of its message is the data. h.runs gets the data of each
// run.
func (h *harness) userRecords(
	work lambdawrap.Handler, opts *kinesisOptions,
) lambdawrap.StreamFunc[events.KinesisEvent, events.KinesisEventResponse] {
	if opts.Logger = h.opts.Logger; opts.Workers == 0 {
		opts.Workers = 4
	}

	return lambdawrap.Kinesis(h.store, func(ctx context.Context, r events.KinesisEventRecord) error {
		defer h.runs.add(string(r.Kinesis.Data))

		return work(ctx, messageOfKinesis(r))
	}, opts)
}

// reports demands the answer of an event: the sequence number that it names, "" for none. h.runs gets the runs of it alone.
func (h *harness) reports(
	function func(context.Context, events.KinesisEvent) (events.KinesisEventResponse, error), event events.KinesisEvent, number string,
) {
	h.Helper()

	want := []events.KinesisBatchItemFailure{}
	if number != "" {
		want = append(want, events.KinesisBatchItemFailure{ItemIdentifier: number})
	}

	h.runs.clear()

	response, err := function(h.Context(), event)
	h.equal("error", err, nil)
	h.equal("failed", response.BatchItemFailures, want)
}

func TestEachUserRecordOfAnAggregatedOneIsAPieceOfWork(t *testing.T) {
	everyMode(t, func(h *harness) {
		var hooked journal

		closed := always()
		function := h.userRecords(failing(closed, "a2"), &kinesisOptions{
			OnRecord: func(_ context.Context, r events.KinesisEventRecord, o lambdawrap.Outcome) {
				hooked.add(r.EventID + " " + r.Kinesis.PartitionKey + " " + string(r.Kinesis.Data) + " " + string(o))
			},
		})

		plain := kinesisRecord(batch("101 plain z").Records[0])
		event := kinesisEvent(plain, aggregated("102", "a1 a", "a2 a", "b1 b", "a3 a", "b1 b"))

		h.reports(function, event, "102")
		h.ran("plain", "a1", "a2", "b1", "b1") // two user records with the same content are two pieces of work
		h.ordered("a1", "a2")
		h.logs("sequenceNumber=102:1 ", "sequenceNumber=102:3 ", "outcome=blocked")
		h.equal("of the blocked one", strings.Contains(strings.Join(hooked.all(), "\n"), "shardId-000000000000:102:3 a a3 blocked"), true)

		closed.Store(false)
		h.reports(function, kinesisEvent(event.Records[1]), "")
		h.ran("a2", "a3") // what was done before does not run again
		h.ordered("a2", "a3")

		h.reports(function, event, "")
		h.ran()
	})
}

func TestAFailureInAnAggregateHoldsItsPartitionKeyInTheNextAggregateToo(t *testing.T) {
	everyMode(t, func(h *harness) {
		closed := always()
		function := h.userRecords(failing(closed, "a2"), &kinesisOptions{})

		first, second := aggregated("101", "a1 a", "b1 b", "a2 a"), aggregated("102", "b2 b", "a3 a", "c1 c")
		last := kinesisRecord(batch("103 a4 a").Records[0])

		h.reports(function, kinesisEvent(first, second, last), "101")
		h.ran("a1", "b1", "a2", "b2", "c1")
		h.ordered("b1", "b2")

		closed.Store(false)
		h.reports(function, kinesisEvent(first, second, last), "")
		h.ran("a2", "a3", "a4")
		h.ordered("a2", "a3", "a4")
	})
}

func TestWhatAnAggregateIsAndWhichTheAnswerNames(t *testing.T) {
	t.Parallel()

	plain, broken := kinesisRecord(batch("1 \xF3\x89\x9A\xC2rest b").Records[0]), aggregated("2", "a1 a")
	broken.Kinesis.Data[6] ^= 1

	whole, nameless := aggregated("1", "a1 a", "a2 b"), aggregated("1", "a1 a", "a2 a")
	nameless.EventID = ""

	for name, c := range map[string]struct {
		event  events.KinesisEvent
		asIs   bool // Options.Aggregated
		answer string
		runs   []string
	}{
		// Without a failure in the first aggregate, the stream goes on from the second one.
		"the lowest number that holds a failure": {
			kinesisEvent(aggregated("98", "a1 a"), aggregated("99", "a2 a", "bad b"), aggregated("100", "bad c")), false, "99",
			[]string{"a1", "a2", "bad", "bad"},
		},
		"what is none is an ordinary record": {
			kinesisEvent(plain, broken), false, "", []string{string(plain.Kinesis.Data), string(broken.Kinesis.Data)},
		},
		"a handler that takes them as they are":     {kinesisEvent(whole), true, "", []string{string(whole.Kinesis.Data)}},
		"one without an id, as a test may build it": {kinesisEvent(nameless), false, "1", nil}, // two of them must not share a key
	} {
		each(t, name, oneHarness, func(h *harness) {
			opts := &kinesisOptions{Aggregated: c.asIs}
			h.reports(h.userRecords(failingWith(errBank, "bad"), opts), c.event, c.answer)
			h.ran(c.runs...)
		})
	}
}

func TestAUserRecordThatWillNeverSucceedIsParkedAlone(t *testing.T) {
	t.Parallel()

	var parked journal

	h := newHarness(t, nil)
	function := h.userRecords(failingWith(lambdawrap.Permanent(errBank), "poison"), &kinesisOptions{
		DeadLetter: func(_ context.Context, r events.KinesisEventRecord, _ error) error {
			parked.add(r.Kinesis.SequenceNumber + " " + r.EventID + " " + r.Kinesis.PartitionKey + " " + string(r.Kinesis.Data))

			return nil
		},
	})

	h.reports(function, kinesisEvent(aggregated("7", "a1 a", "poison a", "a2 a")), "")
	h.ran("a1", "poison", "a2")
	h.equal("parked", parked.all(), []string{"7 shardId-000000000000:7:1 a poison"})
}

func TestAnAggregateOfTooManyUserRecordsHasNoKey(t *testing.T) {
	t.Parallel()

	var parked journal

	record := aggregated("1", "a a")
	record.Kinesis.Data = kpltest.Aggregate(make([]kpl.UserRecord, kpl.MaxUserRecords+1)...)

	h := newHarness(t, nil)
	function := h.userRecords(succeed, &kinesisOptions{
		DeadLetter: func(_ context.Context, r events.KinesisEventRecord, err error) error {
			if !errors.Is(err, lambdawrap.ErrNoKey) || !strings.Contains(err.Error(), "more than 10,000 user records") {
				h.Errorf("got %v", err)
			}

			parked.add(r.EventID)
			h.equal("as it arrived", bytes.Equal(r.Kinesis.Data, record.Kinesis.Data), true)

			return nil
		},
	})

	h.reports(function, kinesisEvent(record, kinesisRecord(batch("2 plain a").Records[0])), "")
	h.ran("plain")
	h.equal("parked", parked.all(), []string{record.EventID})
}

// The user records of an aggregate share requests as the records of a batch do.
func TestAnAggregateCostsAsManyRequestsAsABatch(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		var texts []string
		for _, m := range numbered(25).Records {
			texts = append(texts, m.Body+" "+m.Body)
		}

		h.reports(h.userRecords(succeed, &kinesisOptions{Workers: 25}), kinesisEvent(aggregated("1", texts...)), "")
		h.equal("requests", len(h.db.Requests()), 2) // the claims, and the completions
	})
}

// A mapping that is made again, with enhanced fan-out or with a consumer that was registered anew, reads records that another one
// has read before. They are the same work. Another stream has other work, whatever its name begins with.
func TestARecordOfAStreamHasOneKeyWhicheverConsumerReadsIt(t *testing.T) {
	h := parallelHarness(t)
	function := h.userRecords(succeed, &kinesisOptions{})

	for _, c := range []struct {
		arn  string
		runs []string
	}{
		{kinesisARN, []string{"p-1"}},
		{kinesisARN + "/consumer/payments:1540591608", nil},
		{kinesisARN + "/consumer/payments:1702000000", nil},
		{kinesisARN + "-of-others/consumer/payments:1540591608", []string{"p-1"}},
		{kinesisARN + "-of-others", nil},
	} {
		record := kinesisRecord(events.SQSMessage{MessageId: "101", Body: "p-1"})
		record.EventSourceArn = c.arn
		h.reports(function, kinesisEvent(record), "")
		h.equal("runs of "+c.arn, h.runs.all(), c.runs)
	}
}
