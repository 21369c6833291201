package outbox_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/internal/checks/around"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
)

// account is a table of records with its index, and what stands behind the senders.
type account struct {
	*around.Client
	*idemddbtest.Clock
	testing.TB

	shards      int // of the next Store; 0 for the default
	queries     int
	scans       int
	brokenReads int // how many of the next reads have no answer

	mu     sync.Mutex
	answer func(m idemddb.Message) error // nil: all are accepted
	got    map[string][]string           // ids by body
	events []idemddb.Event
}

func newAccount(t testing.TB) *account {
	t.Helper()

	a := &account{Clock: idemddbtest.NewClock(time.Now()), TB: t, got: map[string][]string{}}
	db := audited.Tables(t, &idemddbtest.Options{Now: a.Now}, idemddbtest.CreateTable("records", "unsent"))
	a.Client = &around.Client{DB: db, Do: a.seen}
	audited.DB(t, a.DB, nil, audit.Options{})

	if _, err := a.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName: new("records"), TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	}); err != nil {
		t.Fatal(err)
	}

	return a
}

// Send is the sender of "bank".
func (a *account) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	a.mu.Lock()
	defer a.mu.Unlock()

	answers := make([]error, len(ms))

	for i, m := range ms {
		if a.answer != nil {
			answers[i] = a.answer(m)
		}

		if answers[i] == nil {
			a.got[m.Body] = append(a.got[m.Body], m.ID)
		}
	}

	return answers
}

// seen is in place of the requests of a sweep. It counts queries and scans, has them answer in small pages, and demands that a
// read is consistent.
func (a *account) seen(ctx context.Context, in any, send around.Send) (any, error) {
	switch sent := in.(type) {
	case *dynamodb.QueryInput:
		a.queries++

		paged := *sent
		paged.Limit = new(int32(3))
		in = &paged
	case *dynamodb.ScanInput:
		a.scans++

		paged := *sent
		paged.Limit = new(int32(3))
		in = &paged
	case *dynamodb.GetItemInput:
		if !aws.ToBool(sent.ConsistentRead) {
			a.Error("the read is not consistent")
		}

		if a.brokenReads--; a.brokenReads >= 0 {
			return nil, errors.New("cannot read")
		}
	}

	return send(ctx, in)
}

// store returns a Store, with a sender or without one, that finds its unsent messages by the index or by a scan.
func (a *account) store(namespace, index string, hasSender bool) *idemddb.Store {
	a.Helper()

	o := idemddb.Options{UnsentIndex: index, UnsentShards: a.shards, Retention: 24 * time.Hour, Observe: func(_ context.Context, e idemddb.Event) {
		a.mu.Lock()
		defer a.mu.Unlock()

		a.events = append(a.events, e)
	}}

	o.Senders = map[string]idemddb.Sender{"bank": nil, "hangs": nil}
	if hasSender {
		o.Senders["bank"] = a
	}

	return a.open(namespace, o)
}

// open returns a Store with these options.
func (a *account) open(namespace string, opts idemddb.Options) *idemddb.Store {
	a.Helper()

	opts.Now = a.Now

	s, err := idemddb.New(a.DB, "records", namespace, &opts)
	if err != nil {
		a.Fatal(err)
	}

	return s
}

// commit completes a key whose process dies before it sends its messages: it has no sender.
func (a *account) commit(namespace, key string, bodies ...string) {
	a.Helper()

	var e idemddb.Effects
	for _, body := range bodies {
		e.Messages = append(e.Messages, idemddb.Message{To: "bank", Body: body})
	}

	if rec, err := a.store(namespace, "", false).Commit(a.Context(), key, nil, nil, e); rec != nil || err != nil {
		a.Fatal(rec, err)
	}

	a.Advance(time.Millisecond)
}

// arrived demands that a message has arrived at least once, each time under one id.
func (a *account) arrived(body string) {
	a.Helper()

	ids := slices.Compact(slices.Sorted(slices.Values(a.got[body])))
	if len(ids) != 1 {
		a.Errorf("message %q arrived under the ids %q", body, ids)
	}
}

