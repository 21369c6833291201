package lambdawrap_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// readKafka wraps a handler of records with the default key. h.runs gets the topic, the partition and the value of each run.
func (h *harness) readKafka(
	work lambdawrap.Handler, opts *lambdawrap.KafkaOptions,
) func(events.KafkaEvent) []lambdawrap.KafkaItemIdentifier {
	if opts.Logger = h.opts.Logger; opts.Workers == 0 {
		opts.Workers = 4
	}

	function := lambdawrap.Kafka(h.store, func(ctx context.Context, r lambdawrap.KafkaRecord) error {
		defer h.runs.add(r.Topic + " " + string(r.Value))

		return work(ctx, messageOfKafka(r))
	}, opts)

	return func(event events.KafkaEvent) (failed []lambdawrap.KafkaItemIdentifier) {
		h.runs.clear()

		response, err := function(h.Context(), event)
		h.equal("error", err, nil)

		for _, f := range response.BatchItemFailures {
			failed = append(failed, f.ItemIdentifier)
		}

		return failed
	}
}

func TestEachTopicPartitionIsInOrderAndTheLowestFailedOffsetOfEachIsReported(t *testing.T) {
	everyMode(t, func(h *harness) {
		closed := always()
		read := h.readKafka(failing(closed, "a2", "b3", "b1"), &lambdawrap.KafkaOptions{})
		event := kafkaEvent(batch("10 a2 a", "9 a1 a", "11 a3 a", "8 c2 c", "7 c1 c", "100 b1 b", "101 b2 b", "102 b3 b"))

		h.equal("failed", read(event), []lambdawrap.KafkaItemIdentifier{{Partition: "a-0", Offset: 10}, {Partition: "b-0", Offset: 100}})
		h.ran("a a1", "a a2", "c c1", "c c2", "b b1")
		h.ordered("a a1", "a a2")
		h.ordered("c c1", "c c2")
		h.logs("partition=a-0 offset=10 ", "partition=b-0 offset=102 ", "outcome=blocked")

		closed.Store(false)
		h.equal("failed", read(event), []lambdawrap.KafkaItemIdentifier(nil))
		h.ran("a a2", "a a3", "b b1", "b b2", "b b3")
		h.ordered("a a2", "a a3")
		h.ordered("b b1", "b b2", "b b3")
	})
}

func TestATopicThatIsMadeAgainIsNewWorkAndAnotherListOfBrokersIsNot(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		change func(*events.KafkaEvent)
		runs   []string
	}{
		"the same event":           {func(*events.KafkaEvent) {}, nil},
		"other brokers":            {func(e *events.KafkaEvent) { e.BootstrapServers = "b-7:9092,b-8:9092" }, nil},
		"the topic is made again":  {func(e *events.KafkaEvent) { e.Records["a-0"][0].Timestamp.Time = time.UnixMilli(1_800_000_000_000) }, []string{"a x"}},
		"a cluster without an ARN": {func(e *events.KafkaEvent) { e.EventSource, e.EventSourceARN = "SelfManagedKafka", "" }, []string{"a x"}},
		"another cluster":          {func(e *events.KafkaEvent) { e.EventSourceARN += "5" }, []string{"a x"}},
		"another partition":        {func(e *events.KafkaEvent) { e.Records["a-0"][0].Partition = 1 }, []string{"a x"}},
		"another topic":            {func(e *events.KafkaEvent) { e.Records["a-0"][0].Topic = "z" }, []string{"z x"}},
		"another offset":           {func(e *events.KafkaEvent) { e.Records["a-0"][0].Offset = 1 }, []string{"a x"}},
	} {
		h := newHarness(t, nil)
		read := h.readKafka(succeed, &lambdawrap.KafkaOptions{})
		event := kafkaEvent(batch("0 x a"))
		read(event)
		test.change(&event)

		h.equal(name+", failed", read(event), []lambdawrap.KafkaItemIdentifier(nil))
		h.equal(name, h.runs.all(), test.runs)
	}
}

