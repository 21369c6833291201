package idemddbtest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// heldRequest is a request that Deliver applies.
type heldRequest struct {
	input any
	begun *Transaction // of a LateCommit, nil for a request that has not arrived
}

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

// hold keeps a request for Deliver. A transaction that is to be committed late begins at once and sets r.
func (db *DB) hold(in any, f Fault, r *Request) (err error) {
	h := heldRequest{input: copyInput(in)}

	if transaction, ok := h.input.(*dynamodb.TransactWriteItemsInput); ok && f == LateCommit {
		if h.begun, err = db.begin(transaction, r); err != nil {
			return err
		}
	}

	db.held = append(db.held, h)

	return nil
}
