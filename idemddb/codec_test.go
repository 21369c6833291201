package idemddb_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
)

// secret is a result with the marker. It is JSON, so that Do can decode it.
func secret(n int) []byte { return []byte(`"` + marker + strings.Repeat("a", n) + `"`) }

func TestWhatACodecSealsIsStoredAndReplayed(t *testing.T) {
	t.Parallel()

	for name, opts := range map[string]idemddb.Options{
		"in the record": {}, "in Options.Results": {InlineResult: 1}, "cached": {Cache: 10},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			eachSealed(t, opts, func(f *fixture, _ *vault, kept *shelf, complete func([]byte) error) {
				watchStored(f, f.db)
				must(f, complete(secret(100)))

				for range 2 { // the second one must not find what the first one has opened in place
					if got := replay(f, f.store, "k").Result; !bytes.Equal(got, secret(100)) {
						f.Errorf("replayed %q", got)
					}
				}

				for _, b := range kept.Kept {
					if bytes.Contains(b, []byte(marker)) {
						f.Errorf("put into Options.Results: %q", b)
					}
				}

				if (len(kept.Kept) > 0) != (name == "in Options.Results") {
					f.Errorf("%d results outside of the record", len(kept.Kept))
				}

				f.events.noMarker(f)
			})
		})
	}
}

func TestAResultWithoutBytesIsSealedAndReplayedAsOne(t *testing.T) {
	t.Parallel()

	s, _ := newStore(t, &idemddb.Options{Codec: &vault{keys: []string{"a"}}})
	must(t, claim(t, s, "empty").Complete(t.Context(), []byte{}), claim(t, s, "none").Complete(t.Context(), nil))

	if got := replay(t, s, "empty").Result; got == nil || len(got) != 0 {
		t.Errorf("replayed %v, want an empty result", got)
	}

	if got := replay(t, s, "none").Result; got != nil {
		t.Errorf("replayed %v, want none", got)
	}
}

// A Store that is given a Codec has records from before. One without a Codec must not take sealed bytes for a result.
func TestRecordsFromBeforeTheCodecAreReplayedAndSealedOnesOnlyWithIt(t *testing.T) {
	t.Parallel()

	plain, db := newStore(t, nil)
	sealing := storeOn(t, db, &idemddb.Options{Codec: &vault{keys: []string{"a"}}})

	must(t, claim(t, plain, "old").Complete(t.Context(), []byte("r")), claim(t, sealing, "new").Complete(t.Context(), secret(1)))

	if got := replay(t, sealing, "old").Result; string(got) != "r" {
		t.Errorf("replayed %q", got)
	}

	_, rec, err := plain.Claim(t.Context(), "new", nil)
	if is(t, err, idemddb.ErrCorrupt); rec != nil || !strings.Contains(err.Error(), "Options.Codec") {
		t.Errorf("got %+v, %v", rec, err)
	}

	// who does not need the result is answered
	if _, rec, err = plain.Claim(t.Context(), "new", &idemddb.ClaimOptions{SkipResult: true}); rec == nil || rec.Result != nil {
		t.Errorf("got %+v, %v", rec, err)
	}
}

// It says nothing about the record when only the caller's time is over.
func TestAResultThatIsNotOpenedInTimeIsNotCorrupt(t *testing.T) {
	t.Parallel()

	s, _, events := observed(t, &idemddb.Options{Codec: &vault{keys: []string{"a"}, onOpen: func(ctx context.Context, _ idemddb.Sealed) error {
		<-ctx.Done()

		return ctx.Err()
	}}})
	must(t, claim(t, s, "k").Complete(t.Context(), secret(1)))

	ctx := within(t, 50*time.Millisecond)
	_, rec, err := s.Claim(ctx, "k", nil)
	if is(t, err, context.DeadlineExceeded); rec != nil || errors.Is(err, idemddb.ErrCorrupt) {
		t.Errorf("got %+v, %v", rec, err)
	}

	if events.count(idemddb.KindCorrupt) != 0 || events.count(idemddb.KindReplayed) != 1 {
		t.Errorf("events: %v", events.kinds())
	}
}

