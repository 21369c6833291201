package operate

import (
	"sync"
)

// budget is what the segments may still read. It computes the price of a record from those that were read.
type budget struct {
	total, perPage float64 // read units; perPage: at most, for the rate
	segments       int

	mu    sync.Mutex
	left  float64 // not used and not reserved
	used  float64
	items int // that were read for used
}

const (
	firstGuess = 1.0   // read units a record before one was read: 8 KB
	leastPrice = 0.01  // of a record of 80 bytes
	rounding   = 0.5   // read units by which the price of a page is rounded up
	maxPage    = 4_000 // records: about what a page of 1 MB holds if they are small
	smallPages = 50    // so many small pages fill the budget
)

func newBudget(s *Selection) *budget {
	b := &budget{total: s.Budget, perPage: s.Budget, segments: s.Segments, left: s.Budget}
	if s.Rate > 0 {
		b.perPage = min(b.perPage, s.Rate/float64(s.Segments))
	}

	return b
}

// reserve returns how many records the next page of one segment may have; 0 if the budget is used up. Each segment takes its part
// of what is left. What is less than a small page is not used, because it would take many requests. The first page is read
// whatever the budget is, so that each call comes further.
func (b *budget) reserve() (limit int32, reserved float64) {
	b.mu.Lock()
	defer b.mu.Unlock()

	price := firstGuess
	if b.items > 0 {
		price = max(b.used/float64(b.items), leastPrice)
	}

	small := b.total / smallPages
	if b.left < b.total && (b.left < small || b.left < price+rounding) {
		return 0, 0
	}

	part := min(max(b.left/float64(b.segments), small), b.perPage)
	limit = int32(min(maxPage, max(1, (part-rounding)/price)))
	reserved = float64(limit)*price + rounding
	b.left -= reserved

	return limit, reserved
}

func (b *budget) settle(reserved, used float64, items int) {
	b.mu.Lock()
	defer b.mu.Unlock()

	b.left += reserved - used
	b.used += used
	b.items += items
}

func (b *budget) usedUnits() float64 {
	b.mu.Lock()
	defer b.mu.Unlock()

	return b.used
}
