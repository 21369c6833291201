package lambdawrap

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func TestQueueURL(t *testing.T) {
	t.Parallel()

	for arn, want := range map[string]string{
		"arn:aws:sqs:eu-west-1:111122223333:payments":           "https://sqs.eu-west-1.amazonaws.com/111122223333/payments",
		"arn:aws:sqs:us-east-1:000000000000:A-b_9.fifo":         "https://sqs.us-east-1.amazonaws.com/000000000000/A-b_9.fifo",
		"arn:aws-us-gov:sqs:us-gov-west-1:111122223333:q":       "https://sqs.us-gov-west-1.amazonaws.com/111122223333/q",
		"arn:aws-cn:sqs:cn-north-1:111122223333:q":              "https://sqs.cn-north-1.amazonaws.com.cn/111122223333/q",
		"arn:aws-eusc:sqs:eusc-de-east-1:111122223333:q":        "https://sqs.eusc-de-east-1.amazonaws.eu/111122223333/q",
		"arn:aws-iso:sqs:us-iso-east-1:111122223333:q":          "https://sqs.us-iso-east-1.c2s.ic.gov/111122223333/q",
		"arn:aws-iso-b:sqs:us-isob-east-1:111122223333:q":       "https://sqs.us-isob-east-1.sc2s.sgov.gov/111122223333/q",
		"arn:aws-iso-e:sqs:eu-isoe-west-1:111122223333:q":       "https://sqs.eu-isoe-west-1.cloud.adc-e.uk/111122223333/q",
		"arn:aws-iso-f:sqs:us-isof-south-1:111122223333:q.fifo": "https://sqs.us-isof-south-1.csp.hci.ic.gov/111122223333/q.fifo",
	} {
		got, err := queueURL(t.Context(), arn)
		if err != nil || got != want {
			t.Errorf("queueURL(%q) = %q, %v, want %q", arn, got, err, want)
		}
	}
}

// A partition or a region that this version of the SDK does not list gets the host to which the SDK's client would send for
// that region. So a new one needs no change here.
func TestQueueURLOfAnUnknownPartition(t *testing.T) {
	t.Parallel()

	got, err := queueURL(t.Context(), "arn:aws-mars:sqs:mars-1:111122223333:payments")
	if want := "https://sqs.mars-1.amazonaws.com/111122223333/payments"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func TestQueueURLRefuses(t *testing.T) {
	t.Parallel()

	for _, arn := range []string{
		"",
		"payments",
		"https://sqs.eu-west-1.amazonaws.com/111122223333/payments",
		"arn:aws:sqs:eu-west-1:111122223333",              // no name
		"arn:aws:sqs:eu-west-1:111122223333:",             // an empty one
		"arn:aws:sqs::111122223333:payments",              // no region
		"arn:aws:sqs:eu-west-1::payments",                 // no account
		"arn:aws:sqs:eu-west-1:111122223333:payments:x",   // a part too many
		"arn:aws:sqs:eu-west-1:111122223333:pay/ments",    // not a name
		"arn:aws:sqs:evil.example/#:111122223333:q",       // not a region
		"arn:aws:sqs:eu-west-1:1111/../2222:q",            // not an account
		"arn:aws:sns:eu-west-1:111122223333:payments",     // another service
		"arn:aws:kinesis:eu-west-1:111122223333:stream/s", // another service
		"urn:aws:sqs:eu-west-1:111122223333:payments",
	} {
		if got, err := queueURL(t.Context(), arn); err == nil || got != "" || !strings.HasPrefix(err.Error(), "eventSourceARN: ") {
			t.Errorf("queueURL(%q) = %q, %v, want an error that names the field", arn, got, err)
		}
	}
}

func TestReceiveCount(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]int{
		"1": 1, "2": 2, "1000": 1000, "": 1, "0": 1, "-7": 1, "many": 1, "1.5": 1, "2nd": 1, "99999999999999999999": 1,
	} {
		if got := receiveCount(events.SQSMessage{Attributes: map[string]string{"ApproximateReceiveCount": text}}); got != want {
			t.Errorf("receiveCount of %q = %d, want %d", text, got, want)
		}
	}

	if got := receiveCount(events.SQSMessage{}); got != 1 {
		t.Errorf("receiveCount without attributes = %d, want 1", got)
	}
}

