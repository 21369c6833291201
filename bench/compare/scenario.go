package main

import "time"

// scenario is what happens to the consumers.
type scenario struct {
	name     string
	payments int
	accounts int

	copies bool          // each payment is sent twice
	apart  time.Duration // the second copy comes so much later

	strikes []strike // processes that are struck, by turns
	every   int      // a strike for so many payments

	replyLost float64 // the share of the requests to DynamoDB that are applied and whose connection is then cut
	throttled float64 // the share that is answered with a throttle
	outage    time.Duration
}

// strike is what happens to a process at a point of its work.
type strike struct {
	at   point
	stop bool // stopped for stopTime and continued, in place of killed
	cut  bool // the bank closes its connection meanwhile
}

type point int

const (
	atCheck      point = iota // the handler waits for the bank: the payment is claimed, its effect has not happened
	beforeEffect              // the effect was sent and does not arrive
	afterEffect               // the effect has happened, and the process does not know it
)

// stopTime is longer than a message is hidden, so that another worker gets it while the first one is stopped.
const stopTime = 5 * time.Second

// scenarios returns all of them, with so many payments in each that it takes about as long as the others.
func scenarios(quick bool) []scenario {
	kills := []strike{{at: atCheck}, {at: beforeEffect}, {at: afterEffect}}
	stops := []strike{{at: atCheck, stop: true, cut: true}, {at: afterEffect, stop: true}, {at: atCheck, stop: true}}

	list := []scenario{
		{name: "calm", payments: 400, accounts: 50},
		{name: "duplicates", payments: 150, accounts: 50, copies: true},
		{name: "kills", payments: 120, accounts: 50, strikes: kills, every: 10},
		{name: "stops", payments: 90, accounts: 50, copies: true, apart: 7 * time.Second, strikes: stops, every: 10},
		{name: "lost replies", payments: 150, accounts: 50, replyLost: 1.0 / 12},
		{name: "throttles", payments: 150, accounts: 50, throttled: 0.3},
		{name: "outage", payments: 200, accounts: 50, outage: 3 * time.Second},
		{name: "hot items", payments: 200, accounts: 2},
	}

	if quick {
		for i := range list {
			list[i].payments = min(list[i].payments, 30)
		}
	}

	return list
}
