// Package kpl reads the records that the Kinesis Producer Library makes of several user records.
//
// Such a record is aggregated: it has the bytes F3 89 9A C2, a message AggregatedRecord in Protocol Buffers, and the MD5 digest
// of that message. The message is small and has not changed since it was published, so this package reads it itself. The
// published module for Go cannot be had from the module proxy, and a library for Protocol Buffers would be a dependency of every
// user of this module.
package kpl

import (
	"bytes"
	"crypto/md5" //nolint:gosec // the format has it; it is a checksum here
	"errors"
)

// UserRecord is one of the records that a producer gave to the library.
type UserRecord struct {
	PartitionKey    string
	ExplicitHashKey string // "" for none
	Data            []byte // a part of the aggregated record; appending to it copies it
}

// MaxUserRecords is how many user records an aggregated record may hold.
const MaxUserRecords = 10_000

// ErrTooMany says that an aggregated record holds more than MaxUserRecords.
var ErrTooMany = errors.New("it is a record of the Kinesis Producer Library that holds more than 10,000 user records")

var magic = []byte{0xF3, 0x89, 0x9A, 0xC2}

// Open returns the user records of an aggregated record, in their order; none for an ordinary record. A record whose checksum is
// wrong or whose message cannot be read is an ordinary one, as in the Kinesis Client Library; so is one that holds no user
// record.
func Open(data []byte) ([]UserRecord, error) {
	content, isMarked := bytes.CutPrefix(data, magic)
	if !isMarked || len(content) <= md5.Size {
		return nil, nil
	}

	content, sum := content[:len(content)-md5.Size], content[len(content)-md5.Size:]
	if digest := md5.Sum(content); !bytes.Equal(sum, digest[:]) { //nolint:gosec // it is a checksum
		return nil, nil
	}

	a, err := readAggregate(content)

	switch {
	case errors.Is(err, ErrTooMany):
		return nil, err
	case err != nil:
		return nil, nil //nolint:nilerr // it is an ordinary record
	default:
		return a.userRecords(), nil
	}
}

// aggregate is the message of an aggregated record.
type aggregate struct {
	partitionKeys, hashKeys []string
	records                 []entry
}

// entry is a user record as the message has it: its keys are indexes.
type entry struct {
	partitionKey, hashKey uint64
	data                  []byte

	hasPartitionKey, hasHashKey, hasData bool
}

// userRecords returns none if one of the entries lacks a part that it must have, or points to a key that is not there.
func (a *aggregate) userRecords() []UserRecord {
	var users []UserRecord

	for _, e := range a.records {
		switch {
		case !e.hasData || !e.hasPartitionKey || e.partitionKey >= uint64(len(a.partitionKeys)):
			return nil
		case e.hasHashKey && e.hashKey >= uint64(len(a.hashKeys)):
			return nil
		}

		user := UserRecord{PartitionKey: a.partitionKeys[e.partitionKey], Data: e.data}
		if e.hasHashKey {
			user.ExplicitHashKey = a.hashKeys[e.hashKey]
		}

		users = append(users, user)
	}

	return users
}
