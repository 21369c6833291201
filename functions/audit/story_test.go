package main

import (
	"context"
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/functions/internal/stand"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

// liveThroughEverything makes changes of each kind. Five of them take a key over: a claim, a commit and a rejection behind leases
// that ran out, a claim that is given back, and the next claim of that key.
func (s *stream) liveThroughEverything() {
	s.Helper()
	s.put(map[string]types.AttributeValue{"pk": text("order-7"), "note": text("no record")})
	s.settle()
	s.takeOver()
	s.operate()
	s.deliver()
	s.end()
}

// settle ends claims in each way.
func (s *stream) settle() {
	s.Helper()

	held := s.claim(s.store, "extended")
	<-time.After(10 * time.Second)
	s.must(held.Extend(s.Context()))
	s.must(held.CompleteWith(s.Context(), nil, message))

	s.must(s.claim(s.store, "released").Release(s.Context(), errors.New("closed")))
	s.must(s.claim(s.store, "released").Fail(s.Context(), errors.New("no such account")))
	s.must(s.store.Reopen(s.Context(), "released"))
	s.complete("completed")
	s.must(s.claim(s.store, "large").Complete(s.Context(), make([]byte, 40_000)))

	marked := s.item("completed")
	marked["note"] = text("another program's")
	s.put(marked)
}

var message = idemddb.Effects{Messages: []idemddb.Message{{To: "bank", Body: "b"}}}

// takeOver leaves keys to workers that die.
func (s *stream) takeOver() {
	s.Helper()

	for _, key := range []string{"returned", "given up", "committed", "rejected"} {
		s.claim(s.store, key)
	}

	<-time.After(time.Minute)
	s.must(s.claim(s.store, "returned").ReleaseUnused(s.Context()))
	s.complete("returned")
	s.commit("committed", message)
	s.reject("rejected")
	s.must(s.claim(s.store, "let go").Release(s.Context(), nil))
	s.commit("let go", idemddb.Effects{}) // this takes nothing over

	if _, _, err := s.worker(&idemddb.Options{MaxAttempts: 1}).Claim(s.Context(), "given up", nil); !errors.Is(err, idemddb.ErrFailed) {
		s.Errorf("got %v, want that the key is given up", err)
	}
}

func (s *stream) commit(key string, effects idemddb.Effects) {
	s.Helper()

	_, err := s.store.Commit(s.Context(), key, nil, nil, effects)
	s.must(err)
}

// reject is work without a claim that does not succeed.
func (s *stream) reject(key string) {
	s.Helper()

	_, err := idemddb.Do(s.Context(), s.store, key, &idemddb.ClaimOptions{Optimistic: true}, func(context.Context) (string, error) {
		return "", errors.New("closed")
	})
	if err == nil {
		s.Errorf("%s is not rejected", key)
	}
}

// operate is an operator, who does everything to one key.
func (s *stream) operate() {
	s.Helper()

	s.claim(s.store, "operated")
	s.must(s.records.Release(s.Context(), s.look("operated"), "anna", "it hangs"))
	s.claim(s.store, "operated")
	s.must(s.records.Fail(s.Context(), s.look("operated"), "anna", "it is wrong"))
	s.must(s.records.Reopen(s.Context(), s.look("operated"), "anna", "it is right"))
	s.must(s.records.Forget(s.Context(), s.look("operated"), "anna", "again"))
	s.must(s.records.Forget(s.Context(), s.look("large"), "anna", "it is wrong"))
}

func (s *stream) look(key string) operate.View {
	s.Helper()

	seen, err := s.records.Look(s.Context(), key)
	s.must(err)

	return seen
}

// deliver parks the messages that are there, sends those of one record again, and sends another message.
func (s *stream) deliver() {
	s.Helper()

	answer := outbox.ErrPermanent
	bank := stand.Sender(func(context.Context, string) error { return answer })
	sending := s.worker(&idemddb.Options{Senders: map[string]idemddb.Sender{"bank": bank}})
	sweep := func() {
		s.Helper()
		<-time.After(2 * time.Minute)

		_, _ = outbox.Sweep(s.Context(), sending, s.db) // a message that is parked is an error
	}
	sweep()

	answer = nil
	records, err := operate.New(sending, s.db)
	s.must(err)

	_, err = records.Send(s.Context(), s.look("committed"), "anna", "the queue is there again")
	s.must(err)
	s.commit("sent", message)
	sweep()
}

// end lets records pass their end, and makes some of them anew. Time to Live deletes the others.
func (s *stream) end() {
	s.Helper()

	for _, key := range []string{"anew by claim", "anew by commit", "anew by rejection"} {
		s.complete(key)
	}

	<-time.After(10 * 24 * time.Hour)
	s.complete("anew by claim")
	s.commit("anew by commit", idemddb.Effects{})
	s.reject("anew by rejection")
	s.expire("exp")
}

// expire turns Time to Live on for an attribute, and lets it delete what it deletes.
func (s *stream) expire(attribute string) {
	s.Helper()

	table, enabled := "records", true
	_, err := s.db.UpdateTimeToLive(s.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: &table, TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &attribute, Enabled: &enabled},
	})
	s.must(err)
	s.db.Expire()
}
