package idemddb_test

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

type goldenItem = map[string]types.AttributeValue

// golden reads testdata/record-v1.json: every state of a record of format version 1. Records are added to it, and none is changed
// or removed; another format gets a file of its own beside it.
func golden(t testing.TB) map[string]goldenItem {
	t.Helper()

	return goldenFile(t, "testdata/record-v1.json")
}

func goldenFile(t testing.TB, file string) map[string]goldenItem {
	t.Helper()

	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}

	var stored map[string]map[string]goldenValue
	must(t, json.Unmarshal(content, &stored))

	items := map[string]goldenItem{}
	for state, attributes := range stored {
		items[state] = goldenItemOf(attributes)
	}

	return items
}

// goldenValue is a value as it stands in the file.
type goldenValue struct {
	S, N *string
	B    []byte
	M    map[string]goldenValue
	L    []goldenValue
	NULL bool
}

func goldenItemOf(attributes map[string]goldenValue) goldenItem {
	it := goldenItem{}
	for name, value := range attributes {
		it[name] = value.attribute()
	}

	return it
}

func (v goldenValue) attribute() types.AttributeValue {
	switch {
	case v.S != nil:
		return &types.AttributeValueMemberS{Value: *v.S}
	case v.N != nil:
		return &types.AttributeValueMemberN{Value: *v.N}
	case v.NULL:
		return &types.AttributeValueMemberNULL{Value: true}
	case v.M != nil:
		return &types.AttributeValueMemberM{Value: goldenItemOf(v.M)}
	case v.L != nil:
		list := &types.AttributeValueMemberL{}
		for _, element := range v.L {
			list.Value = append(list.Value, element.attribute())
		}

		return list
	default:
		return &types.AttributeValueMemberB{Value: v.B}
	}
}

func goldenStore(t testing.TB, state string) (*idemddb.Store, *idemddbtest.DB) {
	t.Helper()

	// What the file names is there to be read. What is put here has another owner token in its name.
	kept := &shelf{Kept: map[string][]byte{goldenName: []byte("paid, with a receipt")}}

	o := &idemddb.Options{
		Now: func() time.Time { return time.UnixMilli(1893456000000) }, Results: kept, InlineResult: len("paid"),
	}
	o.NoTakeover = state == goldenNoTakeover

	if state == goldenTraced {
		o.Trace = func(context.Context) string { return goldenTrace }
	}

	return newStore(t, o)
}

// The state of a record whose worker had Options.Trace, and what it returned.
const (
	goldenTraced = "completed, with a traceparent"
	goldenTrace  = "00-0af7651916cd43dd8448eb211c80319c-00f067aa0ba902b7-01"
)

// The state of a record whose worker had Options.NoTakeover.
const goldenNoTakeover = "in progress, without takeover"

// The state of a record whose worker had taken the key over.
const goldenTakeover = "completed, after a takeover"

// goldenName is that of a result outside of the record, with the token of the file.
const goldenName = "test/RyRKZZq7bAHhBO2UIkX2ror_WqEL08mWYoBYLk1uW2s/TOKEN-vBUW6Ue2AXLJhOXs"

// What is written is what stands in the file, but for the token.
func TestRecordsAreWrittenAsTheFormatSays(t *testing.T) {
	t.Parallel()

	omitted := func(t *testing.T, s *idemddb.Store) {
		t.Helper()

		if _, err := idemddb.Do(t.Context(), s, "k", nil, func(context.Context) (func(), error) { return nil, nil }); err != nil { //nolint:nilnil // JSON cannot encode a function
			t.Fatal(err)
		}
	}
	settle := func(f func(context.Context, *idemddb.Claim) error) func(*testing.T, *idemddb.Store) {
		return func(t *testing.T, s *idemddb.Store) {
			t.Helper()

			c := granted(t)(s.Claim(t.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "a"}))

			must(t, f(t.Context(), c))
		}
	}
	ways := map[string]func(*testing.T, *idemddb.Store){
		"in progress":    settle(func(context.Context, *idemddb.Claim) error { return nil }),
		goldenNoTakeover: settle(func(context.Context, *idemddb.Claim) error { return nil }),
		"released":       settle(func(ctx context.Context, c *idemddb.Claim) error { return c.Release(ctx, errors.New("bank closed")) }),
		"completed":      settle(func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte("paid")) }),
		"completed, result outside": settle(func(ctx context.Context, c *idemddb.Claim) error {
			return c.Complete(ctx, []byte("paid, with a receipt"))
		}),
		"completed, result omitted": omitted,
		goldenTakeover:              settle(func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte("paid")) }),
		goldenTraced:                settle(func(ctx context.Context, c *idemddb.Claim) error { return c.Complete(ctx, []byte("paid")) }),
		"failed":                    settle(func(ctx context.Context, c *idemddb.Claim) error { return c.Fail(ctx, errors.New("no such account")) }),
	}

	for state, want := range golden(t) {
		t.Run(state, func(t *testing.T) {
			t.Parallel()

			s, db := goldenStore(t, state)
			if state == goldenTakeover {
				lease := claim(t, s, "k").Deadline().Add(-40 * time.Second) // which is over
				it := maps.Clone(db.Items("records")[0])
				it["lease"] = number(lease.UnixMilli())
				put(t, db, it)
			}

			ways[state](t, s)

			got := maps.Clone(db.Items("records")[0])

			if kept, ok := got["res"].(*types.AttributeValueMemberM); ok {
				kept.Value["name"] = text(strings.ReplaceAll(textOf(kept.Value, "name"), textOf(got, "own"), "TOKEN"))
			}

			got["own"] = want["own"]

			if diff := cmp.Diff(want, got, ignoreSmithy()); diff != "" {
				t.Errorf("not as the format has it (-want +got):\n%s", diff)
			}
		})
	}
}