func (a *account) sweep(s *idemddb.Store) outbox.Report {
	a.Helper()

	report, err := outbox.Sweep(a.Context(), s, a)
	if err != nil {
		a.Error(err)
	}

	return report
}

// eachSweep runs check with the index and with the scan.
func eachSweep(t *testing.T, check func(a *account, index string)) {
	t.Helper()

	for _, index := range []string{"unsent", ""} {
		t.Run(map[string]string{"": "scan"}[index]+index, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) { check(newAccount(t), index) })
		})
	}
}

func TestTheSweepSendsWhatIsOlderThanAMinute(t *testing.T) {
	t.Parallel()
	eachSweep(t, func(a *account, index string) {
		for i := range 40 {
			a.commit("payments", fmt.Sprint(i), fmt.Sprint("m", i), fmt.Sprint("n", i))
		}

		a.commit("orders", "1", "another namespace's")

		s := a.store("payments", index, true)
		if got := a.sweep(s); got != (outbox.Report{}) {
			a.Errorf("got %+v before a minute", got)
		}

		a.Advance(time.Minute)

		got := a.sweep(s)
		if got.Records != 40 || got.Sent != 80 || got.Left != 0 || got.Parked != 0 || got.Oldest < time.Minute || got.Oldest > 2*time.Minute {
			a.Errorf("got %+v", got)
		}

		for i := range 40 {
			a.arrived(fmt.Sprint("m", i))
			a.arrived(fmt.Sprint("n", i))
		}

		if a.got["another namespace's"] != nil {
			a.Error("another namespace's message was sent")
		}

		if index != "" && (a.queries < 32 || a.scans > 0) || index == "" && a.queries > 0 {
			a.Errorf("%d queries, %d scans", a.queries, a.scans)
		}

		if got := a.sweep(s); got != (outbox.Report{}) {
			a.Errorf("got %+v after a sweep", got)
		}
	})
}

// The number of partitions is raised for the sweep first, then for one worker after the other. What a worker left in a partition
// stays in it while a part of its messages is left.
func TestTheSweepFindsTheMessagesOfWorkersWithAnyNumberOfShards(t *testing.T) {
	t.Parallel()
	eachSweep(t, func(a *account, index string) {
		bodies := []string{}

		for i := range 60 {
			a.shards = []int{0, 16, 32, 64, 256}[i%5]
			first, second := fmt.Sprint("first ", i), fmt.Sprint("second ", i)
			bodies = append(bodies, first, second)
			a.commit("payments", fmt.Sprint("k-", i), first, second)
		}

		a.Advance(2 * time.Minute)

		a.answer = func(m idemddb.Message) error {
			if strings.HasPrefix(m.Body, "second") {
				return errors.New("down")
			}

			return nil
		}

		for _, a.shards = range []int{32, 256} {
			if _, err := outbox.Sweep(a.Context(), a.store("payments", index, true), a); err == nil {
				a.Error("the sweep leaves messages and returns no error")
			}
		}

		a.answer, a.shards = nil, 64
		if report := a.sweep(a.store("payments", index, true)); report.Sent != 60 || report.Left != 0 {
			a.Errorf("got %+v, want 60 messages sent", report)
		}

		for _, body := range bodies {
			a.arrived(body)
		}
	})
}

// Six days without a sweep, with Time to Live at work all the time: every message arrives.
func TestAfterSixDaysEveryMessageArrives(t *testing.T) {
	t.Parallel()
	eachSweep(t, func(a *account, index string) {
		for i := range 10 {
			a.commit("payments", fmt.Sprint(i), fmt.Sprint("m", i))
		}

		for range 6 * 4 {
			a.Advance(6 * time.Hour)
			a.Expire()
		}

		s := a.store("payments", index, true)
		a.sweep(s)
		a.Advance(23 * time.Hour)

		if n := a.Expire(); n != 0 {
			a.Errorf("%d records are gone before tomorrow", n)
		}

		for i := range 10 {
			a.arrived(fmt.Sprint("m", i))

			if _, rec, err := s.Claim(a.Context(), fmt.Sprint(i), nil); rec == nil {
				a.Errorf("key %d: %v", i, err)
			}
		}

		a.Advance(2 * time.Hour)

		if n := a.Expire(); n != 10 {
			a.Errorf("%d records expired, want 10", n)
		}
	})
}

