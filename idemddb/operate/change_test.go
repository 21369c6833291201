package operate_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// A worker that lives on after an operator has taken its claim away writes nothing, and its wrapper acknowledges a success or
// not.
func TestAWorkerThatLivesOnIsFenced(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t

		release := func(ctx context.Context, v operate.View) error { return d.Release(ctx, v, "anna", "it hangs") }
		fail := func(ctx context.Context, v operate.View) error { return d.Fail(ctx, v, "anna", "it hangs") }
		forget := func(ctx context.Context, v operate.View) error { return d.Forget(ctx, v, "anna", "it hangs") }
		reopen := func(ctx context.Context, v operate.View) error {
			if err := fail(ctx, v); err != nil {
				return err
			}

			return d.Reopen(ctx, d.look("reopen"), "anna", "mended")
		}

		for name, test := range map[string]struct {
			change func(context.Context, operate.View) error
			done   bool // a success without effects counts as done
			next   func(*idemddb.Claim, error) bool
		}{
			"release": {release, true, func(c *idemddb.Claim, err error) bool { return err == nil && c.Takeover() && c.Attempt() == 2 }},
			"fail":    {fail, true, func(_ *idemddb.Claim, err error) bool { return errors.Is(err, idemddb.ErrFailed) }},
			"forget":  {forget, true, func(c *idemddb.Claim, err error) bool { return err == nil && !c.Takeover() && c.Attempt() == 1 }},
			"reopen":  {reopen, false, func(c *idemddb.Claim, err error) bool { return err == nil && c.Attempt() == 1 }},
		} {
			worker := d.claim(name)
			if err := test.change(t.Context(), d.look(name)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}

			if err := worker.Extend(t.Context()); !errors.Is(err, idemddb.ErrFenced) {
				t.Errorf("%s: the worker renews its lease: %v", name, err)
			}

			err := worker.CompleteWith(t.Context(), nil, idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: "x"}}})
			if !errors.Is(err, idemddb.ErrFenced) || worker.IsDone(err) {
				t.Errorf("%s: the worker writes its effects: %v", name, err)
			}

			claim, record, err := d.store.Claim(t.Context(), name, nil)
			if record != nil || !test.next(claim, err) {
				t.Errorf("%s: the next claim: %+v, %+v, %v", name, claim, record, err)
			}

			// The first settlement of a claim is the one that counts, so that the next one has a claim of its own.
			d.clock.Advance(time.Hour)
			_ = d.Forget(t.Context(), d.lookOrNone(name), "anna", "the next case")

			worker = d.claim(name)
			if err := test.change(t.Context(), d.look(name)); err != nil {
				t.Fatalf("%s: %v", name, err)
			}

			if err := worker.Complete(t.Context(), nil); !errors.Is(err, idemddb.ErrFenced) || worker.IsDone(err) != test.done {
				t.Errorf("%s: the worker completes: %v; is done: %v, want %v", name, err, worker.IsDone(err), test.done)
			}
		}
	})
}

func (d *desk) lookOrNone(key string) operate.View {
	v, err := d.Look(d.t.Context(), key)
	if err != nil && !errors.Is(err, operate.ErrNoRecord) {
		d.t.Fatal(err)
	}

	return v
}

// With NoTakeover, a key whose lease ran out is only claimed again because an operator says so.
func TestReleaseUnderNoTakeover(t *testing.T) {
	onEachEngine(t, idemddb.Options{NoTakeover: true}, func(d *desk) {
		t := d.t

		d.claim("p-1")
		d.clock.Advance(time.Minute)

		seen := d.look("p-1")
		if !seen.NoTakeover {
			t.Errorf("the view does not say that the key was claimed with NoTakeover: %+v", seen)
		}

		if err := d.Release(t.Context(), seen, "anna", "it was not paid"); err != nil {
			t.Fatal(err)
		}

		if next := d.claim("p-1"); next.Attempt() != 2 {
			t.Errorf("attempt %d, want 2", next.Attempt())
		}
	})
}

