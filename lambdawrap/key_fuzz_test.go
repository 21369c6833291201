package lambdawrap_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// FuzzKeyFuncs demands that no message causes a panic, and that each has one key or ErrNoKey.
func FuzzKeyFuncs(f *testing.F) {
	for _, body := range []string{``, `s3cr3t`, `{"id":"p-1"}`, `{"id":1e5}`, `{"id":"#"}`, `{"id":[]}`, `{"in":"{\"id\":0}"}`, "\"\xff\"", `{"id":1,"id":2}`} {
		f.Add(body, "arn:aws:sqs:eu-west-1:1:q.fifo", "m-1", "String", "1")
	}

	f.Add(`{}`, "", "", "Binary", "")
	f.Add(`{}`, "arn", "m\xff", "s3cr3t", "\xff")

	keys := map[string]lambdawrap.KeyFunc{
		"MessageID": lambdawrap.MessageID, "DeduplicationID": lambdawrap.DeduplicationID, "Attribute": lambdawrap.Attribute("a"),
		"Body of one path": mustBody(f, "id"), "Body of two": mustBody(f, "id", "in.id"),
	}

	f.Fuzz(func(t *testing.T, body, arn, id, dataType, value string) {
		m := events.SQSMessage{
			Body: body, EventSourceARN: arn, MessageId: id, Attributes: map[string]string{"MessageDeduplicationId": id},
			MessageAttributes: map[string]events.SQSMessageAttribute{"a": {DataType: dataType, StringValue: &value, BinaryValue: []byte(value)}},
		}
		for name, key := range keys {
			got, err := key(t.Context(), m)
			again, _ := key(t.Context(), m)

			switch list, isList := strings.CutPrefix(got, "#"); {
			case again != got || (got == "") != (err != nil):
				t.Errorf("%s: the keys %q and %q, error %v", name, got, again, err)
			case err != nil && !errors.Is(err, lambdawrap.ErrNoKey):
				t.Errorf("%s: error %v is not ErrNoKey", name, err)
			case err == nil && name != "Body of one path" && (!isList || !json.Valid([]byte(list))):
				t.Errorf("%s: the key %q is not # and JSON", name, got)
			}
		}
	})
}