// Whoever may write the table must not give one key the result of another, nor a message another target.
func TestWhatIsSealedIsBoundToItsPlace(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, &idemddb.Options{Codec: &vault{keys: []string{"a"}}})
	must(t, claim(t, s, "mine").Complete(t.Context(), secret(1)), claim(t, s, "yours").Complete(t.Context(), secret(2)))

	forged := recordOf(db, "mine")
	forged["res"] = recordOf(db, "yours")["res"]
	put(t, db, forged)

	_, _, err := s.Claim(t.Context(), "mine", nil)
	is(t, err, idemddb.ErrCorrupt)

	_, err = s.Commit(t.Context(), "k", nil, nil, oneMessage)
	must(t, err)

	forged = recordOf(db, "k")
	message, _ := forged["outbox"].(*types.AttributeValueMemberL).Value[0].(*types.AttributeValueMemberM)
	message.Value["to"] = text("nobody")
	put(t, db, forged)

	report, err := storeOn(t, db, &idemddb.Options{Codec: &vault{keys: []string{"a"}}, Senders: map[string]idemddb.Sender{
		"nobody": sendFunc(accepted),
	}}).SendStored(t.Context(), recordOf(db, "k"), false)
	if is(t, err, idemddb.ErrCorrupt); report.Sent != 0 || report.Left != 1 {
		t.Errorf("%+v", report)
	}
}

// Sealing is random, so the second completion has other bytes.
func TestCompletingAgainWithTheSameResultIsNoErrorWithACodec(t *testing.T) {
	t.Parallel()

	for name, above := range map[string]int{"in the record": 350 << 10, "in Options.Results": 1} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			kept := &shelf{}
			s, db := newStore(t, &idemddb.Options{Codec: &vault{keys: []string{"a"}}, Results: kept, InlineResult: above})
			c := claim(t, s, "k")

			must(t, c.Complete(t.Context(), secret(1)), c.Complete(t.Context(), secret(1)))
			is(t, c.Complete(t.Context(), secret(2)), idemddb.ErrFenced)

			kept.OnGet = func() error { return idemddb.ErrResultOmitted }
			is(t, c.Complete(t.Context(), nil), idemddb.ErrFenced)

			if isGone := replay(t, s, "k").ResultOmitted; isGone != (above == 1) {
				t.Errorf("a result that is gone: omitted %t", isGone)
			}

			plain := recordOf(db, "k") // as a process without a Codec writes it
			plain["res"] = &types.AttributeValueMemberB{Value: []byte("r")}
			put(t, db, plain)
			is(t, c.Complete(t.Context(), nil), idemddb.ErrFenced)
		})
	}
}