// The two ends of what rand.N answers.
func least(time.Duration) time.Duration  { return 0 }
func most(d time.Duration) time.Duration { return d - 1 }

func TestBackoff(t *testing.T) {
	t.Parallel()

	const s = time.Second

	for _, c := range []struct {
		count    int
		from, to time.Duration
	}{
		{math.MinInt, 1 * s, 2 * s},
		{-1, 1 * s, 2 * s},
		{0, 1 * s, 2 * s},
		{1, 1 * s, 2 * s},
		{2, 2 * s, 4 * s},
		{3, 4 * s, 8 * s},
		{4, 8 * s, 16 * s},
		{9, 256 * s, 512 * s},
		{10, 450 * s, 900 * s},
		{11, 450 * s, 900 * s},
		{63, 450 * s, 900 * s}, // a shift by 62 and more overflows
		{64, 450 * s, 900 * s},
		{65, 450 * s, 900 * s},
		{math.MaxInt, 450 * s, 900 * s},
	} {
		if from, to := backoff(c.count, least), backoff(c.count, most); from != c.from || to != c.to {
			t.Errorf("backoff(%d) is %v to %v, want %v to %v", c.count, from, to, c.from, c.to)
		}
	}
}

func TestBackoffProperties(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		count := rapid.OneOf(rapid.IntRange(-2, 20), rapid.Int()).Draw(t, "count")
		random := rapid.SampledFrom([]func(time.Duration) time.Duration{
			rand.N[time.Duration], least, most,
			func(time.Duration) time.Duration { return math.MaxInt64 }, // whatever it answers
			func(time.Duration) time.Duration { return math.MinInt64 },
		}).Draw(t, "random")
		d := backoff(count, random)

		switch {
		case d < time.Second, d > backoffCap, d%time.Second != 0:
			t.Fatalf("backoff(%d) = %v: not whole seconds from 1 s to %v", count, d, backoffCap)
		case d < backoff(count, least), d > backoff(count, most):
			t.Fatalf("backoff(%d) = %v: out of bounds", count, d)
		case time.Duration(wholeSeconds(d))*time.Second != d:
			t.Fatalf("wholeSeconds(%v) = %d", d, wholeSeconds(d))
		}

		if count < math.MaxInt && (backoff(count+1, least) < backoff(count, least) || backoff(count+1, most) < backoff(count, most)) {
			t.Fatalf("a later delivery than the %dth waits less", count)
		}
	})
}

func TestBackoffIsSpread(t *testing.T) {
	t.Parallel()

	seen := map[time.Duration]int{}
	for range 3000 {
		seen[backoff(2, rand.N[time.Duration])]++
	}

	for _, d := range []time.Duration{2 * time.Second, 3 * time.Second, 4 * time.Second} {
		if seen[d] < 800 { // of about 1000, over seven standard deviations away
			t.Errorf("%v was drawn %d times of 3000", d, seen[d])
		}
	}

	if len(seen) != 3 {
		t.Errorf("drawn: %v", seen)
	}
}

// What VisibilityAPI's documentation promises of maxReceiveCount.
func TestBackoffAddsUp(t *testing.T) {
	t.Parallel()

	until := func(delivery int, random func(time.Duration) time.Duration) (sum time.Duration) {
		for count := 1; count < delivery; count++ {
			sum += backoff(count, random)
		}

		return sum
	}

	got := []time.Duration{until(5, least), until(5, most), until(10, least), until(10, most)}
	if want := []time.Duration{15 * time.Second, 30 * time.Second, 511 * time.Second, 1022 * time.Second}; !cmp.Equal(got, want) {
		t.Errorf("the fifth and the tenth delivery come after %v, want %v", got, want)
	}
}