// What a worker or another operator does between look and change refuses the change, and the record stays as it is.
func TestARecordThatChangedMeanwhileIsLeftAlone(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t

		all := map[string]func(operate.View) error{
			"release": func(v operate.View) error { return d.Release(t.Context(), v, "anna", "why") },
			"fail":    func(v operate.View) error { return d.Fail(t.Context(), v, "anna", "why") },
			"forget":  func(v operate.View) error { return d.Forget(t.Context(), v, "anna", "why") },
		}

		for what, change := range all {
			for name, meanwhile := range map[string]func(key string, c *idemddb.Claim) error{
				"renewed": func(_ string, c *idemddb.Claim) error {
					d.clock.Advance(time.Second)

					return c.Extend(t.Context())
				},
				"released":  func(_ string, c *idemddb.Claim) error { return c.Release(t.Context(), nil) },
				"completed": func(_ string, c *idemddb.Claim) error { return c.Complete(t.Context(), nil) },
				"failed":    func(_ string, c *idemddb.Claim) error { return c.Fail(t.Context(), errors.New("no")) },
				"forgotten": func(key string, _ *idemddb.Claim) error { return d.Forget(t.Context(), d.look(key), "ben", "me first") },
				"ended by another operator": func(key string, _ *idemddb.Claim) error {
					return d.Fail(t.Context(), d.look(key), "ben", "me first")
				},
				"taken over": func(key string, _ *idemddb.Claim) error {
					d.clock.Advance(time.Hour)
					d.claim(key)

					return nil
				},
			} {
				key := what + ", " + name
				worker := d.claim(key)
				seen := d.look(key)

				if err := meanwhile(key, worker); err != nil {
					t.Fatalf("%s: %v", key, err)
				}

				before := d.lookOrNone(key)
				err := change(seen)

				changed, ok := errors.AsType[*operate.ChangedError](err)
				if !ok || !errors.Is(err, operate.ErrChanged) || (changed.Current == nil) != (name == "forgotten") {
					t.Errorf("%s: %v", key, err)
				}

				if now := d.lookOrNone(key); now.Fence != before.Fence || now.Status != before.Status || (now.Last == nil) != (before.Last == nil) {
					t.Errorf("%s: was %+v, is %+v", key, before, now)
				}
			}
		}
	})
}

// Each attribute of the fence counts by itself.
func TestEachAttributeOfTheFenceCounts(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t

		for name, other := range map[string]types.AttributeValue{
			"v": n("3"), "st": s("FAILED"), "own": s("other"), "fence": n("7"), "lease": n("7"), "att": n("7"), "exp": n("7"),
			"tx": s("other"), "due": n("7"), "ends": n("7"), "op": s("other"),
		} {
			d.claim(name)
			seen := d.look(name)
			d.set(name, item{name: other})

			if err := d.Fail(t.Context(), seen, "anna", "why"); !errors.Is(err, operate.ErrChanged) {
				t.Errorf("%s is another one: %v", name, err)
			}
		}

		d.claim("absent")
		d.set("absent", item{"op": s("before")})

		seen := d.look("absent")
		d.set("absent", item{"op": nil})

		if err := d.Fail(t.Context(), seen, "anna", "why"); !errors.Is(err, operate.ErrChanged) {
			t.Errorf("op is absent: %v", err)
		}
	})
}

// An item without any attribute of ours can be deleted, and is not created anew if it is gone.
func TestForgetOfAForeignItem(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t

		d.set("foreign", item{"balance": n("7")})

		seen := d.look("foreign")
		for _, want := range []error{nil, operate.ErrChanged} {
			if err := d.Forget(t.Context(), seen, "anna", "not ours"); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}

			if v := d.lookOrNone("foreign"); v.Status != "" {
				t.Errorf("still there: %+v", v)
			}
		}
	})
}

