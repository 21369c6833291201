//go:build chaos

package chaos_test

import "time"

// scenario is what goes wrong in a run.
type scenario struct {
	name      string
	odds      odds          // of all requests to DynamoDB
	records   odds          // of requests on the records alone, if they have odds of their own
	queue     odds          // of all requests to SQS
	kills     int           // of 1,000 invocations
	stops     int           // of 1,000 invocations, until all messages are done; other processes take over meanwhile
	freezes   int           // of 1,000 invocations, for 0.3 to 4 s
	outage    time.Duration // of DynamoDB, when a quarter of the messages is done
	silent    time.Duration // the queue of captured payments takes nothing for so long
	accounts  int           // that the payments go to; 0: each has its own
	pause     time.Duration // that a handler takes
	needless  bool          // failed deliveries are allowed; false: no delivery may fail
	adjacent  bool          // both messages of a payment are in one batch
	duplicate bool          // the second messages come while the first ones are worked on
	twice     bool          // SQS delivers each message once more after it is done
}

// scenarios are those of the payments function. Each payment is sent twice.
var scenarios = []scenario{
	{name: "calm"},
	{name: "ten accounts", accounts: 10, needless: true},
	{name: "one hot account", accounts: 1, needless: true},
	{name: "duplicates", duplicate: true, pause: 20 * time.Millisecond, needless: true},
	{name: "the same key in a batch", adjacent: true, needless: true},
	{name: "lost replies", odds: odds{replyLost: 100}},
	{name: "flaky tables", odds: odds{lost: 100, serverError: 100, throttled: 100}, needless: true},
	{name: "applied but refused", odds: odds{appliedError: 150}, needless: true},
	{name: "hanging requests", odds: odds{hanging: 50, hangingApply: 50}, needless: true},
	{name: "slow table", odds: odds{slow: 400}, needless: true},
	{name: "late requests", odds: odds{late: 150}, needless: true},
	{name: "late requests and kills", odds: odds{late: 100, replyLost: 50}, kills: 200, needless: true},
	{name: "garbled answers", odds: odds{half: 150}, needless: true},
	{name: "empty answers", odds: odds{empty: 150}, needless: true},
	{name: "single statements throttled", records: odds{notNow: 500}, needless: true},
	{name: "conflicts", odds: odds{conflict: 300}, accounts: 20, needless: true},
	{name: "killed processes", kills: 400, accounts: 40, needless: true},
	{name: "stopped processes", stops: 100, accounts: 40, needless: true},
	{name: "frozen processes", freezes: 400, needless: true},
	{name: "outage", pause: 20 * time.Millisecond, outage: 5 * time.Second, needless: true},
	{name: "records throttled", records: odds{throttled: 700}, needless: true},
	{name: "records denied", records: odds{denied: 300}, needless: true},
	{name: "no queue of captured payments", silent: 5 * time.Second, needless: true},
	{
		name: "everything at once", odds: odds{lost: 20, replyLost: 30, serverError: 20, appliedError: 30, throttled: 30, conflict: 50, late: 20, hangingApply: 10, slow: 30},
		kills: 100, stops: 30, freezes: 50, silent: 3 * time.Second, accounts: 30, needless: true, pause: 10 * time.Millisecond,
	},
}

// apiScenarios are those of the whole application. All processes are struck, those of the API and those of the payments function.
var apiScenarios = []scenario{
	{name: "calm", accounts: 40},
	{name: "flaky tables", odds: odds{lost: 50, replyLost: 50, serverError: 30, appliedError: 50, throttled: 50, conflict: 50, half: 20, empty: 20}},
	{name: "flaky queues", queue: odds{lost: 200, replyLost: 150, serverError: 100, appliedError: 100, half: 100}, silent: 2 * time.Second, twice: true},
	{
		name: "hanging and late requests", odds: odds{hanging: 20, hangingApply: 20, late: 50, slow: 50},
		queue: odds{hanging: 50, hangingApply: 50, late: 100, slow: 60},
	},
	{name: "killed processes", kills: 300, accounts: 40},
	{name: "stopped and frozen processes", stops: 40, freezes: 150},
	{
		name: "everything at once", odds: odds{lost: 20, replyLost: 30, serverError: 20, appliedError: 30, throttled: 30, conflict: 30, late: 20, hangingApply: 10, slow: 30},
		queue: odds{lost: 30, replyLost: 50, appliedError: 30, late: 20, hangingApply: 10},
		kills: 100, stops: 20, freezes: 30, accounts: 30, twice: true,
	},
}

// claimedScenarios are those in which a claim outlives its process, or a process its claim.
var claimedScenarios = []scenario{
	{name: "frozen processes", freezes: 500, pause: 50 * time.Millisecond},
	{name: "late requests and kills", odds: odds{late: 250}, kills: 400, pause: 20 * time.Millisecond},
}
