package idemddb

import (
	"bytes"
	"container/list"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/internal/record"
)

// cache keeps completed records, because they do not change until their retention ends. A full cache drops the record that was
// used least recently. It is safe for concurrent use.
type cache struct {
	size int

	mu    sync.Mutex               // guards all below
	byKey map[string]*list.Element // of *cached, by the record's partition key
	used  *list.List               // the same elements, those used last in front
}

type cached struct {
	partition   string
	record      Record
	fingerprint string               // as stored, "" for none
	result      types.AttributeValue // as stored, if it is in Options.Results: the cache holds its name only
}

func newCache(size int) *cache {
	if size <= 0 {
		return nil
	}

	return &cache{size: size, byKey: map[string]*list.Element{}, used: list.New()}
}

// get returns a copy for the caller, with the key as this caller spells it. It returns nil if there is no record, or if its retention
// has ended.
func (c *cache) get(partition, key string, now time.Time) *cached {
	c.mu.Lock()
	defer c.mu.Unlock()

	element, ok := c.byKey[partition]
	if !ok {
		return nil
	}

	found, _ := element.Value.(*cached)
	if !found.record.ExpiresAt.After(now.Truncate(time.Second)) {
		c.remove(element)

		return nil
	}

	c.used.MoveToFront(element)

	given := *found
	given.record.Key = key
	given.record.Result = bytes.Clone(given.record.Result)

	return &given
}

// add stores a copy of the record, in place of the one that the cache has under the same partition key.
func (c *cache) add(partition string, rec *record.Stored, fingerprint string) {
	kept := &cached{partition: partition, record: *answerOf(rec, ""), fingerprint: fingerprint}
	kept.record.Result = bytes.Clone(kept.record.Result)

	if _, ok := record.KeptResultOf(rec.Result); ok {
		kept.result = rec.Result
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	if element, ok := c.byKey[partition]; ok {
		c.remove(element)
	}

	c.byKey[partition] = c.used.PushFront(kept)

	if c.used.Len() > c.size {
		c.remove(c.used.Back())
	}
}

// remove is called with c.mu locked.
func (c *cache) remove(element *list.Element) {
	if gone, ok := c.used.Remove(element).(*cached); ok {
		delete(c.byKey, gone.partition)
	}
}