func TestWhoAndWhyStayInTheRecord(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t

		d.claim("release")
		d.claim("fail")
		d.fail("reopen")
		d.announce("send")
		d.clock.Advance(time.Second)

		for what, change := range map[string]func(context.Context, operate.View, string, string) error{
			"release": d.Release, "fail": d.Fail, "reopen": d.Reopen,
			"send": func(ctx context.Context, v operate.View, by, why string) error {
				_, err := d.Send(ctx, v, by, why)

				return err
			},
		} {
			if err := change(t.Context(), d.look(what), "anna", `the account "7" exists now`); err != nil {
				t.Fatal(err)
			}

			d.wantLast(what, "anna", `the account "7" exists now`)
		}

		d.complete("reopen")
		d.wantLast("reopen", "anna", `the account "7" exists now`)

		d.claim("p-2")

		if err := d.Fail(t.Context(), d.look("p-2"), "anna", strings.Repeat("ä", 100)); err != nil {
			t.Fatal(err)
		}

		if _, _, err := d.store.Claim(t.Context(), "p-2", nil); err == nil || !strings.Contains(err.Error(), "ended by anna: ää") {
			t.Errorf("the next claim: %v", err)
		}
	})
}

// wantLast wants the last change of a key, which is called as the change is, to be made now.
func (d *desk) wantLast(what, by, why string) {
	d.t.Helper()

	if last := d.look(what).Last; last == nil || last.What != what || last.By != by || last.Why != why || !last.At.Equal(d.clock.Now()) {
		d.t.Errorf("last change %+v, want %s by %s: %s", last, what, by, why)
	}
}

// Who deletes a record is written before the deletion, so that backups and streams of the table have it.
func TestWhoForgetsStaysInWhatIsLeft(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil)
	d := newDesk(t, db, idemddb.Options{})
	d.complete("forget")

	seen := d.look("forget")
	db.Inject(idemddbtest.None, idemddbtest.Throttle)

	if err := d.Forget(t.Context(), seen, "anna", "a test payment"); err == nil {
		t.Error("the deletion was refused, and Forget says that it was made")
	}

	d.wantLast("forget", "anna", "a test payment")
}

// The operator's program may have another retention than the workers. It does not shorten the life of a record.
func TestAChangeDoesNotShortenTheRetention(t *testing.T) {
	onEachEngine(t, idemddb.Options{Retention: 30 * 24 * time.Hour}, func(d *desk) {
		t := d.t
		d.fail("p-1")
		d.claim("p-2")

		records := recordsOf(t, d.another(idemddb.Options{Now: d.clock.Now, Retention: time.Hour}), d.client)

		if err := errors.Join(
			records.Reopen(t.Context(), d.look("p-1"), "anna", "mended"), records.Fail(t.Context(), d.look("p-2"), "anna", "cancelled"),
		); err != nil {
			t.Fatal(err)
		}

		for _, key := range []string{"p-1", "p-2"} {
			if ends := d.look(key).Ends; ends.Before(d.clock.Now().Add(29 * 24 * time.Hour)) {
				t.Errorf("%s ends at %v", key, ends)
			}
		}

		// A record that is about to end lives on for the retention.
		d.clock.Advance(30*24*time.Hour - time.Minute + time.Millisecond) // ends are whole seconds, and are rounded up

		if err := d.Reopen(t.Context(), d.look("p-2"), "anna", "after all"); err != nil {
			t.Fatal(err)
		}

		if ends := d.look("p-2").Ends; ends.Before(d.clock.Now().Add(30 * 24 * time.Hour)) {
			t.Errorf("it ends at %v", ends)
		}
	})
}

func TestAReopenedKeySaysThatItsWorkMayRunAgain(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		for key, took := range map[string]item{"new": {}, "old": {"took": nil}} {
			d.fail(key)
			d.set(key, took)

			if err := d.Reopen(d.t.Context(), d.look(key), "anna", "mended"); err != nil {
				d.t.Fatal(err)
			}

			if got, ok := d.stored(key)["took"].(*types.AttributeValueMemberN); !ok || got.Value != "-1" {
				d.t.Errorf("%s: got took %v, want -1", key, d.stored(key)["took"])
			}
		}
	})
}

