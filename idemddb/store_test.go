package idemddb_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestNewNamesWhatIsWrong(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil)

	for _, c := range []struct {
		name             string
		api              idemddb.DynamoDB
		table, namespace string
		opts             *idemddb.Options
		want             string
	}{
		{"a nil client", nil, "t", "n", nil, "api: must not be nil"},
		{"a client variable that was never set", (*dynamodb.Client)(nil), "t", "n", nil, "api: must not be nil"},
		{"an empty table", db, "", "n", nil, "table: must not be empty"},
		{"an empty namespace", db, "t", "", nil, "namespace: must not be empty"},
		{"a namespace with the separator", db, "t", "a#b", nil, "namespace: must not hold '#'"},
		{"a namespace that is not UTF-8", db, "t", "\xff", nil, "namespace: must be UTF-8"},
		{"a namespace with the end of a line", db, "t", "payments\n", nil, `namespace: must have neither white space at an end nor control characters`},
		{"a namespace after a space", db, "t", " payments", nil, `namespace: must have neither`},
		{"a namespace with a control character", db, "t", "pay\x00ments", nil, `namespace: must have neither`},
		{"a long namespace", db, "t", strings.Repeat("n", 256), nil, "namespace: must not be longer than 255 bytes"},
		{"a negative lease", db, "t", "n", &idemddb.Options{Lease: -1}, "Options.Lease: must not be negative"},
		{"a lease below the record's resolution", db, "t", "n", &idemddb.Options{Lease: 1}, "Options.Lease: must not be below 1ms"},
		{"a negative retention", db, "t", "n", &idemddb.Options{Retention: -time.Second}, "Options.Retention: must not be negative"},
		{"a negative skew", db, "t", "n", &idemddb.Options{ClockSkew: -1}, "Options.ClockSkew: must not be negative"},
		{
			"a lease above the retention", db, "t", "n", &idemddb.Options{Lease: time.Hour, Retention: time.Minute},
			"Options.Lease: must not be above Options.Retention",
		},
		{"negative attempts", db, "t", "n", &idemddb.Options{MaxAttempts: -1}, "Options.MaxAttempts: must not be negative"},
		{"a negative ClaimPatience", db, "t", "n", &idemddb.Options{ClaimPatience: -1}, "Options.ClaimPatience: must not be negative"},
		{"8 shards", db, "t", "n", &idemddb.Options{UnsentShards: 8}, "Options.UnsentShards: must be 16, 32, 64, 128 or 256"},
		{"512 shards", db, "t", "n", &idemddb.Options{UnsentShards: 512}, "Options.UnsentShards: must be 16, 32, 64, 128 or 256"},
		{"48 shards", db, "t", "n", &idemddb.Options{UnsentShards: 48}, "Options.UnsentShards: must be 16, 32, 64, 128 or 256"},
		{"a negative number of shards", db, "t", "n", &idemddb.Options{UnsentShards: -16}, "Options.UnsentShards: must be 16, 32, 64, 128 or 256"},
		{"a codec variable that was never set", db, "t", "n", &idemddb.Options{Codec: (*vault)(nil)}, "Options.Codec: must not be a nil pointer"},
		{"results that were never set", db, "t", "n", &idemddb.Options{Results: (*shelf)(nil)}, "Options.Results: must not be a nil pointer"},
		{"a sender variable that was never set", db, "t", "n", &idemddb.Options{
			Senders: map[string]idemddb.Sender{"bank": nil, "receipts": (*pointerSender)(nil)},
		}, `Options.Senders["receipts"]: must not be a nil pointer or function`},
		{"a sender function that was never set", db, "t", "n", &idemddb.Options{
			Senders: map[string]idemddb.Sender{"bank": nil, "receipts": sendFunc(nil)},
		}, `Options.Senders["receipts"]: must not be a nil pointer or function`},
		{"a large inline result", db, "t", "n", &idemddb.Options{InlineResult: 350<<10 + 1}, "Options.InlineResult: must not be above 358400"},
		{"a negative cache", db, "t", "n", &idemddb.Options{Cache: -1}, "Options.Cache: must not be negative"},
		{"a key named as a record's attribute", db, "t", "n", &idemddb.Options{PartitionKey: "st"}, `Options.PartitionKey: "st" is already`},
		{"equal names", db, "t", "n", &idemddb.Options{SortKey: "pk"}, `Options.SortKey: "pk" is already the name of Options.PartitionKey`},
		{"a long name", db, "t", "n", &idemddb.Options{SortKey: strings.Repeat("s", 256)}, "Options.SortKey: must not be longer than 255 bytes"},
		{"a TTL attribute named as the key", db, "t", "n", &idemddb.Options{TTLAttribute: "pk"}, `Options.TTLAttribute: "pk" is already`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()

			s, err := idemddb.New(c.api, c.table, c.namespace, c.opts)
			if s != nil || err == nil || !strings.Contains(err.Error(), "idemddb: "+c.want) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

func TestNewTakesWhatIsAtTheLimits(t *testing.T) {
	t.Parallel()

	_, err := idemddb.New(idemddbtest.New(nil), "t", strings.Repeat("n", 255), &idemddb.Options{SortKey: strings.Repeat("s", 255), Lease: time.Millisecond})
	must(t, err)
}

// The caller did not look at the error of New, or forgot the work.
func TestWhatMustNotBeNilPanicsWithItsName(t *testing.T) {
	t.Parallel()

	const (
		noClaim = "nil Claim: the key was not claimed"
		noWork  = "nil Work: the work did not begin"
	)

	var (
		none  *idemddb.Store
		claim *idemddb.Claim
		begun *idemddb.Work

		work = func(context.Context) (int, error) { return 1, nil }
		pays = func(context.Context, *idemddb.Claim) ([]byte, error) { return nil, nil }
	)

	s, db := newStore(t, nil)
	db.ResetRequests()

	for name, c := range map[string]struct {
		call func()
		want string
	}{
		"Do":            {func() { _, _ = idemddb.Do(t.Context(), none, "k", nil, work) }, "nil Store"},
		"optimistic Do": {func() { _, _ = idemddb.Do(t.Context(), none, "k", optimistic, work) }, "nil Store"},
		"Run":           {func() { _, _ = idemddb.Run(t.Context(), none, "k", optimistic, pays) }, "nil Store"},
		"Claim":         {func() { _, _, _ = none.Claim(t.Context(), "k", nil) }, "nil Store"},
		"Begin":         {func() { _, _ = none.Begin(t.Context(), "k", optimistic) }, "nil Store"},
		"Engine":        {func() { none.Engine() }, "nil Store"},
		"Commit":        {func() { _, _ = none.Commit(t.Context(), "k", nil, nil, idemddb.Effects{}) }, "nil Store"},
		"Reopen":        {func() { _ = none.Reopen(t.Context(), "k") }, "nil Store"},
		"Table":         {func() { none.Table() }, "nil Store"},
		"Namespace":     {func() { none.Namespace() }, "nil Store"},
		"Options":       {func() { none.Options() }, "nil Store"},
		"GetItemInput":  {func() { _, _ = none.GetItemInput("k") }, "nil Store"},
		"SendStored":    {func() { _, _ = none.SendStored(t.Context(), nil, false) }, "nil Store"},
		"RetryAfter":    {func() { none.RetryAfter(time.Time{}) }, "nil Store"},
		"Disabled":      {func() { none.Disabled() }, "nil Store"},
		"empty Store":   {func() { _, _, _ = new(idemddb.Store).Claim(t.Context(), "k", nil) }, "nil Store, or one that New"},
		"fn of Do":      {func() { _, _ = idemddb.Do[int](t.Context(), s, "k", nil, nil) }, "fn: must not be nil"},
		"fn of Run":     {func() { _, _ = idemddb.Run(t.Context(), s, "k", nil, nil) }, "fn: must not be nil"},

		"Claim.Key":           {func() { claim.Key() }, noClaim},
		"Claim.Fence":         {func() { claim.Fence() }, noClaim},
		"Claim.Attempt":       {func() { claim.Attempt() }, noClaim},
		"Claim.Takeover":      {func() { claim.Takeover() }, noClaim},
		"Claim.Held":          {func() { claim.Held() }, noClaim},
		"Claim.TakenFrom":     {func() { claim.TakenFrom() }, noClaim},
		"Claim.Deadline":      {func() { claim.Deadline() }, noClaim},
		"Claim.Keep":          {func() { claim.Keep(t.Context()) }, noClaim},
		"Claim.Complete":      {func() { _ = claim.Complete(t.Context(), nil) }, noClaim},
		"Claim.CompleteWith":  {func() { _ = claim.CompleteWith(t.Context(), nil, idemddb.Effects{}) }, noClaim},
		"Claim.IsDone":        {func() { claim.IsDone(nil) }, noClaim},
		"Claim.Release":       {func() { _ = claim.Release(t.Context(), nil) }, noClaim},
		"Claim.ReleaseUnused": {func() { _ = claim.ReleaseUnused(t.Context()) }, noClaim},
		"Claim.Fail":          {func() { _ = claim.Fail(t.Context(), nil) }, noClaim},
		"Claim.Extend":        {func() { _ = claim.Extend(t.Context()) }, noClaim},

		"Work.Claim":        {func() { begun.Claim() }, noWork},
		"Work.Context":      {func() { begun.Context(t.Context()) }, noWork},
		"Work.Staged":       {func() { begun.Staged() }, noWork},
		"Work.Fits":         {func() { begun.Fits(nil) }, noWork},
		"Work.TakeStageErr": {func() { _ = begun.TakeStageErr() }, noWork},
		"Work.GiveBack":     {func() { _ = begun.GiveBack(t.Context()) }, noWork},
		"Work.Abandon":      {func() { _, _ = begun.Abandon(t.Context()) }, noWork},
		"Work.Settle":       {func() { begun.Settle(t.Context(), nil, nil) }, noWork},
	} {
		if text, _ := recovered(c.call).(string); !strings.HasPrefix(text, "idemddb: "+c.want) {
			t.Errorf("%s: recovered %q, want %q", name, text, c.want)
		}
	}

	if requests := db.Requests(); len(requests) > 0 {
		t.Errorf("requests: %v", requests)
	}
}

// A wrapper may emit events of its own by it.
func TestOptionsOfAStoreHaveAnObserverAlways(t *testing.T) {
	t.Parallel()

	s, _ := newStore(t, nil)
	s.Options().Observe(t.Context(), idemddb.Event{})
}

func TestNewNamesEverythingThatIsWrong(t *testing.T) {
	t.Parallel()

	_, err := idemddb.New(idemddbtest.New(nil), "t", "n", &idemddb.Options{Lease: -1, Cache: -1})
	if err == nil || !strings.Contains(err.Error(), "Options.Lease") || !strings.Contains(err.Error(), "Options.Cache") {
		t.Errorf("got %v, want both fields", err)
	}
}

func TestAHolderIsWaitedForUntilEveryClockMayTakeItsKeyOver(t *testing.T) {
	t.Parallel()

	now := time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC)
	s, _ := newStore(t, &idemddb.Options{ClockSkew: time.Second, Now: func() time.Time { return now }})

	for lease, want := range map[time.Duration]time.Duration{
		10 * time.Second: 12 * time.Second, 0: 2 * time.Second, -2 * time.Second: 0, -time.Minute: -58 * time.Second,
	} {
		if got := s.RetryAfter(now.Add(lease)); got != want {
			t.Errorf("a lease of %v: got %v, want %v", lease, got, want)
		}
	}
}
