package lambdawrap_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/aws/smithy-go"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// recordedBody returns a body as a service has sent it.
func recordedBody(t testing.TB, name string) string {
	t.Helper()

	return readText(t, "testdata/envelopes/"+name+".json")
}

// arrived returns a message of a queue with this body.
func arrived(body string) events.SQSMessage {
	return events.SQSMessage{
		MessageId: "m-1", ReceiptHandle: "h-1", Body: body, EventSource: "aws:sqs", EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments",
		Md5OfBody: "of the envelope", Md5OfMessageAttributes: "of the queue", Attributes: map[string]string{"ApproximateReceiveCount": "3"},
	}
}

// notification returns the envelope of SNS around a message.
func notification(t testing.TB, id, message string) string {
	t.Helper()

	return asJSON(t, map[string]string{"Type": "Notification", "MessageId": id, "TopicArn": "arn:aws:sns:eu-west-1:111122223333:t", "Message": message})
}

func asJSON(t testing.TB, value any) string {
	t.Helper()

	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}

	return string(text)
}

func zipped(t testing.TB, text string) string {
	t.Helper()

	var b bytes.Buffer

	w := gzip.NewWriter(&b)
	_, err := io.WriteString(w, text)

	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}

	return b.String()
}

func in64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

// shelf is a bucket in memory. An error stands in the place of an object that cannot be read.
type shelf map[string]any

func (s shelf) GetObject(_ context.Context, in *awss3.GetObjectInput, _ ...func(*awss3.Options)) (*awss3.GetObjectOutput, error) {
	switch object := s[aws.ToString(in.Bucket)+"/"+aws.ToString(in.Key)].(type) {
	case string:
		return &awss3.GetObjectOutput{Body: io.NopCloser(strings.NewReader(object)), ContentLength: aws.Int64(int64(len(object)))}, nil
	case io.ReadCloser:
		return &awss3.GetObjectOutput{Body: object}, nil
	case io.Reader: // of unknown length
		return &awss3.GetObjectOutput{Body: io.NopCloser(object)}, nil
	case error:
		return nil, object
	default:
		return nil, &types.NoSuchKey{}
	}
}

const pointerTo = `["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b","s3Key":"k"}]`

// plain is an Enveloped without what is as it arrived.
type plain struct{ Body, Name, ID string }

func plainOf(opened []lambdawrap.Enveloped) (all []plain) {
	for _, e := range opened {
		all = append(all, plain{e.Message.Body, e.Name, e.ID})
	}

	return all
}