func TestSealedPartsAreToldApart(t *testing.T) {
	t.Parallel()

	var seen []idemddb.Sealed

	codec := &vault{keys: []string{"a"}, onSeal: func(_ context.Context, of idemddb.Sealed) error {
		seen = append(seen, of)

		return nil
	}}
	s, _ := newStore(t, &idemddb.Options{Codec: codec})
	c := claim(t, s, "p-1")
	must(t, c.CompleteWith(t.Context(), secret(1), oneMessage))

	const record = "j1U99p8jNOQ5AaK-fi7UwFdjGjNCamAx1j2ZehC3zT8" // printf 'test#p-1' | openssl dgst -sha256 -binary | base64, URL-safe

	want := []idemddb.Sealed{{Namespace: "test", Record: record, Target: "bank"}, {Namespace: "test", Record: record}}
	if diff := cmp.Diff(want, seen); diff != "" {
		t.Error(diff)
	}

	if got, want := string(seen[0].AssociatedData()), record+"/bank"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A wrapper keeps a smaller answer if the whole one does not fit, so it must know before the answer is sealed.
func TestAnAnswerFitsOnlyWithRoomForWhatACodecAdds(t *testing.T) {
	t.Parallel()

	for size, want := range map[int]bool{290_000: true, 304_000: false} {
		s, _ := newWriter(t, &idemddb.Options{Codec: &vault{keys: []string{"a"}}})
		if got := beginWork(t, s, "k", nil).Fits(make([]byte, size)); got != want {
			t.Errorf("%d bytes: got %v", size, got)
		}
	}
}

// A result just under the limit fits with the mark of a sealed one, and one above it is omitted before DynamoDB refuses the
// record.
func TestTheMarkOfASealedResultCountsForTheSizeOfTheRecord(t *testing.T) {
	t.Parallel()

	for size := 408_500; size < 409_700; size += 25 {
		s, _ := newWriter(t, &idemddb.Options{Codec: &vault{keys: []string{"a"}}})

		err := claim(t, s, "k").Complete(t.Context(), make([]byte, size))
		if err != nil && !errors.Is(err, idemddb.ErrTooLarge) {
			t.Fatalf("%d bytes: %v", size, err)
		}
	}
}

// What cannot be decoded says nothing of what it is.
func TestTheErrorOfAResultOfAnotherTypeDoesNotShowIt(t *testing.T) {
	t.Parallel()

	for name, result := range map[string]string{
		"a number": `5551234567`, "an object": `{"n":5551234567}`, "no JSON": `{"n":5551234567x`,
	} {
		s, _, events := observed(t, nil)
		must(t, claim(t, s, "k").Complete(t.Context(), []byte(result)))

		_, err := idemddb.Do(t.Context(), s, "k", nil, func(context.Context) (map[string]int8, error) { return map[string]int8{}, nil })
		if text := fmt.Sprintf("%v %#v", err, err); strings.Contains(text, "5551234567") || !errors.Is(err, idemddb.ErrCorrupt) {
			t.Errorf("%s: %s", name, text)
		}

		events.noMarker(t, err)
	}
}

var ignoreTypes = cmp.Comparer(func(a, b types.AttributeValue) bool { return everything(a) == everything(b) })

// confidential are effects whose message has the marker wherever the caller can put it.
var confidential = idemddb.Effects{Messages: []idemddb.Message{{
	To: "bank", Body: marker + " & <b>", Group: "group-" + marker, Attributes: map[string]string{"a-" + marker: marker}, Sequence: 7,
}}}

// storings are the ways in which messages are stored.
func storings(ctx context.Context, s *idemddb.Store, e idemddb.Effects) map[string]func(key string) error {
	stage := func(opts *idemddb.ClaimOptions) func(string) error {
		return func(key string) error {
			_, err := idemddb.Do(ctx, s, key, opts, func(ctx context.Context) (string, error) { return "", idemddb.Stage(ctx, e) })

			return err
		}
	}

	return map[string]func(string) error{
		"Do": stage(nil), "Do, optimistic": stage(optimistic),
		"Commit": func(key string) error { _, err := s.Commit(ctx, key, nil, secret(1), e); return err },
		"CompleteWith": func(key string) error {
			c, _, err := s.Claim(ctx, key, nil)
			if err != nil {
				return err
			}

			return c.CompleteWith(ctx, secret(1), e)
		},
	}
}

// They stay sealed when they are left and when they are parked. An operator whose program has the Codec sends them.
func TestMessagesAreStoredSealedAndSentAsTheyWereStaged(t *testing.T) {
	t.Parallel()

	var (
		sent   []idemddb.Message
		answer error
	)

	sender := sendFunc(func(ms []idemddb.Message) []error {
		for _, m := range ms {
			m.Attributes = maps.Clone(m.Attributes)
			sent = append(sent, m)
		}

		return []error{answer}
	})
	codec := &vault{keys: []string{"a"}}
	s, db, events := observed(t, &idemddb.Options{Codec: codec, Senders: map[string]idemddb.Sender{"bank": sender}})
	watchStored(t, db)

	for name, store := range storings(t.Context(), s, confidential) {
		answer = errors.New("the bank is down")

		must(t, store(name))

		if codec.opened != 0 {
			t.Errorf("%s: what this process has sealed was opened %d times, want that it is sent as it is known", name, codec.opened)
		}

		report, err := s.SendStored(t.Context(), recordOf(db, name), false)
		if events.noMarker(t, err); err == nil || report.Left != 1 || recordOf(db, name)["outbox"] == nil {
			t.Errorf("%s: %+v, %v", name, report, err)
		}

		answer = fmt.Errorf("%w: no such account", idemddb.ErrUnsendable)

		report, err = s.SendStored(t.Context(), recordOf(db, name), false)
		if events.noMarker(t, err); err != nil || report.Parked != 1 || recordOf(db, name)["parked"] == nil {
			t.Errorf("%s: %+v, %v", name, report, err)
		}

		answer, sent = nil, nil

		report, err = s.SendStored(t.Context(), recordOf(db, name), true)
		must(t, err)

		want := confidential.Messages[0]
		want.ID = textOf(recordOf(db, name), "tx") + "-0"

		if diff := cmp.Diff([]idemddb.Message{want}, sent); diff != "" || report.Sent != 1 {
			t.Errorf("%s: %+v:\n%s", name, report, diff)
		}

		codec.opened = 0
	}
}

// The order of staging numbers the messages, also over several calls of Stage.
func TestSealedMessagesOfSeveralCallsOfStageKeepTheirNumbers(t *testing.T) {
	t.Parallel()

	var bodies []string

	s, db := newStore(t, &idemddb.Options{Codec: &vault{keys: []string{"a"}}})
	_, err := idemddb.Do(t.Context(), s, "k", nil, func(ctx context.Context) (string, error) {
		for _, body := range []string{"0", "1", "2"} {
			if err := idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "bank", Body: body}}}); err != nil {
				return "", err
			}
		}

		return "", nil
	})
	must(t, err)

	sender := storeOn(t, db, &idemddb.Options{Codec: &vault{keys: []string{"a"}}, Senders: map[string]idemddb.Sender{
		"bank": sendFunc(func(ms []idemddb.Message) []error {
			for _, m := range ms {
				bodies = append(bodies, m.Body+" as "+m.ID[strings.LastIndex(m.ID, "-"):])
			}

			return accepted(ms)
		}),
	}})
	_, err = sender.SendStored(t.Context(), recordOf(db, "k"), false)
	must(t, err)

	if diff := cmp.Diff([]string{"0 as -0", "1 as -1", "2 as -2"}, bodies); diff != "" {
		t.Error(diff)
	}
}