func TestAChangeThatIsNotPossibleSaysWhy(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t

		d.claim("held")
		d.complete("completed")
		d.announce("unsent")
		d.set("foreign", item{"balance": n("7")})
		d.announce("corrupt")
		d.set("corrupt", item{"v": n("2")})

		ctx := t.Context()
		for name, test := range map[string]struct {
			err  error
			want string
		}{
			"release of a completed key": {d.Release(ctx, d.look("completed"), "anna", "why"), "it is completed, and only a claim that a worker holds"},
			"fail of a completed key":    {d.Fail(ctx, d.look("completed"), "anna", "why"), "only a key in progress"},
			"reopen of a held key":       {d.Reopen(ctx, d.look("held"), "anna", "why"), "it is held, and only a failed key"},
			"reopen of a foreign item":   {d.Reopen(ctx, d.look("foreign"), "anna", "why"), "not a record of this package"},
			"forget of messages":         {d.Forget(ctx, d.look("unsent"), "anna", "why"), operate.ErrUnsent.Error()},
		} {
			if test.err == nil || !strings.Contains(test.err.Error(), test.want) {
				t.Errorf("%s: %v", name, test.err)
			}
		}

		for _, key := range []string{"held", "corrupt"} {
			if _, err := d.Send(ctx, d.look(key), "anna", "why"); !errors.Is(err, operate.ErrNotAllowed) {
				t.Errorf("send of a %s record: %v", key, err)
			}
		}
	})
}

// A caller may rely on ErrMisuse: the record is as it was, and no look is needed.
func TestAWrongChangeIsAMisuseAndWritesNothing(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t
		d.claim("held")

		seen := d.look("held")
		tooLong := strings.Repeat("x", operate.MaxWhy+1)

		for name, test := range map[string]struct {
			err  error
			want string
		}{
			"nobody":                     {d.Fail(t.Context(), seen, " ", "why"), "by: must not be empty"},
			"no reason":                  {d.Fail(t.Context(), seen, "anna", ""), "why: must not be empty"},
			"a reason that is too long":  {d.Release(t.Context(), seen, "anna", tooLong), "why: must be UTF-8 of at most 200 bytes, has 201"},
			"a reason that is not UTF-8": {d.Forget(t.Context(), seen, "anna", "\xff"), "why: must be UTF-8"},
			"a View of the caller's own": {
				d.Fail(t.Context(), operate.View{Status: operate.Held}, "anna", "why"), "seen: must come from Look, List or a ChangedError",
			},
			"the deletion of such a View": {d.ForgetUnsent(t.Context(), operate.View{}, "anna", "why"), "seen: must come from Look"},
		} {
			if !errors.Is(test.err, idemddb.ErrMisuse) || !strings.Contains(test.err.Error(), test.want) {
				t.Errorf("%s: got %v, want an ErrMisuse with %q", name, test.err, test.want)
			}
		}

		if diff := cmp.Diff(seen, d.look("held"), cmpopts.IgnoreUnexported(operate.View{})); diff != "" {
			t.Errorf("the record (-before +after):\n%s", diff)
		}
	})
}

func TestUnsentMessagesAreSentOrLostOnPurpose(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t

		d.announce("p-1")

		seen := d.look("p-1")
		d.queue.down = true

		if delivery, err := d.Send(t.Context(), seen, "anna", "the queue is back"); err == nil || delivery.Left != 1 {
			t.Errorf("sent to a queue that is down: %+v, %v", delivery, err)
		}

		d.queue.down = false

		// Two operators: the second one's view is from before the first one's change.
		if _, err := d.Send(t.Context(), seen, "ben", "the queue is back"); !errors.Is(err, operate.ErrChanged) {
			t.Errorf("the second operator: %v", err)
		}

		if delivery, err := d.Send(t.Context(), d.look("p-1"), "anna", "the queue is back"); err != nil || delivery.Sent != 1 || len(d.queue.got) != 1 {
			t.Errorf("got %+v, %v, queue %q", delivery, err, d.queue.got)
		}

		if v := d.look("p-1"); len(v.Messages) != 0 || v.Last.What != "send" {
			t.Errorf("after it: %+v", v)
		}

		d.announce("p-2")

		if err := d.ForgetUnsent(t.Context(), d.look("p-2"), "anna", "a test payment"); err != nil {
			t.Error(err)
		}

		if v := d.lookOrNone("p-2"); v.Status != "" {
			t.Errorf("still there: %+v", v)
		}
	})
}

