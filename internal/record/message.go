package record

import (
	"crypto/sha256"
	"strconv"
)

// Message is an unsent message in a record.
type Message struct {
	Content

	Index int    `dynamodbav:"i"`
	Cause string `dynamodbav:"cause,omitempty"` // why it can never be sent; of a parked message only

	// Sealed is what is stored in the place of Content, without its target, if Options.Codec has sealed it. Content is then known
	// only to the process that has sealed it, or after Open of the codec.
	Sealed []byte `dynamodbav:"-"`
}

// Content is what the caller says in a message, as idemddb.Message does. Its JSON, which has no target, is what is sealed of it.
type Content struct {
	To         string            `dynamodbav:"to"              json:"-"`
	Body       string            `dynamodbav:"body"            json:"body"`
	Group      string            `dynamodbav:"group,omitempty" json:"group,omitempty"`
	Attributes map[string]string `dynamodbav:"attrs,omitempty" json:"attrs,omitempty"`
	Sequence   int64             `dynamodbav:"seq,omitempty"   json:"seq,omitempty"`
}

// IsSealed reports whether what the message says must be opened before it is sent.
func (m *Message) IsSealed() bool { return m.Sealed != nil && m.Body == "" }

// ID returns the id of a message in a record with this tx. It stays the same over every sending.
func (m *Message) ID(tx string) string { return tx + "-" + strconv.Itoa(m.Index) }

// The least and the largest number of partitions in which the index of unsent messages has the records of a namespace.
const (
	MinShards = 16
	MaxShards = 256
)

// Shards returns the names of n partitions: of one character each if there are 16, of two if there are more.
func Shards(n int) []string {
	names := make([]string, max(n, MinShards))
	for i := range names {
		names[i] = shard(i, len(names))
	}

	return names
}

func shard(i, n int) string {
	const digits = "0123456789abcdef"

	if n <= MinShards {
		return string(digits[i%MinShards])
	}

	i %= n

	return string(digits[i/len(digits)]) + string(digits[i%len(digits)])
}

// ShardOf returns the partition of that index for a record, of n. It chooses the name by a hash of the record's partition key.
func ShardOf(namespace, partition string, n int) string {
	sum := sha256.Sum256([]byte(partition))

	return namespace + "#" + shard(int(sum[0]), n)
}
