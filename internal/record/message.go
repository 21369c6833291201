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
}

// Content is what the caller says in a message, as idemddb.Message does.
type Content struct {
	To         string            `dynamodbav:"to"`
	Body       string            `dynamodbav:"body"`
	Group      string            `dynamodbav:"group,omitempty"`
	Attributes map[string]string `dynamodbav:"attrs,omitempty"`
	Sequence   int64             `dynamodbav:"seq,omitempty"`
}

// ID returns the id of a message in a record with this tx. It stays the same over every sending.
func (m *Message) ID(tx string) string { return tx + "-" + strconv.Itoa(m.Index) }

// Shards has one letter for each partition in which the index of unsent messages has the records of a namespace.
const Shards = "0123456789abcdef"

// ShardOf returns the partition of that index for a record. It chooses the letter by a hash of the record's partition key.
func ShardOf(namespace, partition string) string {
	sum := sha256.Sum256([]byte(partition))

	return namespace + "#" + string(Shards[int(sum[0])%len(Shards)])
}