func TestANotificationAndAnEventOpenWithTheirAttributes(t *testing.T) {
	t.Parallel()

	text := func(value string) events.SQSMessageAttribute {
		return events.SQSMessageAttribute{DataType: "String", StringValue: &value}
	}

	for name, c := range map[string]struct {
		open       lambdawrap.EnvelopeFunc
		body, id   string
		attributes map[string]events.SQSMessageAttribute
	}{
		"SNS": {lambdawrap.SNS, `{"paymentId":"p-1","note":"Grüße 😀"}`, "63a3f6b6-d533-4a47-aef9-fcf5cf758c76", map[string]events.SQSMessageAttribute{
			"tenant": text("t-1"), "Tenant": {DataType: "Number", StringValue: new("7")}, "raw": {DataType: "Binary", BinaryValue: []byte{0, 1, 2}},
		}},
		"EventBridge": {
			lambdawrap.EventBridge, `{"instance-id":" i-1234567890abcdef0","state":"terminated"}`, "6a7e8feb-b491-4cf7-a9f1-bf3703467718",
			map[string]events.SQSMessageAttribute{
				"source": text("aws.ec2"), "detail-type": text("EC2 Instance State-change Notification"), "account": text("111122223333"),
				"time": text("2017-12-22T18:43:48Z"), "region": text("us-west-1"),
			},
		},
	} {
		opened, err := c.open(t.Context(), arrived(recordedBody(t, strings.ToLower(name))))
		message := arrived(c.body)
		message.Md5OfBody, message.Md5OfMessageAttributes, message.MessageAttributes = "", "", c.attributes

		if diff := cmp.Diff([]lambdawrap.Enveloped{{Message: message, Name: name, ID: c.id}}, opened); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

func TestEachRecordOfANotificationOfS3IsAMessage(t *testing.T) {
	t.Parallel()

	opened, err := lambdawrap.EnvelopeFunc(lambdawrap.S3).Open(t.Context(), arrived(recordedBody(t, "s3")))
	if err != nil || len(opened) != 2 {
		t.Fatal(opened, err)
	}

	for i, want := range []struct{ id, messageID, key string }{
		{
			"ObjectCreated:Put 0055AED6DCD90281E5 amzn-s3-demo-bucket/Happy+Face.jpg", "m-1",
			`#["S3","ObjectCreated:Put 0055AED6DCD90281E5 amzn-s3-demo-bucket/Happy+Face.jpg"]`,
		},
		{"", "m-1/1", `#["arn:aws:sqs:eu-west-1:111122223333:payments","m-1/1"]`}, // without a sequencer
	} {
		var record events.S3EventRecord
		if err := json.Unmarshal([]byte(opened[i].Message.Body), &record); err != nil || record.S3.Object.Key != "Happy+Face.jpg" {
			t.Errorf("body %d: %v, %v", i, record, err)
		}

		key, err := opened[i].Key()
		if e := opened[i]; e.ID != want.id || e.Message.MessageId != want.messageID || key != want.key || err != nil {
			t.Errorf("message %d: ID %q, MessageId %q, key %q, %v, want %+v", i, e.ID, e.Message.MessageId, key, err, want)
		}
	}

	if opened, err := lambdawrap.S3(t.Context(), arrived(recordedBody(t, "s3_test_event"))); err != nil || len(opened) != 0 {
		t.Errorf("of a test event: %v, %v, want nothing", opened, err)
	}
}

// What another function staged has one id, however often the outbox sends it, and on whichever way.
func TestAStagedMessageKeepsItsIDInAnEnvelope(t *testing.T) {
	t.Parallel()

	keys := map[string]bool{}

	for name, c := range map[string]struct {
		open lambdawrap.EnvelopeFunc
		body string
	}{
		"SNS":       {lambdawrap.SNS, `{"Type":"Notification","MessageId":"1","Message":"x","MessageAttributes":{"idemddb-id":{"Type":"String","Value":"T-0"}}}`},
		"SNS again": {lambdawrap.SNS, `{"Type":"Notification","MessageId":"2","Message":"x","MessageAttributes":{"idemddb-id":{"Type":"String","Value":"T-0"}}}`},
		"EventBridge": {
			lambdawrap.EventBridge,
			`{"id":"3","source":"s","detail-type":"d","time":"","account":"","region":"","resources":["x","idemddb:T-0"],"detail":{}}`,
		},
	} {
		opened, err := c.open(t.Context(), arrived(c.body))
		if err != nil || len(opened) != 1 || opened[0].ID != "T-0" {
			t.Errorf("%s: %v, %v", name, opened, err)

			continue
		}

		if empty, isThere := opened[0].Message.MessageAttributes["time"]; isThere {
			t.Errorf("%s: an attribute without a value: %v", name, empty)
		}

		key, _ := opened[0].Key()
		keys[key] = true

		if sent, err := lambdawrap.SentMessageID(t.Context(), opened[0].Message); sent != "T-0" || err != nil {
			t.Errorf("%s: SentMessageID = %q, %v", name, sent, err)
		}
	}

	same(t, "number of keys", len(keys), 1)
}

// The orders of envelopes inside of each other are those of TestAChainOpensEnvelopesInEveryOrder.
func TestEnvelopesOpenInsideOfEachOther(t *testing.T) {
	t.Parallel()

	record := `{"eventSource":"aws:s3","eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"b"},"object":{"key":"o","sequencer":"0A"}}}`
	fetch := lambdawrap.S3Pointer(shelf{"b/k": "large"})
	chain := lambdawrap.Chain

	for name, c := range map[string]struct {
		open lambdawrap.EnvelopeFunc
		body string
		want []plain
	}{
		"nothing":                      {chain(), "x", []plain{{"x", "", ""}}},
		"base64":                       {lambdawrap.Base64, in64("héllo"), []plain{{"héllo", "", ""}}},
		"base64 for URLs, not padded":  {lambdawrap.Base64, "-_8", []plain{{"\xfb\xff", "", ""}}},
		"a pointer":                    {fetch, pointerTo, []plain{{"large", "S3Pointer", "b/k"}}},
		"a pointer of the older class": {fetch, `["com.amazon.sqs.javamessaging.MessageS3Pointer",{"s3BucketName":"b","s3Key":"k"}]`, []plain{{"large", "S3Pointer", "b/k"}}},
		"a small body":                 {fetch, `["a",{}]`, []plain{{`["a",{}]`, "", ""}}},
		"a small body without items":   {fetch, `[]`, []plain{{`[]`, "", ""}}},
		"base64, at a limit":           {lambdawrap.Limited(chain(lambdawrap.Base64), lambdawrap.EnvelopeLimits{Bytes: 5}), in64("exact"), []plain{{"exact", "", ""}}},
		"compressed, at a limit":       {lambdawrap.Limited(lambdawrap.Gzip, lambdawrap.EnvelopeLimits{Bytes: 5}), zipped(t, "exact"), []plain{{"exact", "", ""}}},
		"an object, at a limit":        {lambdawrap.Limited(fetch, lambdawrap.EnvelopeLimits{Bytes: 5}), pointerTo, []plain{{"large", "S3Pointer", "b/k"}}},
		"S3 through SNS: the inner id": {
			chain(lambdawrap.SNS, lambdawrap.S3), notification(t, "n-1", `{"Records":[`+record+`]}`), []plain{{record, "S3", "ObjectCreated:Put 0A b/o"}},
		},
		"S3 through SNS, without sequencers": {
			chain(lambdawrap.SNS, lambdawrap.S3),
			notification(t, "n-1", `{"Records":[`+strings.ReplaceAll(record+","+record, "0A", "")+`]}`),
			[]plain{{strings.ReplaceAll(record, "0A", ""), "SNS", `#["n-1","0"]`}, {strings.ReplaceAll(record, "0A", ""), "SNS", `#["n-1","1"]`}},
		},
		"S3 in base64, without sequencers": {
			chain(lambdawrap.Base64, lambdawrap.S3), in64(strings.ReplaceAll(`{"Records":[`+record+","+record+`]}`, "0A", "")),
			[]plain{{strings.ReplaceAll(record, "0A", ""), "S3", ""}, {strings.ReplaceAll(record, "0A", ""), "S3", ""}},
		},
		"the test event of S3 through SNS": {chain(lambdawrap.SNS, lambdawrap.S3), notification(t, "n-1", recordedBody(t, "s3_test_event")), nil},
		"SNS, a small body":                {chain(lambdawrap.SNS, fetch), notification(t, "n-1", "small"), []plain{{"small", "SNS", "n-1"}}},
		"a chain in a chain": {
			chain(chain(lambdawrap.SNS, lambdawrap.Base64), chain(lambdawrap.Gzip)), notification(t, "n-1", in64(zipped(t, "deep"))),
			[]plain{{"deep", "SNS", "n-1"}},
		},
	} {
		opened, err := c.open.Open(t.Context(), arrived(c.body))
		if diff := cmp.Diff(c.want, plainOf(opened)); diff != "" || err != nil {
			t.Errorf("%s: %v\n%s", name, err, diff)
		}
	}
}

// An envelope that will never open says why, without a word of what it holds.
func TestAnEnvelopeThatDoesNotOpenSaysWhy(t *testing.T) {
	t.Parallel()

	const secret = "secret"

	fetch := lambdawrap.S3Pointer(shelf{"b/k": strings.Repeat("x", 21), "b/u": strings.NewReader(strings.Repeat("x", 21))})
	small := lambdawrap.EnvelopeLimits{Bytes: 20}
	s3Without := func(part string) string {
		return strings.Replace(`{"Records":[{"eventSource":"aws:s3","eventName":"n","s3":{"bucket":{"name":"b"},"object":{"key":"k"}}}]}`, part, `""`, 1)
	}

	for name, c := range map[string]struct {
		open lambdawrap.EnvelopeFunc
		body string
		want string
	}{
		"raw delivery of JSON":     {lambdawrap.SNS, `{"paymentId":"secret"}`, "it has no Type; a subscription with raw message delivery has no envelope"},
		"raw delivery of text":     {lambdawrap.SNS, secret, "it is no JSON object; a subscription with raw message delivery has no envelope"},
		"null":                     {lambdawrap.SNS, "null", "it is no JSON object"},
		"a confirmation":           {lambdawrap.SNS, recordedBody(t, "sns_confirmation"), "visit its SubscribeURL"},
		"another Type":             {lambdawrap.SNS, `{"Type":"secret"}`, "its Type is not Notification"},
		"other case":               {lambdawrap.SNS, `{"type":"Notification","messageId":"1","message":"secret"}`, "it has no Type"},
		"no id":                    {lambdawrap.SNS, `{"Type":"Notification","MessageId":"","Message":"secret"}`, "its MessageId is empty"},
		"no message":               {lambdawrap.SNS, `{"Type":"Notification","MessageId":"1"}`, "it has no Message"},
		"a message of no text":     {lambdawrap.SNS, `{"Type":"Notification","MessageId":"1","Message":{"a":"secret"}}`, "its Message is no string"},
		"half a surrogate pair":    {lambdawrap.SNS, `{"Type":"Notification","MessageId":"1","Message":"secret\ud800"}`, "its Message has half a surrogate pair"},
		"no UTF-8":                 {lambdawrap.SNS, "{\"Type\":\"Notification\",\"MessageId\":\"1\",\"Message\":\"secret\xff\"}", "its Message is not valid UTF-8"},
		"attributes of no kind":    {lambdawrap.SNS, `{"Type":"Notification","MessageId":"1","Message":"m","MessageAttributes":["secret"]}`, "its MessageAttributes are none"},
		"attribute without type":   {lambdawrap.SNS, `{"Type":"Notification","MessageId":"1","Message":"m","MessageAttributes":{"a":{"Value":"secret"}}}`, "the type of a message attribute is no string"},
		"attribute no base64":      {lambdawrap.SNS, `{"Type":"Notification","MessageId":"1","Message":"m","MessageAttributes":{"a":{"Type":"Binary","Value":"secret!"}}}`, "not in base64"},
		"cut":                      {lambdawrap.SNS, recordedBody(t, "sns")[:300], "it is no JSON object"},
		"a transformed event":      {lambdawrap.EventBridge, `{"detail":{"a":"secret"}}`, "it has no id; does its rule send something else than the matched event?"},
		"an event that is no JSON": {lambdawrap.EventBridge, secret, "it is no JSON object; does its rule send something else than the matched event?"},
		"an event without detail": {
			lambdawrap.EventBridge, `{"id":"1","source":"s","detail-type":"d","time":"t","account":"a","region":"r"}`, "its detail is no object",
		},
		"an event without source": {
			lambdawrap.EventBridge, `{"id":"1","source":"","detail-type":"d","time":"t","account":"a","region":"r","detail":{}}`, "its id or its source is empty",
		},
		"an event with an empty id": {
			lambdawrap.EventBridge, `{"id":"","source":"s","detail-type":"d","time":"t","account":"a","region":"r","detail":{}}`, "its id or its source is empty",
		},
		"a notification of no JSON":  {lambdawrap.S3, secret, "it is no JSON object"},
		"no records":                 {lambdawrap.S3, `{"Records":[]}`, "it has no Records"},
		"another Event":              {lambdawrap.S3, `{"Event":"secret"}`, "it has no Records"},
		"a record without a source":  {lambdawrap.S3, s3Without(`"aws:s3"`), "Records[0] is none of S3"},
		"a record without a name":    {lambdawrap.S3, s3Without(`"n"`), "Records[0] is none of S3"},
		"a record without a bucket":  {lambdawrap.S3, s3Without(`"b"`), "Records[0] is none of S3"},
		"a record without a key":     {lambdawrap.S3, s3Without(`"k"`), "Records[0] is none of S3"},
		"a record of no kind":        {lambdawrap.S3, `{"Records":["secret"]}`, "Records[0] is none of S3"},
		"a notification with spaces": {lambdawrap.S3, `{"Records":[{"eventSource":"aws:s3","eventName":"a b","s3":{"bucket":{"name":"b"},"object":{"key":"k"}}}]}`, "has a space"},
		"a test event with records":  {lambdawrap.S3, `{"Event":"s3:TestEvent","Records":"secret"}`, "it has no Records"},
		"no base64":                  {lambdawrap.Base64, "secret!", "it is not in base64"},
		"empty base64":               {lambdawrap.Base64, "==", "it is empty"},
		"no gzip":                    {lambdawrap.Gzip, secret, "it does not begin as one"},
		"gzip, cut":                  {lambdawrap.Gzip, zipped(t, secret)[:20], "it is damaged or ends early"},
		"gzip, and more":             {lambdawrap.Gzip, zipped(t, secret) + secret, "it is damaged or ends early"},
		"gzip, empty":                {lambdawrap.Gzip, zipped(t, ""), "it is empty"},
		"a bomb":                     {lambdawrap.Gzip, zipped(t, strings.Repeat("secret", 2<<20)), "more than the 10485760 bytes of EnvelopeLimits.Bytes"},
		"over a limit":               {lambdawrap.Limited(lambdawrap.Gzip, small), zipped(t, strings.Repeat("x", 21)), "more than the 20 bytes"},
		"over a limit, in a chain": {
			lambdawrap.Limited(lambdawrap.Chain(lambdawrap.Base64), small), in64(strings.Repeat("x", 21)), "more than the 20 bytes",
		},
		"nothing left for the next one":     {lambdawrap.Limited(lambdawrap.Chain(plus, fetch), lambdawrap.EnvelopeLimits{Bytes: 1}), "a+", "more than the 1 bytes"},
		"an object over a limit":            {lambdawrap.Limited(fetch, small), pointerTo, "more than the 20 bytes"},
		"an object of unknown length":       {lambdawrap.Limited(fetch, small), strings.Replace(pointerTo, `"k"`, `"u"`, 1), "more than the 20 bytes"},
		"an object that is gone":            {fetch, strings.Replace(pointerTo, `"k"`, `"gone"`, 1), "the object that it points to is gone"},
		"a pointer without a key":           {fetch, `["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3BucketName":"b","s3Key":""}]`, "its s3Key is empty"},
		"a pointer without a bucket's name": {fetch, `["software.amazon.payloadoffloading.PayloadS3Pointer",{"s3Key":"k"}]`, "it has no s3BucketName"},
		"a pointer to an empty bucket":      {fetch, strings.Replace(pointerTo, `"b"`, `""`, 1), "its s3BucketName is no bucket"},
		"a pointer to a path":               {fetch, strings.Replace(pointerTo, `"b"`, `"b/k"`, 1), "its s3BucketName is no bucket"},
		"a pointer of another kind":         {fetch, `["software.amazon.payloadoffloading.PayloadS3Pointer",["secret"]]`, "it is no JSON object"},
	} {
		opened, err := c.open.Open(t.Context(), arrived(c.body))
		if !errors.Is(err, lambdawrap.ErrNoKey) || opened != nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: %v, %v, want ErrNoKey with %q", name, opened, err, c.want)
		}
	}

	marked := arrived(secret)
	marked.MessageAttributes = map[string]events.SQSMessageAttribute{"ExtendedPayloadSize": {DataType: "Number", StringValue: new("300000")}}

	if _, err := fetch(t.Context(), marked); !errors.Is(err, lambdawrap.ErrNoKey) {
		t.Errorf("marked as a pointer, and none: %v", err)
	}
}

// What may be mended lets the message come back: nothing is dead-lettered for a missing permission or a wrong option.
func TestAnEnvelopeThatMayOpenLaterIsNotPermanent(t *testing.T) {
	t.Parallel()

	broken := errors.New("the connection broke")

	for name, open := range map[string]lambdawrap.EnvelopeFunc{
		"denied":            lambdawrap.S3Pointer(shelf{"b/k": &smithy.GenericAPIError{Code: "AccessDenied"}}),
		"no answer":         lambdawrap.S3Pointer(shelf{"b/k": broken}),
		"no bucket":         lambdawrap.S3Pointer(shelf{"b/k": &types.NoSuchBucket{}}),
		"a broken read":     lambdawrap.S3Pointer(shelf{"b/k": io.MultiReader(strings.NewReader("half"), iotestErr{broken})}),
		"five in a chain":   lambdawrap.Chain(lambdawrap.Base64, lambdawrap.Base64, lambdawrap.Base64, lambdawrap.Base64, lambdawrap.Base64),
		"chains in a chain": lambdawrap.Chain(lambdawrap.S3Pointer(shelf{"b/k": "eHg="}), lambdawrap.Chain(lambdawrap.Base64, lambdawrap.Base64, lambdawrap.Base64, lambdawrap.Base64)),
		"a negative limit":  lambdawrap.Limited(lambdawrap.Base64, lambdawrap.EnvelopeLimits{Bytes: -1}),
		"a negative depth":  lambdawrap.Limited(lambdawrap.Base64, lambdawrap.EnvelopeLimits{Depth: -1}),
	} {
		opened, err := open.Open(t.Context(), arrived(pointerTo))
		if err == nil || errors.Is(err, lambdawrap.ErrNoKey) || opened != nil || strings.Contains(err.Error(), "access denied") != (name == "denied") {
			t.Errorf("%s: %v, %v, want an error that may pass", name, opened, err)
		}
	}

	four := lambdawrap.Chain(lambdawrap.Base64, lambdawrap.Base64, lambdawrap.Base64, lambdawrap.Base64)
	if opened, err := four.Open(t.Context(), arrived(in64(in64(in64(in64("x")))))); err != nil || opened[0].Message.Body != "x" {
		t.Errorf("four in a chain: %v, %v", opened, err)
	}

	five := lambdawrap.Limited(lambdawrap.Chain(four, lambdawrap.Base64), lambdawrap.EnvelopeLimits{Depth: 5})
	if opened, err := five.Open(t.Context(), arrived(in64(in64(in64(in64(in64("x"))))))); err != nil || opened[0].Message.Body != "x" {
		t.Errorf("five in a chain, which may be that deep: %v, %v", opened, err)
	}
}

type iotestErr struct{ err error }

func (r iotestErr) Read([]byte) (int, error) { return 0, r.err }

// object is the body of one, which must be closed.
type object struct {
	io.Reader

	isClosed bool
}

func (o *object) Close() error {
	o.isClosed = true

	return nil
}

// A pointer's mark does not reach the handler: it sees the attributes that the producer has set.
func TestAFetchedBodyHasTheAttributesOfItsProducer(t *testing.T) {
	t.Parallel()

	large := &object{Reader: strings.NewReader("large")}
	m := arrived(pointerTo)
	m.MessageAttributes = map[string]events.SQSMessageAttribute{
		"ExtendedPayloadSize": {DataType: "Number", StringValue: new("5")}, "tenant": {DataType: "String", StringValue: new("t-1")},
	}

	opened, err := lambdawrap.S3Pointer(shelf{"b/k": large})(t.Context(), m)
	if err != nil || len(opened) != 1 || len(opened[0].Message.MessageAttributes) != 1 || len(m.MessageAttributes) != 2 || !large.isClosed {
		t.Errorf("%v, %v, of %v, closed: %v", opened, err, m.MessageAttributes, large.isClosed)
	}
}

// An EnvelopeFunc need not make messages of its own for each call, nor know what their ids are to be.
func TestWhatAnEnvelopeFuncReturnsIsNotChanged(t *testing.T) {
	t.Parallel()

	shared := []lambdawrap.Enveloped{{ID: "1"}, {ID: "2"}}
	open := lambdawrap.EnvelopeFunc(func(context.Context, events.SQSMessage) ([]lambdawrap.Enveloped, error) { return shared, nil })

	opened, err := open.Open(t.Context(), arrived("x"))
	if err != nil || opened[0].Message.MessageId != "m-1" || opened[1].Message.MessageId != "m-1/1" || shared[1].Message.MessageId != "" {
		t.Errorf("%v, %v, of %v", opened, err, shared)
	}
}

// FuzzEnvelopes gives any body to each ready envelope. It opens, or says that it never will; what it opens is bounded, has ids of
// its own, and is the same the next time.
func FuzzEnvelopes(f *testing.F) {
	for _, name := range []string{"sns", "eventbridge", "s3", "s3_test_event", "sns_confirmation"} {
		f.Add(recordedBody(f, name))
	}

	f.Add(pointerTo)
	f.Add(in64(zipped(f, "deep")))
	f.Add(zipped(f, "deep"))
	f.Add(notification(f, "n-1", recordedBody(f, "s3")))

	limits := lambdawrap.EnvelopeLimits{Bytes: 1 << 12}
	fetch := lambdawrap.S3Pointer(shelf{"b/k": "large"})
	envelopes := map[string]lambdawrap.EnvelopeFunc{
		"SNS": lambdawrap.SNS, "EventBridge": lambdawrap.EventBridge, "S3": lambdawrap.S3, "pointer": fetch, "Base64": lambdawrap.Base64, "Gzip": lambdawrap.Gzip,
		"a chain": lambdawrap.Chain(lambdawrap.SNS, lambdawrap.S3), "another": lambdawrap.Chain(fetch, lambdawrap.Base64, lambdawrap.Gzip),
	}

	f.Fuzz(func(t *testing.T, body string) {
		for name, open := range envelopes {
			opened, err := lambdawrap.Limited(open, limits).Open(t.Context(), arrived(body))
			if err != nil {
				if opened != nil || !errors.Is(err, lambdawrap.ErrNoKey) {
					t.Fatalf("%s: %v, %v", name, opened, err)
				}

				continue
			}

			ids, size := map[string]bool{}, 0
			for _, e := range opened {
				ids[e.Message.MessageId] = true
				size += len(e.Message.Body)
			}

			if len(ids) != len(opened) || size > max(len(body), 1<<12) {
				t.Fatalf("%s: %d messages with %d ids and %d bytes", name, len(opened), len(ids), size)
			}

			if again, err := lambdawrap.Limited(open, limits).Open(t.Context(), arrived(body)); err != nil || cmp.Diff(opened, again) != "" {
				t.Fatalf("%s: %v, another time %v, %v", name, opened, again, err)
			}
		}
	})
}
