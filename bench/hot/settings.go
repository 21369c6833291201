package main

import "time"

// settings are what is measured.
type settings struct {
	accounts  int // 0: one for each payment
	processes int
	payments  int
	twice     int // percent of the payments that are delivered twice
	batch     int
	latency   time.Duration
	extra     time.Duration
	seed      uint64
	rounds    int
	announce  bool // also by hand
}

// other returns the side that the library is compared with.
func (s settings) other() string {
	if s.announce {
		return byHandAnnounce
	}

	return byHand
}