// After eight days they are parked, none is deleted, and one command sends them under the same ids.
func TestAfterEightDaysMessagesAreParked(t *testing.T) {
	t.Parallel()
	eachSweep(t, func(a *account, index string) {
		for i := range 10 {
			a.commit("payments", fmt.Sprint(i), fmt.Sprint("m", i), fmt.Sprint("n", i))
		}

		tx := map[string]string{}
		for _, it := range a.Items("records") {
			tx[it["pk"].(*types.AttributeValueMemberS).Value] = it["tx"].(*types.AttributeValueMemberS).Value
		}

		a.Advance(8 * 24 * time.Hour)
		a.Expire()

		s := a.store("payments", index, true)
		if got := a.sweep(s); got.Parked != 20 || got.Sent != 0 || got.Left != 0 {
			a.Errorf("got %+v", got)
		}

		if got := a.sweep(s); got != (outbox.Report{}) {
			a.Errorf("got %+v", got)
		}

		a.Advance(365 * 24 * time.Hour)

		if n := a.Expire(); n > 0 || len(a.got) > 0 {
			a.Errorf("%d records deleted, %d messages sent", n, len(a.got))
		}

		records, err := operate.New(s, a)
		if err != nil {
			a.Fatal(err)
		}

		for i := range 10 {
			seen, err := records.Look(a.Context(), fmt.Sprint(i))
			if err != nil {
				a.Fatal(err)
			}

			done, err := records.Send(a.Context(), seen, "anna", "the queue is back")
			if want := (operate.Delivery{Key: fmt.Sprint(i), Sent: 2}); err != nil || done != want {
				a.Errorf("got %+v, %v", done, err)
			}

			if ids := a.got[fmt.Sprint("n", i)]; len(ids) != 1 || ids[0] != tx["payments#"+fmt.Sprint(i)]+"-1" {
				a.Errorf("got ids %q", ids)
			}
		}

		parked := 0

		for _, e := range a.events {
			if e.Kind == idemddb.KindParked {
				parked++
			}
		}

		if parked != 20 {
			a.Errorf("%d events", parked)
		}
	})
}

func TestSendersThatMisbehave(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		send func(ctx context.Context, ms []idemddb.Message) []error
		want string
	}{
		"panics":           {func(context.Context, []idemddb.Message) []error { panic("boom") }, "the sender panicked: boom"},
		"too few answers":  {func(context.Context, []idemddb.Message) []error { return nil }, "gave 0 answers for 2 messages"},
		"too many answers": {func(context.Context, []idemddb.Message) []error { return make([]error, 3) }, "gave 3 answers for 2 messages"},
		"an error that cannot be read": {func(context.Context, []idemddb.Message) []error {
			return slices.Repeat([]error{(*smithy.OperationError)(nil)}, 2)
		}, "an error of the sender panicked: "},
		"hangs": {func(ctx context.Context, ms []idemddb.Message) []error {
			<-ctx.Done()

			return slices.Repeat([]error{ctx.Err()}, len(ms))
		}, "deadline exceeded"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				a := newAccount(t)
				a.commit("payments", "k", "m", "n")
				a.Advance(time.Minute)

				s := a.open("payments", idemddb.Options{Senders: map[string]idemddb.Sender{"bank": sendFunc(c.send)}})

				report, err := outbox.Sweep(t.Context(), s, a)
				if err == nil || !strings.Contains(err.Error(), c.want) || report.Left != 2 {
					t.Errorf("got %+v, %v", report, err)
				}

				a.sweep(a.store("payments", "", true))
				a.arrived("m")
				a.arrived("n")
			})
		})
	}
}

type sendFunc func(ctx context.Context, ms []idemddb.Message) []error

func (f sendFunc) Send(ctx context.Context, _ string, ms []idemddb.Message) []error {
	return f(ctx, ms)
}

