package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/delivery"
)

// target is a Sender that keeps what it is sent.
type target struct {
	mu     sync.Mutex
	answer func(m idemddb.Message) error // nil: it takes all
	ids    map[string][]string           // by body
}

// Send keeps the messages that it takes.
func (t *target) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	t.mu.Lock()
	defer t.mu.Unlock()

	answers := make([]error, len(ms))

	for i, m := range ms {
		if t.answer != nil {
			answers[i] = t.answer(m)
		}

		if answers[i] == nil {
			if t.ids == nil {
				t.ids = map[string][]string{}
			}

			t.ids[m.Body] = append(t.ids[m.Body], m.ID)
		}
	}

	return answers
}

// got demands how often a message arrived, each time under the same id, which it returns.
func (t *target) got(h *harness, body string, times int) (id string) {
	h.Helper()
	t.mu.Lock()
	defer t.mu.Unlock()

	ids := t.ids[body]
	if len(ids) != times {
		h.Errorf("message %q arrived %d times, want %d", body, len(ids), times)
	}

	slices.Sort(ids)

	if unique := slices.Compact(slices.Clone(ids)); len(unique) > 1 {
		h.Errorf("message %q arrived under the ids %q", body, unique)
	}

	if len(ids) == 0 {
		return ""
	}

	return ids[0]
}

// refuses answers with an error for these bodies.
func refuses(err error, bodies ...string) func(idemddb.Message) error {
	return func(m idemddb.Message) error {
		if slices.Contains(bodies, m.Body) {
			return err
		}

		return nil
	}
}

var (
	errDown  = errors.New("the target is down")
	errNever = fmt.Errorf("%w: the target is gone", idemddb.ErrUnsendable)
)

// sends sets the Sender of "bank" for a Store.
func sends(t *target) func(*idemddb.Options) {
	return func(o *idemddb.Options) { o.Senders = map[string]idemddb.Sender{"bank": t} }
}

func unswept(o *idemddb.Options) { o.RedeliverUnsent = true }

// messages are effects with an item and messages.
func (h *harness) messages(name string, bodies ...string) idemddb.Effects {
	e := effects(h.count(name))
	for i, body := range bodies {
		e.Messages = append(e.Messages, idemddb.Message{
			To: "bank", Body: body, Group: "g", Attributes: map[string]string{"a": body}, Sequence: int64(i),
		})
	}

	return e
}

// bodies returns the bodies of the messages in an attribute of a record.
func (h *harness) bodies(key, attribute string) []string {
	h.Helper()

	list, ok := h.item(key)[attribute].(*types.AttributeValueMemberL)
	if !ok {
		return nil
	}

	var bodies []string

	for _, m := range list.Value {
		if fields, ok := m.(*types.AttributeValueMemberM); ok {
			if body, ok := fields.Value["body"].(*types.AttributeValueMemberS); ok {
				bodies = append(bodies, body.Value)
			}
		}
	}

	return bodies
}

// sendStored does what a sweep or an operator does with a record.
func (h *harness) sendStored(s *idemddb.Store, key string, parked bool) (delivery.Report, error) {
	h.Helper()

	return s.SendStored(h.Context(), h.item(key), parked)
}

const farAway = 253402300799

// completions are the calls that complete a key with messages.
func (h *harness) completions() map[string]func(s *idemddb.Store, key string, e idemddb.Effects) error {
	return map[string]func(s *idemddb.Store, key string, e idemddb.Effects) error{
		"Commit": func(s *idemddb.Store, key string, e idemddb.Effects) error {
			_, err := s.Commit(h.Context(), key, nil, []byte("paid"), e)

			return err
		},
		"Commit of an old record": func(s *idemddb.Store, key string, e idemddb.Effects) error {
			completed(h, h.claim(h.store(), key))
			h.endRetention()

			_, err := s.Commit(h.Context(), key, nil, []byte("paid"), e)

			return err
		},
		"CompleteWith": func(s *idemddb.Store, key string, e idemddb.Effects) error {
			return h.claim(s, key).CompleteWith(h.Context(), []byte("paid"), e)
		},
		"messages only": func(s *idemddb.Store, key string, e idemddb.Effects) error {
			return h.claim(s, key).CompleteWith(h.Context(), []byte("paid"), idemddb.Effects{Messages: e.Messages})
		},
	}
}

// claimLost returns the error of a completion that another worker was faster with.
func (h *harness) claimLost(lost *idemddb.Claim) error {
	h.Helper()

	err := lost.Complete(h.Context(), nil)
	h.is(err, idemddb.ErrFenced)

	return err
}

// removalIsRefused demands, for each change of a record whose message got this answer, that a sender who has read the record
// before the change writes nothing afterwards. If errNever has parked the message, the sender is an operator.
func (h *harness) removalIsRefused(answer error, changes map[string]attributes) {
	h.Helper()

	for name, change := range changes {
		bank := &target{answer: refuses(answer, "m")}
		s := h.store(sends(bank))
		h.committed(s, name, h.messages(name, "m"))
		seen := h.item(name)
		h.edit(name, change)

		bank.answer = nil

		h.unchanged(name, func() {
			_, err := s.SendStored(h.Context(), seen, errors.Is(answer, errNever))
			h.must(err)
		})
	}
}
