//go:build chaos

package chaos_test

import (
	"crypto/md5"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	visibility = 3500 * time.Millisecond // after an invocation of at most 3 s
	soonest    = 200 * time.Millisecond  // a message that the function hides comes back between these two, so that a run does not take minutes
	latest     = 1500 * time.Millisecond
)

// message is one message of the queue of payments.
type message struct {
	id, body string
	receives int
	visible  time.Time
	deleted  bool

	repeated  bool // delivered once more after it was done
	underWay  bool // received and not settled
	contended bool // another message of the payment was under way meanwhile
}

// queues are the queue of payments and the queue of the captured payments, as far as the functions use them.
type queues struct {
	down  atomic.Bool // sending fails
	twice bool        // each message is delivered once more after it is done

	mu        sync.Mutex
	messages  []*message
	captured  map[string]map[string]int // by payment: how often under each id
	accepted  map[string]map[string]int // what functions/api has sent to the queue of payments, likewise
	received  int
	failed    int
	needless  int      // failed, although no other message of the payment was under way
	exhausted []string // messages that were received too often
}

const maxReceives = 100

func newQueues(twice bool) *queues {
	return &queues{twice: twice, captured: map[string]map[string]int{}, accepted: map[string]map[string]int{}}
}

// ServeHTTP is SQS.
func (q *queues) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		QueueURL          string `json:"QueueUrl"`
		ReceiptHandle     string
		VisibilityTimeout int
		Entries           []struct {
			ID                string `json:"Id"`
			MessageBody       string
			MessageAttributes map[string]struct{ StringValue string }
		}
	}

	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || q.down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)

		return
	}

	answer := map[string]any{}

	switch _, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), "."); operation {
	case "ChangeMessageVisibility":
		q.hide(in.ReceiptHandle, time.Duration(in.VisibilityTimeout)*time.Second)
	case "SendMessageBatch":
		var sent []map[string]string

		for _, e := range in.Entries {
			q.take(in.QueueURL, e.MessageBody, e.MessageAttributes["idemddb-id"].StringValue)

			sum := md5.Sum([]byte(e.MessageBody))
			sent = append(sent, map[string]string{"Id": e.ID, "MessageId": "sent", "MD5OfMessageBody": hex.EncodeToString(sum[:])})
		}

		answer["Successful"] = sent
	default:
		w.WriteHeader(http.StatusNotFound)
	}

	reply(w, http.StatusOK, encode(answer))
}

func (q *queues) add(bodies ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()

	for _, body := range bodies {
		q.messages = append(q.messages, &message{id: "m-" + strconv.Itoa(len(q.messages)), body: body})
	}
}

// receive hides up to so many messages and returns them.
func (q *queues) receive(most int) []*message {
	q.mu.Lock()
	defer q.mu.Unlock()

	var batch []*message

	for _, m := range q.messages {
		if len(batch) == most {
			break
		}

		if m.deleted || time.Now().Before(m.visible) {
			continue
		}

		m.receives++
		if m.receives > maxReceives {
			m.deleted = true
			q.exhausted = append(q.exhausted, m.id)

			continue
		}

		m.visible = time.Now().Add(visibility)
		q.begin(m)

		batch = append(batch, m)
	}

	q.received += len(batch)

	return batch
}

// begin marks a message as under way, and those of its payment that are under way as contended. The mutex is held.
func (q *queues) begin(m *message) {
	m.underWay, m.contended = true, false

	for _, other := range q.messages {
		if other != m && other.underWay && other.body == m.body {
			m.contended, other.contended = true, true
		}
	}
}

// settle deletes the messages of a batch but those that failed.
func (q *queues) settle(batch []*message, failed map[string]bool) {
	q.mu.Lock()
	defer q.mu.Unlock()

	for _, m := range batch {
		m.underWay = false

		switch {
		case !failed[m.id] && q.twice && !m.repeated:
			m.repeated, m.visible = true, time.Now()
		case !failed[m.id]:
			m.deleted = true
		case !m.contended:
			q.needless++

			fallthrough
		default:
			q.failed++
		}
	}
}

// left is how many messages are not done.
func (q *queues) left() int {
	q.mu.Lock()
	defer q.mu.Unlock()

	n := 0

	for _, m := range q.messages {
		if !m.deleted {
			n++
		}
	}

	return n
}

func (q *queues) hide(id string, d time.Duration) {
	q.mu.Lock()
	defer q.mu.Unlock()

	for _, m := range q.messages {
		if m.id == id {
			m.visible = time.Now().Add(min(max(d, soonest), latest))
		}
	}
}

// take takes a message that one of the functions has sent under an id.
func (q *queues) take(url, body, id string) {
	to := q.captured

	if strings.HasSuffix(url, "/payments") {
		q.add(body)

		to = q.accepted
	}

	var payment struct {
		ID string `json:"paymentId"`
	}

	_ = json.Unmarshal([]byte(body), &payment)

	q.mu.Lock()
	defer q.mu.Unlock()

	if to[payment.ID] == nil {
		to[payment.ID] = map[string]int{}
	}

	to[payment.ID][id]++
}
