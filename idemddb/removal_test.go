package idemddb_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/idemddb/go-idemddb/idemddb"
)

// While the message is sent, the record becomes one that cannot be read. Nobody knows whether the message would be sent again, so the removal
// that the record refuses is an error, and not the success of another sender.
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
