package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

// goldenForms is what effects, messages and operators leave in a record of format version 1. As record-v1.json, it never changes
// from the first release on.
const goldenForms = "testdata/record-v1-forms.json"

// goldenPart is a part of a result that is kept in the table, of the same version, with the word TOKEN for what is drawn.
const goldenPart = "testdata/record-v1-part.json"

// formInTable is the form of a record whose result is kept in the table.
const formInTable = "completed, result in the table"

// formMessage has everything that a message can have.
var formMessage = idemddb.Message{
	To: "bank", Body: "receipt of k", Group: "account-7", Attributes: map[string]string{"tenant": "acme"}, Sequence: 3,
}

// goldenForm is a way to a record, and what programs of today make of it.
type goldenForm struct {
	write func(t *testing.T, f *forms)
	claim string // the answer to a claim
	view  string // what an operator sees
	sent  int    // messages that a relay sends
}

// forms is a Store with all that may have to do with its records.
type forms struct {
	*idemddb.Store

	db      *idemddbtest.DB
	records *operate.Records
	codec   idemddb.Codec
	sent    []idemddb.Message
	answer  error // of the sender
}

func newForms(t *testing.T, name string, sends bool) *forms {
	t.Helper()

	f := &forms{}
	o := &idemddb.Options{
		Now: func() time.Time { return time.UnixMilli(1893456000000) }, MaxAttempts: 1, Senders: map[string]idemddb.Sender{"bank": nil},
	}

	if strings.HasPrefix(name, formSealed) {
		f.codec = fixedSeal{}
		o.Codec = f.codec
	}

	if name == formSealedOutside {
		sealed, _ := fixedSeal{}.Seal(t.Context(), []byte("paid"), idemddb.Sealed{Record: strings.Split(formSealedName, "/")[1]})
		o.Results, o.InlineResult = &shelf{Kept: map[string][]byte{formSealedName: sealed}}, 1
	}

	if sends {
		o.Senders["bank"] = f
	}

	if name == formInTable {
		o.InlineResult = -1
	}

	f.Store, f.db = newStore(t, o)

	if name == formInTable {
		put(t, f.db, goldenFile(t, goldenPart)["part"])
	}

	var err error
	if f.records, err = operate.New(f.Store, f.db); err != nil {
		t.Fatal(err)
	}

	return f
}

// The forms of records whose result and messages a Codec has sealed.
const (
	formSealed        = "sealed"
	formSealedOutside = "sealed, result outside"

	// formSealedName is that of the result outside of the record, with the token of the file.
	formSealedName = "test/RyRKZZq7bAHhBO2UIkX2ror_WqEL08mWYoBYLk1uW2s/TOKEN-OKdZaIV1ehzuy9df"
)

// fixedSeal is a Codec that seals the same bytes to the same, by an AEAD with one key and one nonce. So the file holds what is
// sealed of a message, and to which associated data.
type fixedSeal struct{}

func (fixedSeal) Seal(_ context.Context, plain []byte, of idemddb.Sealed) ([]byte, error) {
	return aead("a").Seal(nil, make([]byte, 12), plain, of.AssociatedData()), nil
}

func (fixedSeal) Open(_ context.Context, sealed []byte, of idemddb.Sealed) ([]byte, error) {
	return aead("a").Open(nil, make([]byte, 12), sealed, of.AssociatedData())
}

func (f *forms) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	f.sent = append(f.sent, ms...)

	errs := make([]error, len(ms))
	for i := range errs {
		errs[i] = f.answer
	}

	return errs
}

// operated lets an operator make a change of a key that a worker holds.
func operated(change func(*operate.Records) func(context.Context, operate.View, string, string) error) func(*testing.T, *forms) {
	return func(t *testing.T, f *forms) {
		t.Helper()

		claim(t, f.Store, "k")

		seen, err := f.records.Look(t.Context(), "k")
		must(t, err, change(f.records)(t.Context(), seen, "anna", "account 7 is closed"))
	}
}

func committed(effects idemddb.Effects) func(*testing.T, *forms) {
	return func(t *testing.T, f *forms) {
		t.Helper()

		// Whether its messages are sent is not what the commit says.
		if _, err := f.Commit(t.Context(), "k", nil, []byte("paid"), effects); err != nil && !errors.Is(err, idemddb.ErrUnsent) {
			t.Fatal(err)
		}
	}
}

