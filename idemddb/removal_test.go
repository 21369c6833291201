package idemddb_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// While the message is sent, the record becomes one that cannot be read. Nobody knows whether the message would be sent again, so
// the removal that the record refuses is an error, and not the success of another sender.
func TestARemovalThatMeetsAnUnreadableRecordIsAnError(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)
	_, err := s.Commit(t.Context(), "k", nil, nil, oneMessage)
	must(t, err)

	sender := storeOn(t, db, &idemddb.Options{Senders: map[string]idemddb.Sender{"bank": sendFunc(func(ms []idemddb.Message) []error {
		broken := recordOf(db, "k")
		delete(broken, "own")
		put(t, db, broken)

		return accepted(ms)
	})}})

	report, err := sender.SendStored(t.Context(), recordOf(db, "k"), false)
	is(t, err, idemddb.ErrCorrupt)

	if report.Sent != 1 {
		t.Errorf("%+v, want the message as sent", report)
	}
}

// Nobody knows whether the message would be sent again. The caller gets an error, and no event says that all is done.
func TestARemovalWithoutAnAnswerIsAnError(t *testing.T) {
	t.Parallel()
	bubble(t, sendingBy(accepted), func(f *fixture) {
		_, err := f.store.Commit(f.Context(), "answered", nil, nil, oneMessage)
		must(f, err)
		f.db.Intercept(forOperation("UpdateItem", idemddbtest.LostRequest))

		_, err = f.store.Commit(f.Context(), "unanswered", nil, nil, oneMessage)
		is(f, err, idemddb.ErrUnsent)
		f.events.want(f, idemddb.KindCompleted, idemddb.KindSent, idemddb.KindCompleted, idemddb.KindUnsent)
	})
}

// While a sweep sends the one message, another sweep finds that it can never be sent. What that one has parked stays.
func TestASweepDoesNotTouchWhatAnotherOneHasParked(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)
	_, err := s.Commit(t.Context(), "k", nil, nil, idemddb.Effects{Messages: []idemddb.Message{{To: "bank", Body: "a"}, {To: "bank", Body: "b"}}})
	must(t, err)

	stored := recordOf(db, "k")
	all, _ := stored["outbox"].(*types.AttributeValueMemberL)
	stored["outbox"], stored["parked"] = &types.AttributeValueMemberL{Value: all.Value[:1]}, &types.AttributeValueMemberL{Value: all.Value[1:]}
	put(t, db, stored)

	sender := storeOn(t, db, sendingBy(func(ms []idemddb.Message) []error {
		other := recordOf(db, "k")
		other["parked"] = all
		delete(other, "outbox")
		delete(other, "due")
		delete(other, "duens")
		put(t, db, other)

		return accepted(ms)
	}))
	_, err = sender.SendStored(t.Context(), stored, false)
	must(t, err)

	if parked, _ := recordOf(db, "k")["parked"].(*types.AttributeValueMemberL); parked == nil || len(parked.Value) != 2 {
		t.Errorf("the record is%s, want both messages parked", show(recordOf(db, "k")))
	}
}

// Of one message group the first message is parked, and the second one was not sent. Who receives them relies on their order.
func TestAnOperatorSendsAParkedMessageBeforeALaterOneThatIsUnsent(t *testing.T) {
	t.Parallel()

	sending := func(answer func(ms []idemddb.Message) []error) *idemddb.Options {
		return &idemddb.Options{Senders: map[string]idemddb.Sender{"bank": sendFunc(answer)}}
	}

	s, db := newStore(t, sending(func([]idemddb.Message) []error { return []error{idemddb.ErrUnsendable, errors.New("the bank is down")} }))
	_, err := s.Commit(t.Context(), "k", nil, nil, idemddb.Effects{Messages: []idemddb.Message{
		{To: "bank", Body: "opened", Group: "account-7"}, {To: "bank", Body: "closed", Group: "account-7"},
	}})
	must(t, err)

	var got []string

	operator := storeOn(t, db, sending(func(ms []idemddb.Message) []error {
		for _, m := range ms {
			got = append(got, m.Body)
		}

		return accepted(ms)
	}))

	_, err = operator.SendStored(t.Context(), recordOf(db, "k"), true)
	must(t, err)

	if want := []string{"opened", "closed"}; !slices.Equal(got, want) {
		t.Errorf("sent %q, want %q", got, want)
	}
}
