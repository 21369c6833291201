package lambdawrap

import (
	"context"
	"sync"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
)

// lineMetric is a metric of a line.
type lineMetric struct {
	name     string
	kinds    []idemddb.Kind
	outcomes []Outcome
}

// lineMetrics lists the metrics of a line. A metric is the number of events of its kinds and of messages with its outcomes. One
// that counts a kind has the name of that kind. Messages and NotDone are read from the event and the answer, and DeadLetters are
// counted by themselves.
var lineMetrics = []lineMetric{
	{name: "Messages"},
	{name: "NotDone"},
	{name: "Claimed", kinds: []idemddb.Kind{idemddb.KindClaimed}},
	{name: "Takeover", kinds: []idemddb.Kind{idemddb.KindTakeover}},
	{name: "Replayed", kinds: []idemddb.Kind{idemddb.KindReplayed}},
	{name: "InProgress", kinds: []idemddb.Kind{idemddb.KindInProgress}},
	{name: "Mismatch", kinds: []idemddb.Kind{idemddb.KindMismatch}},
	{name: "Refused", kinds: []idemddb.Kind{idemddb.KindRefused}},
	{name: "Corrupt", kinds: []idemddb.Kind{idemddb.KindCorrupt}},
	{name: "Unanswered", kinds: []idemddb.Kind{idemddb.KindUnanswered}},
	{name: "Completed", kinds: []idemddb.Kind{idemddb.KindCompleted}},
	{name: "Released", kinds: []idemddb.Kind{idemddb.KindReleased}},
	{name: "Failed", kinds: []idemddb.Kind{idemddb.KindFailed}},
	{name: "Fenced", kinds: []idemddb.Kind{idemddb.KindFenced}},
	{name: "Unrecorded", kinds: []idemddb.Kind{idemddb.KindUnrecorded}},
	{name: "Uncommitted", kinds: []idemddb.Kind{idemddb.KindUncommitted}},
	{name: "EffectRefused", kinds: []idemddb.Kind{idemddb.KindEffectRefused}},
	{name: "Conflict", kinds: []idemddb.Kind{idemddb.KindConflict}},
	{name: "Unsent", kinds: []idemddb.Kind{idemddb.KindUnsent}},
	{name: "Parked", kinds: []idemddb.Kind{idemddb.KindParked}},
	{name: "Retried", kinds: []idemddb.Kind{idemddb.KindRetried}},
	{name: "ReadsDenied", kinds: []idemddb.Kind{idemddb.KindReadsDenied}},
	{name: "Unshared", kinds: []idemddb.Kind{idemddb.KindUnshared}},
	{name: "Panicked", kinds: []idemddb.Kind{idemddb.KindPanicked}},
	{name: "Permanent", outcomes: []Outcome{OutcomeFailed, OutcomeRefused, OutcomeMismatch, OutcomeNoKey}},
	{name: "DeadLetters"},
	{name: "Late", outcomes: []Outcome{OutcomeLate}},
}

func metricNames() (names []string) {
	for _, metric := range lineMetrics {
		names = append(names, metric.name)
	}

	return names
}

type countsKey struct{}

// counts holds what Metrics counts for one batch.
type counts struct {
	messages, failures int

	mu          sync.Mutex // guards what follows: the batch's goroutines count at once
	kinds       map[idemddb.Kind]int
	outcomes    map[Outcome]int
	ended       int // messages
	failed      int // those of them that failed
	deadLetters int
}

func newCounts() *counts {
	return &counts{kinds: map[idemddb.Kind]int{}, outcomes: map[Outcome]int{}}
}

// countMessage adds the one message of an invocation or of a request, if it is counted.
func countMessage(ctx context.Context, name Outcome, failed bool) {
	if c, ok := ctx.Value(countsKey{}).(*counts); ok {
		c.add(name, failed, false)
	}
}

// add adds a message that has ended. deadLetter says that DeadLetter took it.
func (c *counts) add(name Outcome, failed, deadLetter bool) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.outcomes[name]++
	c.ended++

	if failed {
		c.failed++
	}

	if deadLetter {
		c.deadLetters++
	}
}

// take counts the messages of a call that has ended. An event of SQS says itself how many it has, also if the invocation failed
// before they ended.
func (c *counts) take(in, out any, err error) {
	event, isSQS := in.(events.SQSEvent)
	response, isAnswered := out.(events.SQSEventResponse)

	if isSQS && isAnswered {
		c.messages, c.failures = len(event.Records), len(response.BatchItemFailures)

		return
	}

	c.takeEnded()

	if err != nil {
		c.messages = max(1, c.messages) // it failed before the first of them ended
	}
}

// takeEnded counts the messages that have ended as the messages of the call.
func (c *counts) takeEnded() {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.messages, c.failures = c.ended, c.failed
}

// doneUnobserved reports whether a message was done for which a Store reports an event, and no event came. Other outcomes prove
// nothing: DeadLetter takes a message without a key, for which the Store has no event.
func (c *counts) doneUnobserved() bool {
	c.mu.Lock()
	defer c.mu.Unlock()

	return c.outcomes[OutcomeCompleted]+c.outcomes[OutcomeReplayed] > 0 && len(c.kinds) == 0
}

// values returns the value of each metric by its name.
func (c *counts) values() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()

	values := map[string]int{"Messages": c.messages, "NotDone": c.failures, "DeadLetters": c.deadLetters}

	for _, metric := range lineMetrics {
		for _, kind := range metric.kinds {
			values[metric.name] += c.kinds[kind]
		}

		for _, outcome := range metric.outcomes {
			values[metric.name] += c.outcomes[outcome]
		}
	}

	return values
}