// The file is as Lambda sends it, with two topics, a tombstone, a key and headers with negative bytes.
func TestARecordedEventOfKafkaIsReadAsItCame(t *testing.T) {
	t.Parallel()

	var got []lambdawrap.KafkaRecord

	h := newHarness(t, nil)
	function := lambda.NewHandler(lambdawrap.Kafka(h.store, func(_ context.Context, r lambdawrap.KafkaRecord) error {
		got = append(got, r)

		if r.Topic == "refunds" {
			return errBank
		}

		return nil
	}, &lambdawrap.KafkaOptions{Logger: h.opts.Logger, Cluster: "main", OnRecord: func(
		_ context.Context, r lambdawrap.KafkaRecord, _ lambdawrap.Outcome,
	) {
		clear(r.Key) // which the handler's record does not share
		clear(r.Value)

		for _, header := range r.Headers {
			clear(header.Value)
		}

		clear(r.Headers)
	}}))

	answer, err := function.Invoke(t.Context(), []byte(readText(t, "testdata/kafka.json")))
	if want := `{"batchItemFailures":[{"itemIdentifier":{"partition":"refunds-3","offset":15}}]}`; string(answer) != want || err != nil {
		t.Errorf("got %s, %v, want %s", answer, err, want)
	}

	without := lambda.NewHandler(lambdawrap.Kafka(h.store, streamHandler(succeed, messageOfKafka), nil))
	answer, err = without.Invoke(t.Context(), []byte(`{"records":{"a-0":[{"topic":"a","offset":1,"timestamp":1}]}}`))
	h.equal("an answer without failures", string(answer), `{"batchItemFailures":[]}`)
	h.equal("its error", err, nil)

	const arn = "arn:aws:kafka:us-west-2:012345678901:cluster/ExampleMSKCluster/e9f754c6-d29a-4430-a7db-958a19fd2c54-4"

	byValue := map[string]lambdawrap.KafkaRecord{}
	for _, r := range got {
		byValue[string(r.Value)] = r
	}

	want := map[string]lambdawrap.KafkaRecord{
		`{"paymentId":"p-1"}`: {
			EventSourceARN: arn, Cluster: "main", Topic: "payments", Offset: 7, Timestamp: time.UnixMilli(1595035749700).UTC(), TimestampType: "CREATE_TIME",
			Key: []byte("ada"), Value: []byte(`{"paymentId":"p-1"}`),
			Headers: []lambdawrap.KafkaRecordHeader{{Name: "id", Value: []byte{118, 220, 0, 127, 128}}, {Name: "id", Value: []byte("x")}},
		},
		"": {
			EventSourceARN: arn, Cluster: "main", Topic: "payments", Offset: 9, Timestamp: time.UnixMilli(1595035749701).UTC(), TimestampType: "CREATE_TIME",
			Key: []byte("ada"), Value: []byte{},
		},
		`{"refundId":"r-1"}`: {
			EventSourceARN: arn, Cluster: "main", Topic: "refunds", Partition: 3, Offset: 15, Timestamp: time.UnixMilli(1595035749702).UTC(),
			TimestampType: "LOG_APPEND_TIME", Key: []byte{}, Value: []byte(`{"refundId":"r-1"}`),
		},
	}
	if diff := cmp.Diff(want, byValue); diff != "" {
		t.Error(diff)
	}
}

func TestWhatIsNoEventOfKafkaIsAnInvocationErrorBeforeAnythingRuns(t *testing.T) {
	t.Parallel()

	for event, want := range map[string]string{
		`{}`:                "no records",
		`{"key1":"value1"}`: "no records",
		`{"eventSource":"aws:rmq","rmqMessagesByQueue":{}}`: `"aws:rmq"`,
		ownEvents["SQS"]:     "KafkaEvent", // encoding/json says so, each version of Go in its own words
		ownEvents["Kinesis"]: "KafkaEvent",
		`{"records":{"a-0":[{"topic":"a","partition":0,"offset":1,"timestamp":1,"value":"e30="},{"partition":0,"offset":1}]}}`: `records["a-0"][1] has no topic`,
		`{"records":{"a-0":[{"topic":"a","partition":0,"offset":-1,"timestamp":1}]}}`:                                          "has no topic, partition and offset",
		`{"records":{"a-0":[{"topic":"a","partition":-1,"offset":1,"timestamp":1}]}}`:                                          "has no topic, partition and offset",
		`{"records":{"a-0":[{"topic":"a","partition":0,"offset":1,"timestamp":1,"value":"%"}]}}`:                               "a value that is not in base64",
		`{"records":{"a-0":[{"topic":"a","partition":0,"offset":1,"timestamp":1,"key":"%"}]}}`:                                 "a key that is not in base64",
	} {
		h := newHarness(t, nil)
		_, err := ofEvents(lambdawrap.Kafka(h.store, streamHandler(h.noted(succeed), messageOfKafka), nil))(t.Context(), event)
		h.errs(event, err, want)
		h.ran()
		h.equal("requests", len(h.db.Requests()), 0)
	}
}