func TestUntilVisible(t *testing.T) {
	t.Parallel()

	const (
		s    = time.Second
		most = 41400 // 11.5 h
	)

	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

	for name, c := range map[string]struct {
		until time.Time
		extra time.Duration
		want  int32
	}{
		"a lease that goes on":                       {now.Add(29500 * time.Millisecond), s, 31},
		"a whole number of seconds: it must be over": {now.Add(29 * s), s, 31},
		"a millisecond less":                         {now.Add(29*s - time.Millisecond), s, 30},
		"a nanosecond less, the lease is kept in ms": {now.Add(29*s - 1), s, 31},
		"no skew":                        {now.Add(1500 * time.Millisecond), 0, 2},
		"a negative skew counts as none": {now.Add(1500 * time.Millisecond), -time.Hour, 2},
		"ends now":                       {now, 0, 1},
		"ends now, and the skew":         {now, s, 2},
		"over, but not the skew":         {now.Add(-500 * time.Millisecond), 2 * s, 2},
		"over":                           {now.Add(-s), s, 1},
		"over for long":                  {now.Add(-time.Hour), s, 1},
		"no time at all":                 {time.Time{}, s, 1},
		"the epoch":                      {time.Unix(0, 0), s, 1},
		"the most":                       {now.Add(maxHidden - time.Second), 0, most},
		"more than the most":             {now.Add(12 * time.Hour), 0, most},
		"a skew that is out of bounds":   {now, math.MaxInt64, most},
		"both out of bounds":             {now.Add(math.MaxInt64), math.MaxInt64, most},
		"a past out of bounds":           {now.Add(math.MinInt64), math.MaxInt64, 1},
		"the end of time":                {time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC), s, most},
		"the beginning of time":          {time.Date(-9999, 1, 1, 0, 0, 0, 0, time.UTC), s, 1},
		"as far as DynamoDB's numbers":   {time.UnixMilli(math.MaxInt64), s, most},
		"and as far back":                {time.UnixMilli(math.MinInt64), s, 1},
	} {
		if got := untilVisible(c.until, c.extra, now); got != c.want {
			t.Errorf("%s: %d s, want %d", name, got, c.want)
		}
	}
}

func TestUntilVisibleProperties(t *testing.T) {
	t.Parallel()

	rapid.Check(t, func(t *rapid.T) {
		var (
			now   = time.UnixMilli(rapid.Int64Range(0, 4e12).Draw(t, "now"))
			left  = time.Duration(rapid.Int64Range(-int64(time.Minute), int64(11*time.Hour)).Draw(t, "left"))
			extra = time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "extra"))
			got   = untilVisible(now.Add(left), extra, now)
			back  = now.Add(time.Duration(got) * time.Second)
			over  = now.Add(left).Add(extra)
		)

		if got < 1 || got > 43200 {
			t.Fatalf("SQS does not take %d s", got)
		}

		if !back.After(over) {
			t.Fatalf("comes back at %v, the lease is over after %v", back, over)
		}

		if late := back.Sub(over); got > 1 && late > time.Second+time.Millisecond {
			t.Fatalf("comes back %v late", late)
		}

		if later := untilVisible(now.Add(left+time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "more"))), extra, now); later < got {
			t.Fatalf("a longer lease: %d s instead of %d", later, got)
		}
	})
}

func TestWholeSeconds(t *testing.T) {
	t.Parallel()

	for d, want := range map[time.Duration]int32{
		math.MinInt64: 0, -1: 0, 0: 0, 1: 1, time.Second: 1, time.Second + 1: 2, backoffCap: 900,
		maxHidden - 1: 41400, maxHidden: 41400, math.MaxInt64: 41400,
	} {
		if got := wholeSeconds(d); got != want {
			t.Errorf("wholeSeconds(%v) = %d, want %d", d, got, want)
		}
	}
}

type visibilityFunc func(*sqs.ChangeMessageVisibilityInput) error