// The work must not count as done without its message, and its plain text must not be stored instead.
func TestAMessageThatCannotBeSealedIsNotStoredAndItsWorkIsNotDone(t *testing.T) {
	t.Parallel()

	for name, failure := range map[string]func(context.Context, idemddb.Sealed) error{
		"denied": func(context.Context, idemddb.Sealed) error { return errDenied },
		"panics": func(context.Context, idemddb.Sealed) error { panic("as the test says") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, db, events := observed(t, &idemddb.Options{Codec: &vault{onSeal: failure}})
			watchStored(t, db)

			for way, store := range storings(t.Context(), s, confidential) {
				err := store(way)
				if events.noMarker(t, err); err == nil || !strings.Contains(err.Error(), "Options.Codec") || isDone(err) {
					t.Errorf("%s: %v", way, err)
				}

				if state := textOf(recordOf(db, way), "st"); state == "COMPLETED" {
					t.Errorf("%s: the key is completed", way)
				}
			}

			_, err := idemddb.Do(t.Context(), s, "ignored", nil, func(ctx context.Context) (string, error) {
				_ = idemddb.Stage(ctx, confidential)

				return "", nil
			})
			is(t, err, idemddb.ErrNotStaged)
		})
	}
}

// A relay without the key loses nothing, and neither does one that has no Codec. What stands behind such a message waits, because
// its group is sealed with it.
func TestAMessageThatDoesNotOpenStaysAndKeepsBackThoseBehindIt(t *testing.T) {
	t.Parallel()

	for name, codec := range map[string]idemddb.Codec{"another key": &vault{keys: []string{"b"}}, "none": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, db := newStore(t, &idemddb.Options{Codec: &vault{keys: []string{"a"}}})
			_, err := s.Commit(t.Context(), "k", nil, nil, idemddb.Effects{Messages: []idemddb.Message{
				{To: "bank", Body: "first", Group: "g"}, {To: "bank", Body: "second", Group: "g"}, {To: "nobody", Body: "other"},
			}})
			must(t, err)

			before := recordOf(db, "k")
			calls := 0
			relay := func(codec idemddb.Codec) *idemddb.Store {
				return storeOn(t, db, &idemddb.Options{Codec: codec, Senders: map[string]idemddb.Sender{
					"bank": sendFunc(func(ms []idemddb.Message) []error { calls += len(ms); return accepted(ms) }), "nobody": nil,
				}})
			}

			report, err := relay(codec).SendStored(t.Context(), recordOf(db, "k"), false)
			if is(t, err, idemddb.ErrCorrupt); report.Left != 3 || calls != 0 || !strings.Contains(err.Error(), "before it") {
				t.Errorf("%+v, %d sent: %v", report, calls, err)
			}

			if diff := cmp.Diff(before, recordOf(db, "k"), ignoreTypes); diff != "" {
				t.Errorf("the record changed:\n%s", diff)
			}

			report, _ = relay(&vault{keys: []string{"b", "a"}}).SendStored(t.Context(), recordOf(db, "k"), false)
			if report.Sent != 2 || report.Left != 1 || calls != 2 {
				t.Errorf("with the key: %+v, %d sent", report, calls)
			}

			outbox, _ := recordOf(db, "k")["outbox"].(*types.AttributeValueMemberL)
			if text := everything(outbox); strings.Contains(text, "other") || len(outbox.Value) != 1 {
				t.Errorf("what is left is stored as %q", text)
			}
		})
	}
}
