package idemddb

import (
	"bytes"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"
)

// cache keeps completed records: they can no longer change until their retention ends. A nil cache is empty.
type cache struct{ records *lru.Cache[string, cached] }

type cached struct {
	record      Record
	fingerprint string // as stored, "" for none
}

func newCache(size int) *cache {
	if size <= 0 {
		return nil
	}

	records, err := lru.New[string, cached](size)
	if err != nil {
		return nil // size is positive: the only error that there is
	}

	return &cache{records: records}
}

// get returns the caller's own copy, with the key as this caller spells it.
func (c *cache) get(partition, key string, now time.Time) (*Record, string) {
	if c == nil {
		return nil, ""
	}

	found, ok := c.records.Get(partition)
	if !ok {
		return nil, ""
	}

	if !found.record.ExpiresAt.After(now.Truncate(time.Second)) {
		c.records.Remove(partition)

		return nil, ""
	}

	rec := found.record
	rec.Key = key
	rec.Result = bytes.Clone(rec.Result)

	return &rec, found.fingerprint
}

func (c *cache) add(partition string, rec *Record, fingerprint *string) {
	if c == nil {
		return
	}

	kept := cached{record: *rec}
	kept.record.Result = bytes.Clone(rec.Result)

	if fingerprint != nil {
		kept.fingerprint = *fingerprint
	}

	c.records.Add(partition, kept)
}
