package idemddb

import (
	"bytes"
	"cmp"
	"container/list"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// cache keeps completed records in memory, by their partition keys. A full cache drops the record that was used least recently.
type cache struct {
	size int // 0 keeps nothing

	mu    sync.Mutex               // guards all below
	byKey map[string]*list.Element // of *cachedRecord
	used  *list.List               // the same elements, those used last in front
}

type cachedRecord struct {
	partition string
	record    *record.Stored
}

func newCache(size int) *cache {
	return &cache{size: size, byKey: map[string]*list.Element{}, used: list.New()}
}

// get returns the record of a key, or nil. It drops a record whose retention has ended.
func (c *cache) get(partition string, now int64) *record.Stored {
	c.mu.Lock()
	defer c.mu.Unlock()

	element, ok := c.byKey[partition]
	if !ok {
		return nil
	}

	rec := cachedIn(element).record
	if cmp.Or(rec.Ends, rec.Expires) <= now {
		c.remove(element)

		return nil
	}

	c.used.MoveToFront(element)

	return rec
}

// add keeps a copy of a completed record, because it does not change until its retention ends.
func (c *cache) add(partition string, rec *record.Stored) {
	if c.size == 0 {
		return
	}

	kept := *rec
	if b, ok := rec.Result.(*types.AttributeValueMemberB); ok {
		kept.Result = &types.AttributeValueMemberB{Value: bytes.Clone(b.Value)}
	}

	c.mu.Lock()
	defer c.mu.Unlock()

	if element, ok := c.byKey[partition]; ok {
		c.remove(element)
	}

	c.byKey[partition] = c.used.PushFront(&cachedRecord{partition, &kept})

	if c.used.Len() > c.size {
		c.remove(c.used.Back())
	}
}

// remove is called with c.mu locked.
func (c *cache) remove(element *list.Element) {
	c.used.Remove(element)
	delete(c.byKey, cachedIn(element).partition)
}

func cachedIn(element *list.Element) *cachedRecord {
	return element.Value.(*cachedRecord) //nolint:forcetypeassert // nothing else is stored there
}
