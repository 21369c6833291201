package kpl

import (
	"encoding/binary"
	"errors"
	"math"
)

// Types of fields on the wire of Protocol Buffers. Groups, which nothing of this message has, are not read.
const (
	typeVarint  = 0
	typeFixed64 = 1
	typeBytes   = 2
	typeFixed32 = 5
)

// Numbers of the fields of AggregatedRecord, and of the Record in it.
const (
	fieldPartitionKeyTable    = 1
	fieldExplicitHashKeyTable = 2
	fieldRecords              = 3

	fieldPartitionKeyIndex    = 1
	fieldExplicitHashKeyIndex = 2
	fieldData                 = 3
)

var errMessage = errors.New("no message of Protocol Buffers")

func readAggregate(message []byte) (*aggregate, error) {
	a := &aggregate{}

	return a, eachField(message, func(number uint64, f field) error {
		switch number {
		case fieldPartitionKeyTable:
			a.partitionKeys = append(a.partitionKeys, string(f.bytes))

			return f.is(typeBytes)
		case fieldExplicitHashKeyTable:
			a.hashKeys = append(a.hashKeys, string(f.bytes))

			return f.is(typeBytes)
		case fieldRecords:
			if len(a.records) == MaxUserRecords {
				return ErrTooMany
			}

			e, err := readEntry(f.bytes)
			a.records = append(a.records, e)

			return errors.Join(f.is(typeBytes), err)
		default:
			return nil
		}
	})
}

func readEntry(message []byte) (e entry, err error) {
	err = eachField(message, func(number uint64, f field) error {
		switch number {
		case fieldPartitionKeyIndex:
			e.partitionKey, e.hasPartitionKey = f.value, true

			return f.is(typeVarint)
		case fieldExplicitHashKeyIndex:
			e.hashKey, e.hasHashKey = f.value, true

			return f.is(typeVarint)
		case fieldData:
			e.data, e.hasData = f.bytes, true

			return f.is(typeBytes)
		default:
			return nil // tags, for example
		}
	})

	return e, err
}

// field is the value of one field of a message.
type field struct {
	kind  uint64
	value uint64 // of a varint
	bytes []byte // of bytes, a text or a message
}

func (f field) is(kind uint64) error {
	if f.kind != kind {
		return errMessage
	}

	return nil
}

// eachField calls visit for each field of a message, in their order, until it returns an error.
func eachField(message []byte, visit func(number uint64, f field) error) error {
	for len(message) > 0 {
		tag, rest, err := readVarint(message)
		if err != nil {
			return err
		}

		number := tag >> 3 // the lower three bits are the type
		if number == 0 || number > math.MaxInt32>>2 {
			return errMessage
		}

		f := field{kind: tag & 7}
		if message, err = f.read(rest); err != nil {
			return err
		}

		if err := visit(number, f); err != nil {
			return err
		}
	}

	return nil
}

// read reads the value and returns what is behind it.
func (f *field) read(message []byte) (rest []byte, err error) {
	var size uint64

	switch f.kind {
	case typeVarint:
		f.value, rest, err = readVarint(message)

		return rest, err
	case typeFixed64:
		size = 8
	case typeFixed32:
		size = 4
	case typeBytes:
		if size, message, err = readVarint(message); err != nil {
			return nil, err
		}
	default:
		return nil, errMessage
	}

	if size > uint64(len(message)) {
		return nil, errMessage
	}

	f.bytes = message[:size:size]

	return message[size:], nil
}

func readVarint(message []byte) (value uint64, rest []byte, err error) {
	value, n := binary.Uvarint(message)
	if n <= 0 {
		return 0, nil, errMessage
	}

	return value, message[n:], nil
}
