package lambdawrap_test

import (
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

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
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", name, c.got, c.want)
		}
	}

	if _, err := lambdawrap.KafkaBody(); err == nil {
		t.Error("no path is a function all the same")
	}
}