// What stands in the file is read as it was meant.
func TestRecordsAreReadAsTheFormatSays(t *testing.T) {
	t.Parallel()

	for state, it := range golden(t) {
		t.Run(state, func(t *testing.T) {
			t.Parallel()

			s, db := goldenStore(t, state)
			put(t, db, it)

			c, rec, err := s.Claim(t.Context(), "k", &idemddb.ClaimOptions{Fingerprint: "a"})

			switch state {
			case "in progress", goldenNoTakeover:
				refusal, ok := errors.AsType[*idemddb.InProgressError](err)
				if !ok || refusal.Until.UnixMilli() != 1893456030000 {
					t.Errorf("got %v, want in progress", err)
				}
			case "released":
				if c == nil || c.Attempt() != 2 || c.Fence() != 1893456000002 || c.Takeover() {
					t.Errorf("got %v, %v, want a second attempt", c, err)
				}
			case "failed":
				refusal, ok := errors.AsType[*idemddb.FailedError](err)
				if !ok || refusal.Cause != "no such account" || refusal.Attempts != 1 {
					t.Errorf("got %v, want failed", err)
				}
			default:
				want := &idemddb.Record{
					Key: "k", Fence: 1893456000001, Attempts: 1, Result: []byte("paid"),
					CompletedAt: time.UnixMilli(1893456000000), ExpiresAt: time.Unix(1894060800, 0),
				}

				switch state {
				case "completed, result outside":
					want.Result = []byte("paid, with a receipt")
				case "completed, result omitted":
					want.Result, want.ResultOmitted = nil, true
				case goldenTraced:
					want.Trace = goldenTrace
				case goldenTakeover:
					want.Fence, want.Attempts = 1893456000002, 2
				}

				if diff := cmp.Diff(want, rec); diff != "" {
					t.Errorf("record (-want +got), error %v:\n%s", err, diff)
				}
			}
		})
	}
}

// FuzzRecord lets a claim meet records with attributes exchanged and taken out: it answers, a refusal writes nothing (but see
// ErrCorrupt, and a key that is given up under NoTakeover), and what is claimed can be completed.
func FuzzRecord(f *testing.F) {
	states := golden(f)
	values := []types.AttributeValue{
		nil, &types.AttributeValueMemberS{Value: "INPROGRESS"}, &types.AttributeValueMemberS{Value: "1"},
		&types.AttributeValueMemberN{Value: "0"}, &types.AttributeValueMemberN{Value: "-1"}, &types.AttributeValueMemberN{Value: "1.5"},
		&types.AttributeValueMemberN{Value: "1E100"}, &types.AttributeValueMemberN{Value: "2"}, &types.AttributeValueMemberNULL{Value: true},
		&types.AttributeValueMemberB{Value: []byte("x")}, &types.AttributeValueMemberL{}, &types.AttributeValueMemberM{},
		&types.AttributeValueMemberBOOL{Value: true}, &types.AttributeValueMemberNS{Value: []string{"1"}},
	}
	names := []string{"v", "st", "own", "fence", "lease", "prev", "exp", "att", "born", "fp", "done", "res", "err", "other", "trace", "ptrace", "took", "tookat"}

	for state := range states {
		f.Add(state, []byte{})
		f.Add(state, []byte{0, 0, 3, 5})
	}

	f.Fuzz(func(t *testing.T, state string, changes []byte) {
		it := maps.Clone(states[state])
		if it == nil {
			return
		}

		for ; len(changes) > 1; changes = changes[2:] {
			name := names[int(changes[0])%len(names)]
			if value := values[int(changes[1])%len(values)]; value != nil {
				it[name] = value
			} else {
				delete(it, name)
			}
		}

		s, db := goldenStore(t, state)
		put(t, db, it)
		db.OnChange(nil) // the page of the record says nothing of what no worker can have made

		isGivenUp := func(err error) bool { return state == goldenNoTakeover && errors.Is(err, idemddb.ErrFailed) }
		before := db.Items("records")

		c, rec, err := s.Claim(t.Context(), "k", nil)

		answers := 0
		for _, is := range []bool{c != nil, rec != nil, err != nil} {
			if is {
				answers++
			}
		}

		if answers != 1 {
			t.Fatalf("got claim %v, record %v, error %v, want one of them", c, rec, err)
		}

		switch diff := cmp.Diff(before, db.Items("records"), ignoreSmithy()); {
		case c == nil && diff != "" && !errors.Is(err, idemddb.ErrCorrupt) && !isGivenUp(err):
			t.Fatalf("refused with %v, and written:\n%s", err, diff)
		case c == nil:
			return
		}

		if err := c.Complete(t.Context(), []byte("done")); err != nil {
			t.Fatalf("the claim of %v can't be completed: %v", before, err)
		}
	})
}

func ignoreSmithy() cmp.Option {
	return cmpopts.IgnoreUnexported(
		types.AttributeValueMemberS{}, types.AttributeValueMemberN{}, types.AttributeValueMemberB{}, types.AttributeValueMemberNULL{},
		types.AttributeValueMemberL{}, types.AttributeValueMemberM{}, types.AttributeValueMemberBOOL{}, types.AttributeValueMemberNS{},
	)
}