var formWays = map[string]goldenForm{
	"completed with effects": {func(t *testing.T, f *forms) {
		t.Helper()

		must(t, claim(t, f.Store, "k").CompleteWith(t.Context(), []byte("paid"), items(putOf("other", "x"))))
	}, "replay of paid", "completed", 0},
	"committed": {committed(items(putOf("other", "x"))), "replay of paid", "completed", 0},
	"committed with an addition": {committed(idemddb.Effects{Adds: []idemddb.Add{{
		Table: "records", Key: goldenItem{"pk": text("account")}, Values: goldenItem{"balance": number(5)},
	}}}), "replay of paid", "completed", 0},
	"unsent": {committed(idemddb.Effects{Messages: []idemddb.Message{formMessage, {To: "bank", Body: "second"}}}),
		"replay of paid", "completed, unsent TX-0, unsent TX-1", 2},
	"sent": {func(t *testing.T, f *forms) {
		t.Helper()
		committed(idemddb.Effects{Messages: []idemddb.Message{formMessage}})(t, f)
	}, "replay of paid", "completed", 0},
	"parked": {func(t *testing.T, f *forms) {
		t.Helper()

		f.answer = fmt.Errorf("%w: no such queue", idemddb.ErrUnsendable)
		committed(idemddb.Effects{Messages: []idemddb.Message{formMessage}})(t, f)
	}, "replay of paid", "completed, parked TX-0: message cannot be sent: no such queue", 0},
	formSealed: {committed(idemddb.Effects{Messages: []idemddb.Message{formMessage, {To: "bank", Body: "second"}}}),
		"replay of paid", "completed, unsent TX-0, unsent TX-1", 2},
	formInTable:       {committed(idemddb.Effects{}), "replay of paid", "completed", 0},
	formSealedOutside: {committed(idemddb.Effects{}), "replay of paid", "completed", 0},
	"rejected": {func(t *testing.T, f *forms) {
		t.Helper()

		closed := func(context.Context) (int, error) { return 0, errors.New("bank closed") }
		if _, err := idemddb.Do(t.Context(), f.Store, "k", optimistic, closed); err == nil {
			t.Fatal("the work succeeded")
		}
	}, "failed: attempts used up; last failure: bank closed", "released", 0}, // MaxAttempts is 1
	"given up": {func(t *testing.T, f *forms) {
		t.Helper()

		errRelease := claim(t, f.Store, "k").Release(t.Context(), errors.New("bank closed"))
		if _, _, err := f.Claim(t.Context(), "k", nil); errRelease != nil || !errors.Is(err, idemddb.ErrFailed) {
			t.Fatal(errRelease, err)
		}
	}, "failed: attempts used up; last failure: bank closed", "failed", 0},
	"released by an operator": {operated(func(r *operate.Records) func(context.Context, operate.View, string, string) error { return r.Release }),
		"failed: attempts used up", "released, release by anna: account 7 is closed", 0},
	"failed by an operator": {operated(func(r *operate.Records) func(context.Context, operate.View, string, string) error { return r.Fail }),
		"failed: ended by anna: account 7 is closed", "failed, fail by anna: account 7 is closed", 0},
	"reopened by an operator": {func(t *testing.T, f *forms) {
		t.Helper()

		errFail := claim(t, f.Store, "k").Fail(t.Context(), errors.New("no such account"))
		seen, errLook := f.records.Look(t.Context(), "k")

		must(t, errFail, errLook, f.records.Reopen(t.Context(), seen, "anna", "account 7 is there now"))
	}, "claimed", "released, reopen by anna: account 7 is there now", 0},
}

func TestEffectsAndOperatorsWriteAsTheFormatSays(t *testing.T) {
	t.Parallel()

	want := goldenFile(t, goldenForms)
	if len(want) != len(formWays) {
		t.Errorf("%s has %d records, want %d", goldenForms, len(want), len(formWays))
	}

	for name, way := range formWays {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := newForms(t, name, name == "sent" || name == "parked")
			way.write(t, f)

			if diff := cmp.Diff(want[name], f.stored(), ignoreSmithy()); diff != "" {
				t.Errorf("not as the format has it (-want +got):\n%s", diff)
			}
		})
	}
}