// noQueue is the answer at an address where there is no queue.
type noQueue struct{}

func (noQueue) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	return slices.Repeat([]error{fmt.Errorf("%w: there is no such queue", idemddb.ErrUnsendable)}, len(ms))
}

// The operator may have mistyped the address, so the sweep goes on with what it would have sent. What was parked stays parked.
func TestAWrongAddressOfAnOperatorParksNothing(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t
		mistyped := d.another(idemddb.Options{Now: d.clock.Now, Senders: map[string]idemddb.Sender{"receipts": noQueue{}}})
		records := recordsOf(t, mistyped, d.client)

		for _, key := range []string{"unsent", "parked"} {
			d.announce(key)

			if key == "parked" {
				_, _ = mistyped.SendStored(t.Context(), d.stored(key), false) // a sweep parks it
			}

			done, err := records.Send(t.Context(), d.look(key), "anna", "the queue is back")
			if !errors.Is(err, idemddb.ErrUnsendable) || done.Sent != 0 || done.Left+done.Parked != 1 {
				t.Errorf("%s: got %+v, %v", key, done, err)
			}

			if v := d.look(key); len(v.Messages) != 1 || v.Messages[0].Parked != (key == "parked") {
				t.Errorf("%s: after it: %+v", key, v.Messages)
			}
		}
	})
}

// A message that appears after the look is not deleted either.
func TestForgetDoesNotDeleteAMessageThatItHasNotSeen(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil)
	d := newDesk(t, db, idemddb.Options{})

	// Another program writes messages in a way of its own, between the stamp and the deletion, without any attribute of the fence.
	d.complete("p-2")

	db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if r.Operation == "DeleteItem" {
			db.Intercept(nil)
			d.set("p-2", item{"parked": &types.AttributeValueMemberL{Value: []types.AttributeValue{s("a message")}}})
		}

		return idemddbtest.None
	})

	if err := d.Forget(t.Context(), d.look("p-2"), "anna", "why"); !errors.Is(err, operate.ErrChanged) {
		t.Errorf("got %v", err)
	}
}

// The answer to the first write of Forget is lost, and the worker completes before the SDK sends the write again. The second try
// is refused with the completed record, which has the operator's stamp and was never shown.
func TestForgetDoesNotDeleteWhatAWorkerWroteBetweenTwoTries(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // in the bubble the pauses of the SDK take no time
		db, d, records := newDeskOfSDK(t)
		worker := d.claim("p-1")
		seen := d.look("p-1")
		tries := 0

		db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
			if tries++; tries == 1 {
				return idemddbtest.LostReply
			}

			db.Intercept(nil)

			if err := worker.Complete(t.Context(), nil); err != nil {
				t.Errorf("the worker completes before the second %s: %v", r.Operation, err)
			}

			return idemddbtest.None
		})

		if err := records.Forget(t.Context(), seen, "anna", "its worker hangs"); !errors.Is(err, operate.ErrChanged) {
			t.Errorf("got %v", err)
		}

		if v := d.lookOrNone("p-1"); v.Status != operate.Completed {
			t.Errorf("after it: %+v", v)
		}
	})
}

