package main

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/kpl"
	"github.com/idemddb/go-idemddb/internal/kpl/kpltest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

const (
	kinesisEvent = `{"Records":[
		{"eventSource":"aws:kinesis","eventID":"shardId-0:101","eventSourceARN":"arn:aws:kinesis:eu-west-1:111122223333:stream/payments",
		 "kinesis":{"sequenceNumber":"101","partitionKey":"anna","data":"eyJwYXltZW50SWQiOiJwLTkifQ=="}},
		{"eventSource":"aws:kinesis","eventID":"shardId-0:102","eventSourceARN":"arn:aws:kinesis:eu-west-1:111122223333:stream/payments",
		 "kinesis":{"sequenceNumber":"102","partitionKey":"anna","data":"eyJwYXltZW50SWQiOiJwLTEwIn0="}}]}`
	streamEvent = `{"Records":[{"eventSource":"aws:dynamodb","eventID":"e-7","eventName":"INSERT",
		"eventSourceARN":"arn:aws:dynamodb:eu-west-1:111122223333:table/orders/stream/2026","dynamodb":{"SequenceNumber":"7","Keys":{"pk":{"S":"o-1"}}}}]}`
	urlEvent     = `{"version":"2.0","headers":{"idempotency-key":"k-1","content-type":"application/json"},"requestContext":{"http":{"method":"POST"}},"body":"{}"}`
	gatewayEvent = `{"headers":{"Idempotency-Key":"k-2"},"multiValueHeaders":{"Idempotency-Key":["k-1"]},"body":null}`
	requestText  = "POST /payments HTTP/1.1\r\nHost: api.example.com\r\nIdempotency-Key: \"k-1\"\r\n\r\n{}"
)

func (n *night) file(content string) string {
	n.t.Helper()

	file := filepath.Join(n.dir, "event")
	if err := os.WriteFile(file, []byte(content), 0o600); err != nil {
		n.t.Fatal(err)
	}

	return file
}

// The key of each kind of event is what its wrapper makes of it.
func TestAKeyIsFoundByAnEventOfEachKind(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())

	of := func(key string, err error) string {
		t.Helper()

		if err != nil {
			t.Fatal(err)
		}

		n.complete(key)

		return key
	}

	var kinesis events.KinesisEvent
	if err := json.Unmarshal([]byte(kinesisEvent), &kinesis); err != nil {
		t.Fatal(err)
	}

	var stream events.DynamoDBEvent
	if err := json.Unmarshal([]byte(streamEvent), &stream); err != nil {
		t.Fatal(err)
	}

	var (
		first  = of(lambdawrap.KinesisRecordID(t.Context(), kinesis.Records[0]))
		second = of(lambdawrap.KinesisRecordID(t.Context(), kinesis.Records[1]))
		change = of(lambdawrap.DynamoDBRecordID(t.Context(), stream.Records[0]))
		asked  = of(lambdawrap.HTTPKey("anna", &http.Request{Header: http.Header{"Idempotency-Key": {"k-1"}}}))
		record = kinesisEvent[strings.Index(kinesisEvent, "[")+1 : strings.Index(kinesisEvent, "}},")+2]
	)

	of("p-9", nil)
	of("p-10", nil)

	aggregate := kinesis.Records[0]
	aggregate.EventID += "0"
	aggregate.Kinesis.Data = kpltest.Aggregate(
		kpl.UserRecord{PartitionKey: "anna", Data: []byte(`{"paymentId":"p-9"}`)}, kpl.UserRecord{PartitionKey: "otto", Data: []byte(`{"paymentId":"p-10"}`)})
	whole := of(lambdawrap.KinesisRecordID(t.Context(), aggregate))

	aggregated, err := json.Marshal(aggregate)
	if err != nil {
		t.Fatal(err)
	}

	opened := []string{of(strings.TrimSuffix(whole, "\"]")+":0\"]", nil), of(strings.TrimSuffix(whole, "\"]")+":1\"]", nil)}

	for name, test := range map[string]struct {
		content string
		flags   []string
		want    []string
	}{
		"records of a Kinesis stream":   {kinesisEvent, nil, []string{first, second}},
		"their data":                    {kinesisEvent, []string{"--path", "paymentId"}, []string{"p-9", "p-10"}},
		"one of them":                   {record, nil, []string{first}},
		"records in an aggregated one":  {string(aggregated), nil, opened},
		"their data, opened":            {string(aggregated), []string{"--path", "paymentId"}, []string{"p-9", "p-10"}},
		"one that is not opened":        {string(aggregated), []string{"--aggregated"}, []string{whole}},
		"a change of a table":           {streamEvent, nil, []string{change}},
		"a request to a function URL":   {urlEvent, []string{"--caller", "anna"}, []string{asked}},
		"a request to an API, its list": {gatewayEvent, []string{"--caller", "anna"}, []string{asked}},
		"a request as text":             {requestText, []string{"--caller", "anna"}, []string{asked}},
		"the beginning of one":          {"POST / HTTP/1.1\nIdempotency-Key: k-1", []string{"--caller", "anna"}, []string{asked}},
	} {
		if code := n.idem(append([]string{"show", "--json", "--message", n.file(test.content)}, test.flags...)...); code != exitDone {
			t.Errorf("%s: exit code %d:\n%s", name, code, n.shown())

			continue
		}

		lines := strings.Split(strings.TrimSpace(n.lastOut), "\n")
		if len(lines) != len(test.want) {
			t.Errorf("%s: found %d keys, want %d:\n%s", name, len(lines), len(test.want), n.shown())
		}

		for i, line := range lines {
			var got found
			if err := json.Unmarshal([]byte(line), &got); err != nil || i >= len(test.want) || got.Typed != test.want[i] {
				t.Errorf("%s: found %q, want %q: %v", name, got.Typed, test.want, err)
			}
		}
	}
}

