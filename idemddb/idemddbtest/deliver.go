package idemddbtest

import "context"

// Deliver applies the requests that [LateRequest] has held back, and commits the transactions that [LateCommit] has left in
// flight, in the order in which they were sent. It returns them with their answers. It leaves out a transaction that the test has
// ended itself.
func (db *DB) Deliver() []Request {
	db.mu.Lock()
	defer db.mu.Unlock()

	held := db.held
	db.held = nil
	delivered := make([]Request, 0, len(held))

	for _, h := range held {
		r := db.describe(h.input)

		switch {
		case h.begun == nil:
			_, r.Err = db.apply(context.Background(), h.input, &r)
		case h.begun.isInFlight():
			h.begun.commit()
		default:
			continue
		}

		db.requests = append(db.requests, r)
		delivered = append(delivered, r.clone())
	}

	return delivered
}