// The SDK sends a request again whose answer was lost. The change is made once, and its own second try is not taken for another
// operator.
func TestAChangeWhoseAnswerIsLost(t *testing.T) {
	t.Parallel()

	for fault, want := range map[idemddbtest.Fault]string{
		idemddbtest.LostReply:          "",
		idemddbtest.ServerErrorApplied: "",
		idemddbtest.LostRequest:        "",
		idemddbtest.TruncatedBody:      "unexpected EOF", // the SDK does not send it again
		idemddbtest.EmptyAnswerApplied: "look again",
	} {
		t.Run(string(fault), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // in the bubble the pauses of the SDK take no time
				db, d, records := newDeskOfSDK(t)

				d.fail("p-1")
				d.complete("p-2")

				failed, completed := d.look("p-1"), d.look("p-2")

				db.Inject(fault)

				check := func(err error) {
					t.Helper()

					if (err != nil) != (want != "") || err != nil && (!strings.Contains(err.Error(), want) || errors.Is(err, operate.ErrChanged)) {
						t.Errorf("got %v, want %q", err, want)
					}
				}

				check(records.Reopen(t.Context(), failed, "anna", "mended"))

				if v := d.look("p-1"); v.Status != operate.Released || v.Fence != failed.Fence+1 || v.Last == nil {
					t.Errorf("after it: %+v", v)
				}

				db.Inject(idemddbtest.None, fault)
				check(records.Forget(t.Context(), completed, "anna", "a test payment"))

				if v := d.lookOrNone("p-2"); v.Status != "" {
					t.Errorf("still there: %+v", v)
				}
			})
		})
	}
}

// newDeskOfSDK returns a database in memory, a desk on it, and its records as the client of the SDK reads and changes them.
func newDeskOfSDK(t *testing.T) (*idemddbtest.DB, *desk, *operate.Records) {
	t.Helper()

	db := idemddbtest.New(nil)
	d := newDesk(t, db, idemddb.Options{})

	return db, d, recordsOf(t, d.store, db.Client())
}

// A try that was given up arrives when the key has failed again: it does not reopen that failure, which nobody has looked at.
func TestALateTwinOfAChangeIsRefused(t *testing.T) {
	t.Parallel()

	late := idemddbtest.LateRequest

	for name, test := range map[string]struct {
		faults []idemddbtest.Fault
		change func(context.Context, *operate.Records, operate.View) error
	}{
		"reopen": {[]idemddbtest.Fault{late}, func(ctx context.Context, r *operate.Records, v operate.View) error {
			return r.Reopen(ctx, v, "anna", "mended")
		}},
		"forget": {[]idemddbtest.Fault{late, idemddbtest.None, late}, func(ctx context.Context, r *operate.Records, v operate.View) error {
			return r.Forget(ctx, v, "anna", "gone")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { // in the bubble the pauses of the SDK take no time
				db, d, records := newDeskOfSDK(t)

				d.fail("p-1")

				seen := d.look("p-1")
				db.Inject(test.faults...)

				if err := test.change(t.Context(), records, seen); err != nil {
					t.Fatal(err)
				}

				d.fail("p-1")

				again := d.look("p-1")
				if delivered := db.Deliver(); len(delivered) == 0 {
					t.Error("nothing was late")
				}

				if now := d.look("p-1"); now.Status != operate.Failed || now.Fence != again.Fence {
					t.Errorf("was %+v, is %+v", again, now)
				}
			})
		})
	}
}

// A change that was not applied is not reported as done.
func TestAnEmptyAnswerProvesNothing(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil)
	d := newDesk(t, db, idemddb.Options{})
	d.fail("p-1")

	seen := d.look("p-1")

	for _, faults := range [][]idemddbtest.Fault{{idemddbtest.EmptyAnswer}, {idemddbtest.None, idemddbtest.EmptyAnswer}} {
		db.Inject(faults...)

		if err := d.Forget(t.Context(), seen, "anna", "why"); err == nil || errors.Is(err, operate.ErrChanged) {
			t.Errorf("got %v", err)
		}

		if seen = d.look("p-1"); seen.Status != operate.Failed {
			t.Errorf("after it: %+v", seen)
		}
	}
}

func TestForgetDoesNotSayThatNothingWasChangedWhenItHasDeletedTheRecord(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) { // in the bubble the pauses of the SDK take no time
		db, d, records := newDeskOfSDK(t)
		d.complete("key")

		seen := d.look("key")
		db.Inject(idemddbtest.None, idemddbtest.LostReply) // to the deletion, which the SDK sends again

		time.AfterFunc(time.Nanosecond, func() { d.claim("key") })

		err := records.Forget(t.Context(), seen, "anna", "why")
		if err == nil || errors.Is(err, operate.ErrChanged) || !strings.Contains(err.Error(), "look again") {
			t.Errorf("got error %v", err)
		}
	})
}