// A part of a result is written as the file has it, but for the token. That the file's own is read is a form of the records.
func TestAPartOfAResultIsWrittenAsTheFormatSays(t *testing.T) {
	t.Parallel()

	f := newForms(t, formInTable, false)
	formWays[formInTable].write(t, f)

	want, token, parts := goldenFile(t, goldenPart)["part"], textOf(recordOf(f.db, "k"), "own"), 0

	for name, got := range partsOf(f.db) {
		if !strings.Contains(name, token) {
			continue // the file's
		}

		parts++

		got["pk"] = text(strings.Replace(name, token, "TOKEN", 1))
		if diff := cmp.Diff(want, got, ignoreSmithy()); diff != "" {
			t.Errorf("not as the format has it (-want +got):\n%s", diff)
		}
	}

	if parts != 1 {
		t.Errorf("%d parts, want one", parts)
	}
}

// stored is the record with the words TOKEN, TX and ID for what is drawn.
func (f *forms) stored() goldenItem {
	it := recordOf(f.db, "k")
	token := textOf(it, "own")
	it["own"] = text("TOKEN")

	if result, isMap := it["res"].(*types.AttributeValueMemberM); isMap {
		kept := result
		if sealed, isMap := result.Value["sealed"].(*types.AttributeValueMemberM); isMap {
			kept = sealed
		}

		if kept.Value["name"] != nil {
			kept.Value["name"] = text(strings.Replace(textOf(kept.Value, "name"), token, "TOKEN", 1))
		}
	}

	if it["tx"] != nil {
		it["tx"] = text("TX")
	}

	if op := textOf(it, "op"); op != "" {
		before, after, _ := strings.Cut(op, `"id":"`)
		_, after, _ = strings.Cut(after, `"`)
		it["op"] = text(before + `"id":"ID"` + after)
	}

	return it
}

func TestEffectsAndOperatorsAreReadAsTheFormatSays(t *testing.T) {
	t.Parallel()

	for name, it := range goldenFile(t, goldenForms) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			f := newForms(t, name, true)
			put(t, f.db, it)

			want := formWays[name]
			if got := f.view(t); got != want.view {
				t.Errorf("an operator sees %q, want %q", got, want.view)
			}

			if rep, err := outbox.Sweep(t.Context(), f.later(t), f.db); err != nil || rep.Sent != want.sent || len(f.sent) != want.sent {
				t.Errorf("a relay sends %+v, error %v, want %d messages", rep, err, want.sent)
			}

			if len(f.sent) > 0 {
				first := formMessage
				first.ID = "TX-0"

				if diff := cmp.Diff(first, f.sent[0]); diff != "" {
					t.Errorf("the message (-want +got):\n%s", diff)
				}
			}

			if got := f.asked(t); got != want.claim {
				t.Errorf("a claim is answered %q, want %q", got, want.claim)
			}
		})
	}
}

// later is the Store of a relay, which leaves what is younger than a minute to others.
func (f *forms) later(t *testing.T) *idemddb.Store {
	t.Helper()

	return storeOn(t, f.db, &idemddb.Options{
		Now: func() time.Time { return time.UnixMilli(1893456120000) }, Senders: map[string]idemddb.Sender{"bank": f}, Codec: f.codec,
	})
}

func (f *forms) view(t *testing.T) string {
	t.Helper()

	v, err := f.records.Look(t.Context(), "k")
	must(t, err)

	seen := []string{string(v.Status)}

	for _, m := range v.Messages {
		if m.Parked {
			seen = append(seen, "parked "+m.ID+": "+m.Cause)
		} else {
			seen = append(seen, "unsent "+m.ID)
		}
	}

	if v.Last != nil {
		seen = append(seen, fmt.Sprintf("%s by %s: %s", v.Last.What, v.Last.By, v.Last.Why))
	}

	return strings.Join(seen, ", ")
}

func (f *forms) asked(t *testing.T) string {
	t.Helper()

	c, rec, err := f.Claim(t.Context(), "k", nil)

	switch refusal, isFailed := errors.AsType[*idemddb.FailedError](err); {
	case isFailed:
		return "failed: " + refusal.Cause
	case err != nil:
		return err.Error()
	case rec != nil:
		return "replay of " + string(rec.Result)
	case c != nil:
		return "claimed"
	default:
		return "nothing"
	}
}