// A topic-partition stands between the lanes of others: a record that waits in one of them takes no worker from another.
func TestTopicPartitionsRunSideBySide(t *testing.T) {
	inBubble(nil)(t, func(h *harness) {
		read := h.readKafka(slowly(time.Second), &lambdawrap.KafkaOptions{Workers: 3})

		begun := time.Now()

		h.equal("failed", read(kafkaEvent(batch("1 a1 a", "2 a2 a", "1 b1 b", "2 b2 b", "1 c1 c"))), []lambdawrap.KafkaItemIdentifier(nil))
		h.lasts(time.Since(begun), 2*time.Second, 3*time.Second) // that of two records of one partition, beside the others
	})
}

func TestKeysOfKafkaRecords(t *testing.T) {
	t.Parallel()

	r := lambdawrap.KafkaRecord{
		EventSourceARN: "arn", Topic: "payments", Partition: 2, Offset: 7, Timestamp: time.UnixMilli(5), Key: []byte("ada"),
		Value: []byte(`{"payment":{"id":"p-1"},"n":1}`),
		Headers: []lambdawrap.KafkaRecordHeader{
			{Name: "id", Value: []byte("h-1")}, {Name: "none"}, {Name: "twice", Value: []byte("a")}, {Name: "twice", Value: []byte("b")},
			{Name: "same", Value: []byte("a")}, {Name: "same"}, {Name: "same", Value: []byte("a")}, {Name: "bytes", Value: []byte{0xFF}},
		},
	}
	with := func(change func(*lambdawrap.KafkaRecord)) lambdawrap.KafkaRecord {
		changed := r
		change(&changed)

		return changed
	}
	body := func(r lambdawrap.KafkaRecord, paths ...string) string {
		key, err := lambdawrap.KafkaBody(paths...)
		if err != nil {
			t.Fatal(err)
		}

		return keyOfEvent(t, key, r)
	}

	for name, c := range map[string]struct{ got, want string }{
		"by default":                {keyOfEvent(t, lambdawrap.KafkaRecordID, r), `#["arn","","payments","2","7","5"]`},
		"of a named cluster":        {keyOfEvent(t, lambdawrap.KafkaRecordID, with(func(r *lambdawrap.KafkaRecord) { r.EventSourceARN, r.Cluster = "", "main" })), `#["","main","payments","2","7","5"]`},
		"at the time zero":          {keyOfEvent(t, lambdawrap.KafkaRecordID, with(func(r *lambdawrap.KafkaRecord) { r.Timestamp = time.UnixMilli(0) })), `#["arn","","payments","2","7","0"]`},
		"without a timestamp":       {keyOfEvent(t, lambdawrap.KafkaRecordID, with(func(r *lambdawrap.KafkaRecord) { r.Timestamp = time.Time{} })), "no key"},
		"with Kafka's none":         {keyOfEvent(t, lambdawrap.KafkaRecordID, with(func(r *lambdawrap.KafkaRecord) { r.Timestamp = time.UnixMilli(-1) })), "no key"},
		"without a topic":           {keyOfEvent(t, lambdawrap.KafkaRecordID, with(func(r *lambdawrap.KafkaRecord) { r.Topic = "" })), "no key"},
		"with a topic of no text":   {keyOfEvent(t, lambdawrap.KafkaRecordID, with(func(r *lambdawrap.KafkaRecord) { r.Topic = "\xff" })), "no key"},
		"its key":                   {keyOfEvent(t, lambdawrap.KafkaKey, r), `#["payments","String","ada"]`},
		"its key, no text":          {keyOfEvent(t, lambdawrap.KafkaKey, with(func(r *lambdawrap.KafkaRecord) { r.Key = []byte{0xFF, 0} })), `#["payments","Binary","/wA="]`},
		"its key, none":             {keyOfEvent(t, lambdawrap.KafkaKey, with(func(r *lambdawrap.KafkaRecord) { r.Key = nil })), "no key"},
		"its key, topic of no text": {keyOfEvent(t, lambdawrap.KafkaKey, with(func(r *lambdawrap.KafkaRecord) { r.Topic = "\xff" })), "no key"},
		"a path":                    {body(r, "payment.id"), "p-1"},
		"two paths":                 {body(r, "payment.id", "n"), `#["p-1",1]`},
		"a path that is not there":  {body(r, "x"), "no key"},
		"a path in a tombstone":     {body(with(func(r *lambdawrap.KafkaRecord) { r.Value = nil }), "n"), "no key"},
		"a header":                  {keyOfEvent(t, lambdawrap.KafkaHeader("id"), r), `#["String","h-1"]`},
		"a header of bytes":         {keyOfEvent(t, lambdawrap.KafkaHeader("bytes"), r), `#["Binary","/w=="]`},
		"a header, twice the same":  {keyOfEvent(t, lambdawrap.KafkaHeader("same"), r), `#["String","a"]`},
		"a header with two values":  {keyOfEvent(t, lambdawrap.KafkaHeader("twice"), r), "no key"},
		"an empty header":           {keyOfEvent(t, lambdawrap.KafkaHeader("none"), r), "no key"},
		"a header of another name":  {keyOfEvent(t, lambdawrap.KafkaHeader("ID"), r), "no key"},
	} {
		same(t, name, c.got, c.want)
	}

	if _, err := lambdawrap.KafkaBody(); err == nil {
		t.Error("no path is a function all the same")
	}
}

