package idemddbtest

import "slices"

// Requests returns all requests that were sent so far, in the order in which they were answered. It includes those that a fault
// kept from being applied. A request that was applied late is there twice, the second time without the Fault.
func (db *DB) Requests() []Request {
	db.mu.Lock()
	defer db.mu.Unlock()

	out := slices.Clone(db.requests)
	for i := range out {
		out[i] = out[i].clone()
	}

	return out
}

// ResetRequests removes all requests from the list that Requests returns.
func (db *DB) ResetRequests() {
	db.mu.Lock()
	defer db.mu.Unlock()

	db.requests = nil
}
