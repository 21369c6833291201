package queue

import (
	"strings"
	"testing"
)

func TestURLOfAnARN(t *testing.T) {
	t.Parallel()

	for arn, want := range map[string]string{
		"arn:aws:sqs:eu-west-1:111122223333:payments":           "https://sqs.eu-west-1.amazonaws.com/111122223333/payments",
		"arn:aws:sqs:us-east-1:000000000000:A-b_9.fifo":         "https://sqs.us-east-1.amazonaws.com/000000000000/A-b_9.fifo",
		"arn:aws:sqs:us-east-1:000000000000:aA0zZ9":             "https://sqs.us-east-1.amazonaws.com/000000000000/aA0zZ9",
		"arn:aws-us-gov:sqs:us-gov-west-1:111122223333:q":       "https://sqs.us-gov-west-1.amazonaws.com/111122223333/q",
		"arn:aws-cn:sqs:cn-north-1:111122223333:q":              "https://sqs.cn-north-1.amazonaws.com.cn/111122223333/q",
		"arn:aws-eusc:sqs:eusc-de-east-1:111122223333:q":        "https://sqs.eusc-de-east-1.amazonaws.eu/111122223333/q",
		"arn:aws-iso:sqs:us-iso-east-1:111122223333:q":          "https://sqs.us-iso-east-1.c2s.ic.gov/111122223333/q",
		"arn:aws-iso-b:sqs:us-isob-east-1:111122223333:q":       "https://sqs.us-isob-east-1.sc2s.sgov.gov/111122223333/q",
		"arn:aws-iso-e:sqs:eu-isoe-west-1:111122223333:q":       "https://sqs.eu-isoe-west-1.cloud.adc-e.uk/111122223333/q",
		"arn:aws-iso-f:sqs:us-isof-south-1:111122223333:q.fifo": "https://sqs.us-isof-south-1.csp.hci.ic.gov/111122223333/q.fifo",
		// A partition or a region that this version of the SDK does not list gets the host to which the SDK's client would send for that
		// region. So a new one needs no change here.
		"arn:aws-mars:sqs:mars-1:111122223333:payments": "https://sqs.mars-1.amazonaws.com/111122223333/payments",
	} {
		got, err := urlOf(t.Context(), arn)
		if err != nil || got != want {
			t.Errorf("urlOf(%q) = %q, %v, want %q", arn, got, err, want)
		}
	}
}

func TestURLOfAnARNRefuses(t *testing.T) {
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
		"arn:aws:sqs:eu-west-1:111122223333:{q",           // a character behind the letters
		"arn:aws:sqs:eu-west-1:111122223333:[q",           // a character between the letters
		"arn:aws:sns:eu-west-1:111122223333:payments",     // another service
		"arn:aws:kinesis:eu-west-1:111122223333:stream/s", // another service
		"urn:aws:sqs:eu-west-1:111122223333:payments",
	} {
		if got, err := urlOf(t.Context(), arn); err == nil || got != "" || !strings.HasPrefix(err.Error(), "eventSourceARN: ") {
			t.Errorf("urlOf(%q) = %q, %v, want an error that names the field", arn, got, err)
		}
	}
}