// FuzzKafkaEvent sends any JSON through Lambda's own decoding. The function returns an error before anything runs, or names a
// record of the event for each topic-partition that has a failure, and no later one than the first.
func FuzzKafkaEvent(f *testing.F) {
	for _, seed := range []string{
		readText(f, "testdata/kafka.json"),
		`{"eventSource":"SelfManagedKafka","records":{"t-0":[{"topic":"t","partition":0,"offset":2,"timestamp":1,"value":"YmFk"},{"topic":"t","partition":0,"offset":1,"timestamp":1,"value":"b2s="}],"t-1":[{"topic":"t","partition":1,"offset":10,"timestamp":1,"value":"YmFk"},{"topic":"t","partition":1,"offset":9,"timestamp":1,"value":"YmFk"}]}}`,
		`{"records":{"t-0":[{"topic":"t","offset":1,"timestamp":-1,"key":"YQ==","value":null,"headers":[{"a":[1,-2],"b":[]},{}]}]}}`,
		`{"records":{"":[{"topic":"t"}],"x":null}}`, `{"records":{"":[{"topic":"t"}]}} and more`, `{"records":{}}`, `{"records":null}`, `{"records":[]}`, `null`,
	} {
		f.Add([]byte(seed), uint8(1))
		f.Add([]byte(seed), uint8(5))
	}

	f.Fuzz(func(t *testing.T, payload []byte, workers uint8) {
		var (
			event    events.KafkaEvent
			response lambdawrap.KafkaEventResponse
		)

		h, ran, failed := newHarness(t, nil), journal{}, journal{}

		answer, err := lambda.NewHandler(lambdawrap.Kafka(h.store, func(_ context.Context, r lambdawrap.KafkaRecord) error {
			ran.add(r.Topic)

			if strings.Contains(string(r.Value), "bad") {
				failed.add(r.Topic)

				return errBank
			}

			return nil
		}, &lambdawrap.KafkaOptions{
			Workers: int(workers), Logger: slog.New(slog.DiscardHandler), OnRecord: func(context.Context, lambdawrap.KafkaRecord, lambdawrap.Outcome) {},
		})).Invoke(t.Context(), payload)
		if err != nil {
			h.equal("runs before an error", ran.all(), []string(nil))

			return
		}

		decoded := json.NewDecoder(bytes.NewReader(payload)).Decode(&event) // Lambda decodes it so
		if decoded != nil || json.Unmarshal(answer, &response) != nil || len(failed.all()) > 0 && len(response.BatchItemFailures) == 0 {
			t.Fatalf("answered %s", answer)
		}

		for _, f := range response.BatchItemFailures {
			isKnown := false

			for _, r := range event.Records[f.ItemIdentifier.Partition] {
				isKnown = isKnown || r.Offset == f.ItemIdentifier.Offset
			}

			h.equal("the answer is of the batch", isKnown, true)
		}
	})
}

func TestKafkaJSONFailsWithItsHandlerAndForGoodWithoutAValue(t *testing.T) {
	t.Parallel()

	pay := lambdawrap.KafkaJSON(func(context.Context, int) error { return errBank })

	for value, isPermanent := range map[string]bool{"1": false, "one": true, "": true} {
		err := pay(t.Context(), lambdawrap.KafkaRecord{Value: []byte(value)})
		if err == nil || panicerror.IsPermanent(err) != isPermanent || errors.Is(err, errBank) == isPermanent {
			t.Errorf("%q: got %v, want one that is permanent: %t", value, err, isPermanent)
		}
	}
}
