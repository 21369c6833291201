package delivery_test

import (
	"testing"

	"github.com/idemddb/go-idemddb/internal/delivery"
)

func TestTheIDInAnEnvelope(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ text, want string }{
		"of SNS":                 {`{"Type":"Notification","MessageAttributes":{"other":1,"idemddb-id":{"Type":"String","Value":"tx-0"}}}`, "tx-0"},
		"of SNS, without it":     {`{"Type":"Notification","MessageAttributes":{"other":{"Type":"String","Value":"tx-0"}}}`, ""},
		"of SNS, in other case":  {`{"Type":"Notification","MessageAttributes":{"Idemddb-Id":{"Type":"String","Value":"tx-0"}}}`, ""},
		"of SNS, empty":          {`{"Type":"Notification","MessageAttributes":{"idemddb-id":{"Type":"String","Value":""}}}`, ""},
		"of SNS, no text":        {`{"Type":"Notification","MessageAttributes":{"idemddb-id":{"Value":1}}}`, ""},
		"of no known type":       {`{"MessageAttributes":{"idemddb-id":{"Type":"String","Value":"tx-0"}}}`, ""},
		"an event":               {`{"detail-type":"captured","resources":["arn","idemddb-sequence:3","idemddb:tx-0","idemddb:tx-1"]}`, "tx-0"},
		"an event, without it":   {`{"detail-type":"captured","resources":["arn"]}`, ""},
		"an event, no resources": {`{"detail-type":"captured"}`, ""},
		"resources of no event":  {`{"resources":["idemddb:tx-0"]}`, ""},
		"another shape":          {`{"detail-type":"captured","resources":"idemddb:tx-0"}`, ""},
		"no JSON":                {`idemddb:tx-0`, ""},
		"nothing":                {"", ""},
	} {
		if got := delivery.IDInEnvelope(c.text); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}
