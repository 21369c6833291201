package main

import (
	"encoding/json"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// measure is what a world costs.
type measure struct {
	requests, throttled, conflicts atomic.Int64

	mu       sync.Mutex
	units    float64
	began    time.Time
	ended    time.Time
	cpu      time.Duration
	memory   int64
	starts   int
	starting time.Duration // of all processes together
}

// verdict is what became of the payments of a world, and what it cost.
type verdict struct {
	Scenario  string `json:"scenario"`
	Contender string `json:"contender"`
	Payments  int    `json:"payments"`

	DoublesLayer  int `json:"doublesLayer"`  // that a record could have prevented
	DoublesOthers int `json:"doublesOthers"` // that it could not
	Lost          int `json:"lost"`          // no message is left, and the payment was never made
	Stuck         int `json:"stuck"`         // a message is left in the end
	CameBack      int `json:"cameBack"`      // deliveries that failed although nothing struck their process
	Timeouts      int `json:"timeouts"`      // processes that ran out of time although nothing struck them
	Strikes       int `json:"strikes"`

	Requests  int     `json:"requests"`
	Units     float64 `json:"units"`
	Throttled int     `json:"throttled"`
	Conflicts int     `json:"conflicts"`
	CPU       float64 `json:"cpuMs"`
	Wall      float64 `json:"wallMs"`
	Memory    float64 `json:"memoryMB"`
	Start     float64 `json:"startMs"`
}

// begin notes when the first process is at work.
func (m *measure) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()

	if m.began.IsZero() {
		m.began = time.Now()
	}
}

func (m *measure) started() time.Time {
	m.mu.Lock()
	defer m.mu.Unlock()

	return m.began
}

// finish notes that a poller has found the queue empty.
func (m *measure) finish() {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.ended = time.Now()
}

// end ends a process and adds up what it has used.
func (m *measure) end(p *process) {
	cpu, memory := p.end()

	m.mu.Lock()
	defer m.mu.Unlock()

	m.cpu += cpu
	m.memory = max(m.memory, memory)

	if p.started > 0 {
		m.starts++
		m.starting += p.started
	}
}

func (m *measure) into(v *verdict) {
	m.mu.Lock()
	defer m.mu.Unlock()

	v.Requests, v.Throttled, v.Conflicts = int(m.requests.Load()), int(m.throttled.Load()), int(m.conflicts.Load())
	v.Units = m.units
	v.CPU, v.Wall = milliseconds(m.cpu), milliseconds(m.ended.Sub(m.began))
	v.Memory, v.Start = float64(m.memory)/(1<<20), milliseconds(m.starting/time.Duration(max(m.starts, 1)))
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// answerBody is what measure reads of an answer.
type answerBody struct {
	ConsumedCapacity json.RawMessage   `json:"ConsumedCapacity"`
	Responses        []statementAnswer `json:"Responses"`
}

type statementAnswer struct {
	Error *statementError `json:"Error"`
}

type statementError struct {
	Code    string          `json:"Code"`
	Message string          `json:"Message"`
	Item    json.RawMessage `json:"Item,omitempty"`
}

type capacity struct {
	Units float64 `json:"CapacityUnits"`
}

// count adds the write units of a request. DynamoDB Local does not say what a refused write costs; DynamoDB charges it as if it
// were made, so it counts as one unit, and each item of a cancelled transaction as two. All items are below 1 KB.
func (m *measure) count(operation string, body requestBody, status int, out []byte) {
	var answer answerBody
	if err := json.Unmarshal(out, &answer); err != nil || operation == "GetItem" || operation == "Query" {
		return
	}

	var units float64

	switch {
	case status == http.StatusOK:
		units = unitsOf(answer.ConsumedCapacity)

		for _, r := range answer.Responses {
			if r.Error != nil && (r.Error.Code == "ConditionalCheckFailed" || r.Error.Code == "DuplicateItem") {
				units++
			}
		}
	case len(body.TransactItems) > 0:
		units = 2 * float64(len(body.TransactItems))
	default:
		units = 1
	}

	m.mu.Lock()
	defer m.mu.Unlock()

	m.units += units
}

func unitsOf(raw json.RawMessage) (units float64) {
	var one capacity
	if json.Unmarshal(raw, &one) == nil {
		return one.Units
	}

	var several []capacity
	if json.Unmarshal(raw, &several) == nil {
		for _, c := range several {
			units += c.Units
		}
	}

	return units
}