// What cannot be read is refused with the name of the field or the flag.
func TestAMalformedEventSaysWhatIsWrong(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())

	for _, test := range []struct {
		content string
		flags   []string
		want    string
	}{
		{"paymentId=p-9", nil, "--message: is neither JSON nor an HTTP request"},
		{"{}", nil, "--message: must hold an event of SQS, Kinesis or a DynamoDB stream"},
		{`{"Records":[]}`, nil, "--message: field Records is empty"},
		{`{"Records":{}}`, nil, `field "Records" must not be a JSON object`},
		{`{"Records":[{"eventSource":"aws:sns"}]}`, nil, `Records[0].eventSource is "aws:sns"`},
		{`{"Records":[{"eventSource":"aws:sqs"},{"eventSource":"aws:kinesis"}]}`, nil, `Records[1].eventSource is "aws:kinesis"`},
		{`{"Records":[{"messageId":7}]}`, nil, `field "Records.messageId" must not be a JSON number`},
		{`{"Records":[{"eventSource":"aws:kinesis","kinesis":{"sequenceNumber":"1"}}]}`, nil, "record 1: lambdawrap: no key in the message: eventSourceARN is empty"},
		{`{"Records":[{"eventSource":"aws:kinesis","kinesis":{"data":"p-9!"}}]}`, nil, "--message: field Records[0].kinesis.data must be base64"},
		{`{"Records":[{"eventSource":"aws:kinesis","kinesis":{"sequenceNumber":1}}]}`, nil, `field "Records.kinesis.sequenceNumber" must not be a JSON number`},
		{`{"Records":[{"eventSource":"aws:dynamodb","eventSourceARN":"a","dynamodb":{"SequenceNumber":"7","Keys":{"pk":7}}}]}`, nil, "change 7: lambdawrap: no key in the message: eventID is empty"},
		{`{"Records":[{"eventSource":"aws:dynamodb","dynamodb":[]}]}`, nil, `field "Records.dynamodb" must not be a JSON array`},
		{streamEvent, []string{"--path", "pk"}, "--path: is not for changes of a table"},
		{kinesisEvent, []string{"--path", "orderId"}, "record 101: lambdawrap: no key in the message: path `orderId` picks nothing"},
		{kinesisEvent, []string{"--key", "message-id"}, "--key: is not for records of Kinesis"},
		{streamEvent, []string{"--aggregated"}, "--aggregated: is not for changes of a table"},
		{urlEvent, nil, "--caller: must not be empty for an HTTP request"},
		{urlEvent, []string{"--caller", "anna", "--path", "paymentId"}, "--path: is not for HTTP requests"},
		{`{"headers":{"host":"x"}}`, []string{"--caller", "anna"}, "the request: lambdawrap: no key in the message: header Idempotency-Key is absent"},
		{`{"messageId":"m","body":"b"}`, []string{"--caller", "anna"}, "--caller: is not for messages of SQS"},
		{`{"messageId":"m","body":"b"}`, nil, "message m: lambdawrap: no key in the message: eventSourceARN is empty"},
	} {
		n.idem(append([]string{"show", "--message", n.file(test.content)}, test.flags...)...)
		n.expect(exitError, test.want)
		n.screen.Reset()
	}
}

// The traceparent of the run leads to its spans.
func TestShowHasTheTraceOfTheRun(t *testing.T) {
	onEachEngine(t, func(n *night) {
		const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

		n.trace(parent)
		n.complete("p-9")
		n.idem("show", "p-9")
		n.expect(exitDone, "its trace      "+parent)
		n.idem("show", "p-9", "--json")
		n.expect(exitDone, `"trace":"`+parent+`"`)
	})
}

// What stands in envelopes is found as the wrapper finds it: each message with its own key.
func TestAKeyIsFoundThroughTheEnvelopesOfItsFunction(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	for _, key := range []string{`#["SNS","n-1"]`, "p-9"} {
		n.complete(key)
	}

	notification := `{"messageId":"m-1","eventSource":"aws:sqs","eventSourceARN":"arn:aws:sqs:eu-west-1:111122223333:q","body":` +
		`"{\"Type\":\"Notification\",\"MessageId\":\"n-1\",\"Message\":\"eyJwYXltZW50SWQiOiJwLTkifQ==\"}"}`

	n.idem("show", "--message", n.file(notification), "--envelope", "sns")
	n.expect(exitDone, `#["SNS","n-1"]`)
	n.idem("show", "--message", n.file(notification), "--envelope", "sns", "--envelope", "base64", "--path", "paymentId")
	n.expect(exitDone, "p-9")
}
