package main

// event is one thing that happens.
type event struct {
	kind kind
	who  int8 // the writer, the request under way, or the lost request
	what int8 // which write of a request is throttled
}

type kind int8

const (
	comes         kind = iota // a writer hands in its next write
	lands                     // a request is answered
	losesRequest              // nobody knows what became of it; it may arrive later
	losesAnswer               // it is applied, and nobody knows
	throttled                 // DynamoDB does not process it now
	partThrottled             // DynamoDB does not process one of its writes now
	denied                    // shared requests are denied
	conflicts                 // another transaction holds the item of one of its writes
	arrives                   // a lost request arrives
	wakes                     // the planner is called when it wants to be
	sleeps                    // it should be called now, and the next event comes before that
	leaves                    // a caller leaves
)
