package lambdawrap_test

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// split returns an envelope without an ID that holds the parts of its body.
func split(separator string) lambdawrap.EnvelopeFunc {
	return func(_ context.Context, m events.SQSMessage) (opened []lambdawrap.Enveloped, err error) {
		for part := range strings.SplitSeq(m.Body, separator) {
			one := m
			one.Body = part
			opened = append(opened, lambdawrap.Enveloped{Message: one})
		}

		return opened, nil
	}
}

// Envelopes without an ID that each hold several messages stand inside of each other. All that they hold is work of its own.
func TestWhatTwoEnvelopesInsideOfEachOtherHoldIsWorkOfItsOwn(t *testing.T) {
	t.Parallel()

	chain := lambdawrap.Chain
	lines, words := split("\n"), split(" ")

	for name, open := range map[string]lambdawrap.EnvelopeFunc{
		"one chain": chain(lambdawrap.SNS, lines, words), "a chain in a chain": chain(chain(lambdawrap.SNS, lines), words),
		"a chain of chains": chain(lambdawrap.SNS, chain(lines, words)),
	} {
		h := newHarness(t, nil)
		h.opts.Envelope, h.opts.Key = open, nil
		event := batch("m1 x")
		event.Records[0].Body = notification(t, "n-1", "a b\nc d\ne")

		h.answered(h.handle(succeed), event)
		h.equal(name, slices.Sorted(slices.Values(h.runs.all())), []string{"m1", "m1/1", "m1/2", "m1/3", "m1/4"})
	}
}

// A limit that is as large as a number can be is no limit.
func TestAnEnvelopeWithoutALimitIsReadToItsEnd(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		open lambdawrap.EnvelopeFunc
		body string
	}{"Gzip": {lambdawrap.Gzip, zipped(t, "large")}, "S3Pointer": {lambdawrap.S3Pointer(shelf{"b/k": "large"}), pointerTo}} {
		opened, err := lambdawrap.Limited(c.open, lambdawrap.EnvelopeLimits{Bytes: math.MaxInt64}).Open(t.Context(), arrived(c.body))
		if err != nil || len(opened) != 1 || opened[0].Message.Body != "large" {
			t.Errorf("%s: got %v, %v", name, plainOf(opened), err)
		}
	}
}

// A key of the queue's message is that of each message which stood in its envelope, with the number of those behind the first
// one.
func TestWhatAnEnvelopeHoldsIsWorkOfItsOwnWithAKeyOfTheQueuesMessage(t *testing.T) {
	t.Parallel()

	for name, key := range map[string]lambdawrap.KeyFunc{"DeduplicationID": lambdawrap.DeduplicationID, "SentMessageID": lambdawrap.SentMessageID} {
		h := newHarness(t, nil)
		h.opts.Envelope, h.opts.Key = split("+"), key
		event := batch("m1 a+b+c")
		event.Records[0].Attributes = map[string]string{"MessageDeduplicationId": "d-1", "MessageGroupId": "g-1"}
		event.Records[0].MessageAttributes = map[string]events.SQSMessageAttribute{"idemddb-id": {DataType: "String", StringValue: aws.String("s-1")}}

		for _, want := range [][]string{{"m1", "m1/1", "m1/2"}, nil} {
			h.runs.clear()
			h.answered(h.handle(succeed), event)
			h.equal(name, slices.Sorted(slices.Values(h.runs.all())), want)
		}
	}
}
