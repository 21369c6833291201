// Package kpltest makes records for tests as the Kinesis Producer Library does.
package kpltest

import (
	"crypto/md5" //nolint:gosec // the format has it; it is a checksum here
	"encoding/binary"
	"slices"

	"github.com/idemddb/go-idemddb/internal/kpl"
)

// Aggregate returns the aggregated record of user records.
func Aggregate(users ...kpl.UserRecord) []byte {
	var (
		keys, hashes []string
		records      []byte
	)

	for _, u := range users {
		entry := append([]byte{1 << 3}, index(&keys, u.PartitionKey)...)
		if u.ExplicitHashKey != "" {
			entry = append(append(entry, 2<<3), index(&hashes, u.ExplicitHashKey)...)
		}

		records = appendBytes(records, 3, appendBytes(entry, 3, u.Data)) // the field
	}

	var message []byte
	for _, key := range keys {
		message = appendBytes(message, 1, []byte(key))
	}

	for _, key := range hashes {
		message = appendBytes(message, 2, []byte(key)) // the field
	}

	return Seal(append(message, records...))
}

// Seal puts a message between the bytes that mark an aggregated record and its checksum.
func Seal(message []byte) []byte {
	sum := md5.Sum(message) //nolint:gosec // it is a checksum

	return slices.Concat([]byte{0xF3, 0x89, 0x9A, 0xC2}, message, sum[:])
}

// index returns the index of a key in a table, to which it is added if it is not there, as a varint.
func index(table *[]string, key string) []byte {
	i := slices.Index(*table, key)
	if i < 0 {
		i = len(*table)
		*table = append(*table, key)
	}

	return binary.AppendUvarint(nil, uint64(i))
}

// appendBytes appends a field whose value are bytes.
func appendBytes(message []byte, number byte, value []byte) []byte {
	message = append(message, number<<3|2) // the type of bytes

	return append(binary.AppendUvarint(message, uint64(len(value))), value...)
}