// A Sender may add attributes, such as a trace, to the message that it got. What is left is written again as the handler gave it.
func TestASenderDoesNotChangeWhatIsLeft(t *testing.T) {
	t.Parallel()

	a := newAccount(t)
	s := a.store("payments", "", true)
	attributes := map[string]string{"currency": "EUR"}
	tries := 0

	a.answer = func(m idemddb.Message) error {
		if !maps.Equal(m.Attributes, attributes) {
			t.Errorf("%s has the attributes %v", m.Body, m.Attributes)
		}

		if m.Attributes[fmt.Sprint("try-", tries)] = "x"; m.Body == "left" && tries == 0 {
			tries++

			return errors.New("down")
		}

		return nil
	}

	if _, err := s.Commit(t.Context(), "k", nil, nil, idemddb.Effects{Messages: []idemddb.Message{
		{To: "bank", Body: "sent", Attributes: attributes}, {To: "bank", Body: "left", Attributes: attributes},
	}}); err != nil {
		t.Fatal(err)
	}

	a.Advance(2 * time.Minute)
	a.sweep(s)
	a.arrived("left")
}

// A target that hangs takes its time once; the messages to others go on.
func TestATargetThatHangsDoesNotHoldUpTheSweep(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAccount(t)

		for i := range 30 {
			if _, err := a.store("payments", "", false).Commit(t.Context(), fmt.Sprint(i), nil, nil, idemddb.Effects{Messages: []idemddb.Message{
				{To: "hangs", Body: "h"}, {To: "bank", Body: fmt.Sprint("m", i)},
			}}); err != nil {
				t.Fatal(err)
			}
		}

		a.Advance(2 * time.Minute)

		s := a.open("payments", idemddb.Options{Senders: map[string]idemddb.Sender{
			"bank": a, "hangs": sendFunc(func(ctx context.Context, ms []idemddb.Message) []error {
				<-ctx.Done()

				return slices.Repeat([]error{ctx.Err()}, len(ms))
			}),
		}})

		begun := time.Now()
		if report, err := outbox.Sweep(t.Context(), s, a); err == nil || report.Sent != 30 || report.Left != 30 {
			t.Errorf("got %+v, %v", report, err)
		}

		if took := time.Since(begun); took > 3*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

// A message that uses up the time of its target keeps back others of one sweep, and not the same ones of every sweep.
func TestAMessageThatHangsDoesNotKeepBackTheSameOthersForEver(t *testing.T) {
	t.Parallel()
	eachSweep(t, func(a *account, index string) {
		a.commit("payments", "hangs", "hangs") // the oldest of its query, and the first of a scan

		for i := range 64 {
			a.commit("payments", fmt.Sprint("p-", i), fmt.Sprint("m", i))
		}

		s := a.open("payments", idemddb.Options{
			UnsentIndex: index, Senders: map[string]idemddb.Sender{
				"bank": sendFunc(func(ctx context.Context, ms []idemddb.Message) []error {
					if ms[0].Body == "hangs" {
						<-ctx.Done()

						return []error{ctx.Err()}
					}

					return a.Send(ctx, "bank", ms)
				}),
			},
		})

		for range 50 {
			a.Advance(time.Minute)
			<-time.After(time.Minute) // the target is asked again

			_, _ = outbox.Sweep(a.Context(), s, a)
		}

		for i := range 64 {
			a.arrived(fmt.Sprint("m", i))
		}
	})
}

func TestTwoSweepsAtOnceSendUnderOneId(t *testing.T) {
	t.Parallel()
	eachSweep(t, func(a *account, index string) {
		for i := range 10 {
			a.commit("payments", fmt.Sprint(i), fmt.Sprint("m", i))
		}

		a.Advance(2 * time.Minute)

		// The second reads each record after the first has, and before the first has removed what it sent.
		second := a.store("payments", index, true)
		nested := false
		a.answer = func(_ idemddb.Message) error {
			if nested {
				return nil
			}

			nested = true

			a.mu.Unlock()
			defer a.mu.Lock()

			_, err := outbox.Sweep(a.Context(), second, a)
			nested = false

			return err
		}

		a.sweep(a.store("payments", index, true))

		for i := range 10 {
			a.arrived(fmt.Sprint("m", i))
		}

		for _, it := range a.Items("records") {
			if it["outbox"] != nil || it["due"] != nil {
				a.Error("a record is not done")
			}
		}
	})
}

// The sweep reports what it cannot read or find, and does the rest. A sweep that could not look must not be taken for one that
// found nothing.
func TestTheSweepGoesOnAfterAnError(t *testing.T) {
	t.Parallel()
	eachSweep(t, func(a *account, index string) {
		for i := range 5 {
			a.commit("payments", fmt.Sprint(i), fmt.Sprint("m", i))
		}

		a.Advance(2 * time.Minute)

		a.brokenReads = 1
		report, err := outbox.Sweep(a.Context(), a.store("payments", index, true), a)

		if err == nil || report.Sent != 4 || !report.Incomplete {
			a.Errorf("got %+v, %v", report, err)
		}

		a.Inject(idemddbtest.AccessDenied) // of the first query, or of the scan

		if report, err := outbox.Sweep(a.Context(), a.store("payments", index, false), a); err == nil || !report.Incomplete {
			a.Errorf("got %+v, %v", report, err)
		}

		over, cancel := context.WithCancel(a.Context())
		cancel()

		if report, err := outbox.Sweep(over, a.store("payments", index, true), a); report != (outbox.Report{Incomplete: true}) || err != nil {
			a.Errorf("got %+v, %v after the end", report, err)
		}

		a.sweep(a.store("payments", index, true))

		for i := range 5 {
			a.arrived(fmt.Sprint("m", i))
		}
	})
}

// What the index still has may have been sent since, or be gone.
func TestAnIndexThatIsBehindItsTableIsNoError(t *testing.T) {
	t.Parallel()
	eachSweep(t, func(a *account, index string) {
		a.commit("payments", "sent", "m")
		a.commit("payments", "gone", "m")
		a.Advance(2 * time.Minute)
		a.HoldIndexes()
		audited.ByHand(a.DB, func() {
			key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "payments#gone"}}
			if _, err := a.DeleteItem(a.Context(), &dynamodb.DeleteItemInput{TableName: new("records"), Key: key}); err != nil {
				a.Fatal(err)
			}
		})

		for _, want := range []outbox.Report{{Records: 1, Sent: 1}, {}} {
			got := a.sweep(a.store("payments", index, true))
			if got.Oldest = 0; got != want {
				a.Errorf("got %+v, want %+v", got, want)
			}
		}
	})
}

