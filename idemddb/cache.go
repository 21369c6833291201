package idemddb

import (
	"bytes"
	"container/list"
	"sync"
	"time"
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
	fingerprint string // as stored, "" for none
}

func newCache(size int) *cache {
	if size <= 0 {
		return nil
	}

	return &cache{size: size, byKey: map[string]*list.Element{}, used: list.New()}
}

// get returns a copy of the record for the caller, with the key as this caller spells it, and the record's fingerprint. It
// returns nil if there is no record, or if its retention has ended.
func (c *cache) get(partition, key string, now time.Time) (*Record, string) {
	c.mu.Lock()
	defer c.mu.Unlock()

	element, ok := c.byKey[partition]
	if !ok {
		return nil, ""
	}

	found, _ := element.Value.(*cached)
	if !found.record.ExpiresAt.After(now.Truncate(time.Second)) {
		c.remove(element)

		return nil, ""
	}

	c.used.MoveToFront(element)

	rec := found.record
	rec.Key = key
	rec.Result = bytes.Clone(rec.Result)

	return &rec, found.fingerprint
}

// add stores a copy of the record, in place of the one that the cache has under the same partition key.
func (c *cache) add(partition string, rec *Record, fingerprint *string) {
	kept := &cached{partition: partition, record: *rec}
	kept.record.Result = bytes.Clone(rec.Result)

	if fingerprint != nil {
		kept.fingerprint = *fingerprint
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
