// Package lru keeps values in memory, up to a number of them. A full cache drops the value that was used least recently.
package lru

import (
	"container/list"
	"sync"
)

// Cache keeps values by their keys. It is safe for concurrent use.
type Cache[V any] struct {
	size int

	mu    sync.Mutex               // guards all below
	byKey map[string]*list.Element // of *entry[V]
	used  *list.List               // the same elements, those used last in front
}

type entry[V any] struct {
	key   string
	value V
}

// New returns a cache of this size. One of size 0 keeps nothing.
func New[V any](size int) *Cache[V] {
	return &Cache[V]{size: size, byKey: map[string]*list.Element{}, used: list.New()}
}

// Get returns the value of a key, and false if there is none. It drops a value for which isValid returns false.
func (c *Cache[V]) Get(key string, isValid func(V) bool) (value V, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	element, ok := c.byKey[key]
	if !ok {
		return value, false
	}

	found := entryOf[V](element)
	if !isValid(found.value) {
		c.remove(element)

		return value, false
	}

	c.used.MoveToFront(element)

	return found.value, true
}

// Add keeps a value in place of the one that the key has.
func (c *Cache[V]) Add(key string, value V) {
	c.mu.Lock()
	defer c.mu.Unlock()

	if element, ok := c.byKey[key]; ok {
		c.remove(element)
	}

	c.byKey[key] = c.used.PushFront(&entry[V]{key, value})

	if c.used.Len() > c.size {
		c.remove(c.used.Back())
	}
}

// remove is called with c.mu locked.
func (c *Cache[V]) remove(element *list.Element) {
	c.used.Remove(element)
	delete(c.byKey, entryOf[V](element).key)
}

func entryOf[V any](element *list.Element) *entry[V] {
	return element.Value.(*entry[V]) //nolint:forcetypeassert // nothing else is stored there
}