func (f visibilityFunc) ChangeMessageVisibility(
	_ context.Context, in *sqs.ChangeMessageVisibilityInput, _ ...func(*sqs.Options),
) (*sqs.ChangeMessageVisibilityOutput, error) {
	return nil, f(in) // as bare as a fake may be
}

func TestChangeVisibility(t *testing.T) {
	t.Parallel()

	const arn = "arn:aws:sqs:eu-west-1:111122223333:payments"

	refused := errors.New("refused")

	for name, c := range map[string]struct {
		m       events.SQSMessage
		answer  error
		request bool
		want    string
	}{
		"done":              {events.SQSMessage{EventSourceARN: arn, ReceiptHandle: "r"}, nil, true, ""},
		"refused":           {events.SQSMessage{EventSourceARN: arn, ReceiptHandle: "r"}, refused, true, "refused"},
		"no receipt handle": {events.SQSMessage{EventSourceARN: arn}, nil, false, "receiptHandle is empty"},
		"no ARN":            {events.SQSMessage{ReceiptHandle: "r"}, nil, false, `eventSourceARN: must be a queue's ARN, is ""`},
		"a stream's ARN": {
			events.SQSMessage{EventSourceARN: "arn:aws:kinesis:eu-west-1:111122223333:stream/s", ReceiptHandle: "r"},
			nil, false, "eventSourceARN: must be a queue's ARN",
		},
	} {
		requests := 0
		err := changeVisibility(t.Context(), visibilityFunc(func(in *sqs.ChangeMessageVisibilityInput) error {
			requests++

			if *in.QueueUrl != "https://sqs.eu-west-1.amazonaws.com/111122223333/payments" || *in.ReceiptHandle != "r" || in.VisibilityTimeout != 7 {
				t.Errorf("%s: sent %v", name, in)
			}

			return c.answer
		}), c.m, 7)

		switch {
		case requests == 1 != c.request:
			t.Errorf("%s: %d requests", name, requests)
		case c.want == "" && err != nil, !errors.Is(err, c.answer) && c.answer != nil:
			t.Errorf("%s: %v", name, err)
		case c.want != "" && (err == nil || !strings.HasPrefix(err.Error(), "lambdawrap: message visibility: "+c.want)):
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// transport is the network: it keeps the request and answers it.
type transport func(*http.Request) (status int, body string)

func (f transport) Do(r *http.Request) (*http.Response, error) {
	status, body := f(r)

	return &http.Response{
		StatusCode: status, Body: io.NopCloser(strings.NewReader(body)),
		Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
	}, nil
}

// The request goes to the client's endpoint, whatever the URL says; so an ARN is enough.
func TestChangeVisibilityOverTheWire(t *testing.T) {
	t.Parallel()

	var (
		host, target string
		sent         map[string]any
	)

	client := sqs.New(sqs.Options{
		Region: "eu-west-1", BaseEndpoint: aws.String("http://localhost:4566"),
		Credentials: credentials.NewStaticCredentialsProvider("id", "secret", ""),
		HTTPClient: transport(func(r *http.Request) (int, string) {
			host, target = r.URL.Host, r.Header.Get("X-Amz-Target")
			if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
				t.Error(err)
			}

			return http.StatusOK, ""
		}),
	})

	m := events.SQSMessage{EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments.fifo", ReceiptHandle: "AQEB+/="}
	if err := changeVisibility(t.Context(), client, m, 0); err != nil {
		t.Fatal(err)
	}

	if host != "localhost:4566" || target != "AmazonSQS.ChangeMessageVisibility" {
		t.Errorf("sent %s to %s", target, host)
	}

	want := map[string]any{
		"QueueUrl": "https://sqs.eu-west-1.amazonaws.com/111122223333/payments.fifo", "ReceiptHandle": "AQEB+/=",
		"VisibilityTimeout": 0.0, // said, although it is Go's zero
	}
	if diff := cmp.Diff(want, sent); diff != "" {
		t.Error(diff)
	}
}
