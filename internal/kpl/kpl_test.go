package kpl_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/kpl"
	"github.com/idemddb/go-idemddb/internal/kpl/kpltest"
)

// The vectors were made with the modules that AWS publishes for Python (aws-kinesis-agg 1.2.3) and Node (aws-kinesis-agg 4.2.8).
func TestRecordsOfThePublishedModulesAreOpened(t *testing.T) {
	t.Parallel()

	file, err := os.ReadFile("testdata/published.json")
	if err != nil {
		t.Fatal(err)
	}

	var vectors []struct {
		Name        string
		Data        []byte
		UserRecords []kpl.UserRecord
	}
	if err := json.Unmarshal(file, &vectors); err != nil || len(vectors) != 5 {
		t.Fatal(len(vectors), err)
	}

	for _, v := range vectors {
		got, err := kpl.Open(v.Data)
		if diff := cmp.Diff(v.UserRecords, got); diff != "" || err != nil {
			t.Errorf("%s: %v, %s", v.Name, err, diff)
		}

		if again, _ := kpl.Open(kpltest.Aggregate(got...)); !cmp.Equal(got, again) {
			t.Errorf("%s: the aggregate that tests make is read as %v", v.Name, again)
		}
	}
}

func TestARecordThatIsNotExactlyAnAggregateIsAnOrdinaryOne(t *testing.T) {
	t.Parallel()

	user := kpl.UserRecord{PartitionKey: "a", ExplicitHashKey: "1", Data: []byte("data")}
	whole := kpltest.Aggregate(user)
	message := string(whole[4 : len(whole)-16])
	sealed := func(message string) []byte { return kpltest.Seal([]byte(message)) }

	for name, data := range map[string][]byte{
		"nothing":                               nil,
		"a text":                                []byte("hello"),
		"the mark alone":                        whole[:4],
		"the mark and a checksum of nothing":    sealed(""),
		"another mark":                          append([]byte{0xF3, 0x89, 0x9A, 0xC3}, whole[4:]...),
		"a wrong checksum":                      append(bytes.Clone(whole[:len(whole)-1]), whole[len(whole)-1]^1),
		"one byte of the message is changed":    append(append(bytes.Clone(whole[:6]), whole[6]^1), whole[7:]...),
		"it ends early":                         whole[:len(whole)-1],
		"something behind it":                   append(bytes.Clone(whole), 0),
		"keys and no records":                   sealed("\x0a\x01a"),
		"a message that ends in a field":        sealed(message[:len(message)-1]),
		"a message that ends in a number":       sealed(message + "\x80"),
		"a message that ends before a number":   sealed(message + "\x20"),
		"a number of more than 64 bits":         sealed(message + "\x20" + strings.Repeat("\xff", 10) + "\x01"),
		"a length beyond the end":               sealed(message + "\x22\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"),
		"the field 0":                           sealed(message + "\x02\x00"),
		"a field number that is too large":      sealed(message + "\x80\x80\x80\x80\x20\x00"),
		"a group":                               sealed(message + "\x23\x24"),
		"a fixed number that ends early":        sealed(message + "\x25abc"),
		"a partition key that is a number":      sealed("\x08\x01" + message),
		"a hash key that is a number":           sealed("\x10\x01" + message),
		"a record that is a number":             sealed(message + "\x18\x01"),
		"a record without a partition key":      sealed("\x0a\x01a\x1a\x03\x1a\x01x"),
		"a record without data":                 sealed("\x0a\x01a\x1a\x02\x08\x00"),
		"a record whose key is a text":          sealed("\x0a\x01a\x1a\x05\x0a\x00\x1a\x01x"),
		"a record whose hash key is a text":     sealed("\x0a\x01a\x12\x011\x1a\x07\x08\x00\x12\x00\x1a\x01x"),
		"a record whose data is a number":       sealed("\x0a\x01a\x1a\x04\x08\x00\x18\x01"),
		"a partition key that is not there":     sealed("\x0a\x01a\x1a\x05\x08\x01\x1a\x01x"),
		"a partition key far beyond all":        sealed("\x0a\x01a\x1a\x0e\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01\x1a\x01x"),
		"a hash key that is not there":          sealed("\x0a\x01a\x1a\x07\x08\x00\x10\x00\x1a\x01x"),
		"the second of two records is unusable": sealed("\x0a\x01a\x1a\x05\x08\x00\x1a\x01x\x1a\x05\x08\x01\x1a\x01x"),
	} {
		if got, err := kpl.Open(data); got != nil || err != nil {
			t.Errorf("%s: got %v, %v, want an ordinary record", name, got, err)
		}
	}
}

func TestFieldsThatAreNotKnownAreLeftOut(t *testing.T) {
	t.Parallel()

	// Fields 4 to 7 of the message have each of the types, the record has a tag, and its data comes twice: the last one counts.
	message := "\x20\x05\x0a\x01a\x29abcdefgh\x1a\x0e\x08\x00\x1a\x01x\x22\x03\x0a\x01k\x1a\x02yz\x35abcd\x3a\x01q"

	got, err := kpl.Open(kpltest.Seal([]byte(message)))
	if want := []kpl.UserRecord{{PartitionKey: "a", Data: []byte("yz")}}; err != nil || !cmp.Equal(want, got) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
}

func TestMoreThan10000UserRecordsAreTooMany(t *testing.T) {
	t.Parallel()

	users := make([]kpl.UserRecord, kpl.MaxUserRecords+1)
	for i := range users {
		users[i] = kpl.UserRecord{PartitionKey: "a", Data: []byte{}}
	}

	got, err := kpl.Open(kpltest.Aggregate(users[1:]...))
	if len(got) != kpl.MaxUserRecords || err != nil {
		t.Errorf("got %d records, %v", len(got), err)
	}

	if got, err := kpl.Open(kpltest.Aggregate(users...)); got != nil || !errors.Is(err, kpl.ErrTooMany) {
		t.Errorf("one more: got %d records, %v", len(got), err)
	}
}

// What a handler appends to the data of one user record does not reach the next one.
func TestTheDataOfAUserRecordDoesNotGrowIntoTheNextOne(t *testing.T) {
	t.Parallel()

	users, err := kpl.Open(kpltest.Aggregate(kpl.UserRecord{PartitionKey: "a", Data: []byte("one")}, kpl.UserRecord{PartitionKey: "a", Data: []byte("two")}))
	if err != nil {
		t.Fatal(err)
	}

	_ = append(users[0].Data, "xxxxxxxxxxxx"...)

	if got := string(users[1].Data); got != "two" {
		t.Errorf("got %s", got)
	}
}

// FuzzOpen opens any bytes, as they are and as the message of an aggregated record. What is opened is the same after it was
// aggregated again.
func FuzzOpen(f *testing.F) {
	whole := kpltest.Aggregate(kpl.UserRecord{PartitionKey: "a", ExplicitHashKey: "1", Data: []byte("data")}, kpl.UserRecord{PartitionKey: "b", Data: []byte{}})
	f.Add(whole)
	f.Add(whole[4 : len(whole)-16])
	f.Add([]byte("\x20\x05\x0a\x01a\x29abcdefgh\x1a\x0e\x08\x00\x1a\x01x\x22\x03\x0a\x01k\x1a\x02yz\x35abcd\x3a\x01q"))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, record := range [][]byte{data, kpltest.Seal(data)} {
			users, err := kpl.Open(record)
			if err != nil {
				continue // too many
			}

			if again, _ := kpl.Open(kpltest.Aggregate(users...)); len(users) > 0 && !cmp.Equal(users, again) {
				t.Errorf("got %v and then %v", users, again)
			}
		}
	})
}