// One message of 1 KB costs 6 WCU on top of a commit: a record of 2 KB, the index twice, and the removal.
func TestCostOfAMessage(t *testing.T) {
	t.Parallel()

	a := newAccount(t)
	s := a.store("payments", "unsent", true)

	for name, c := range map[string]struct {
		messages        []idemddb.Message
		requests, units int
	}{
		"without": {nil, 1, 4},
		"with":    {[]idemddb.Message{{To: "bank", Body: strings.Repeat("m", 1000)}}, 2, 10},
	} {
		a.ResetRequests()

		if _, err := s.Commit(t.Context(), name, nil, nil, idemddb.Effects{Messages: c.messages, Items: []types.TransactWriteItem{{
			Put: &types.Put{TableName: new("records"), Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "effect " + name}}},
		}}}); err != nil {
			t.Fatal(err)
		}

		units := 0
		for _, r := range a.Requests() {
			units += r.WriteUnits
		}

		if n := len(a.Requests()); n != c.requests || units != c.units {
			t.Errorf("%s: %d requests and %d WCU, want %d and %d", name, n, units, c.requests, c.units)
		}
	}
}

// The records of a sweep have no order. Whichever comes last, the report has the age of the oldest message.
func TestAReportHasTheAgeOfTheOldestMessage(t *testing.T) {
	t.Parallel()
	eachSweep(t, func(a *account, index string) {
		for i := range 8 {
			a.commit("payments", fmt.Sprint(i), "m")
			a.Advance(time.Hour)
		}

		s := a.store("payments", index, false)

		for range 20 { // they are left, because this process has no sender
			if report, _ := outbox.Sweep(a.Context(), s, a); report.Left != 8 || report.Oldest < 8*time.Hour || report.Oldest > 9*time.Hour {
				a.Errorf("got %+v, want 8 messages, the oldest of 8 hours", report)
			}
		}
	})
}
