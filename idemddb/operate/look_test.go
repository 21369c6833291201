package operate_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/contract"
	"github.com/idemddb/go-idemddb/internal/record"
)

func TestLookSaysWhatIsTrueOfAKey(t *testing.T) {
	onEachEngine(t, idemddb.Options{Retention: 24 * time.Hour}, func(d *desk) {
		t := d.t

		for name, test := range map[string]struct {
			work   func(key string)
			later  time.Duration
			status operate.Status
		}{
			"a worker holds it":                     {func(key string) { d.claim(key) }, 0, operate.Held},
			"its lease is over, but for the skew":   {func(key string) { d.claim(key) }, 30*time.Second + 900*time.Millisecond, operate.Held},
			"its worker died":                       {func(key string) { d.claim(key) }, 32 * time.Second, operate.Stuck},
			"it was given back":                     {func(key string) { _ = d.claim(key).Release(d.t.Context(), nil) }, 0, operate.Released},
			"it is completed":                       {d.complete, 0, operate.Completed},
			"it failed":                             {d.fail, 0, operate.Failed},
			"its retention is over":                 {d.complete, 25 * time.Hour, operate.Expired},
			"it has messages, and no end":           {d.announce, 25 * time.Hour, operate.Completed},
			"it is of another version":              {func(key string) { d.claim(key); d.set(key, item{"v": n("2")}) }, 0, operate.Corrupt},
			"it is somebody else's":                 {func(key string) { d.set(key, item{"balance": n("7")}) }, 0, operate.Corrupt},
			"its state is a number":                 {func(key string) { d.claim(key); d.set(key, item{"st": n("7")}) }, 0, operate.Corrupt},
			"it has no lease, so it is kept":        {func(key string) { d.claim(key); d.set(key, item{"lease": nil}) }, time.Hour, operate.Held},
			"its name is in quotes":                 {func(string) { d.complete(`"p-9"`) }, 0, operate.Completed},
			"its name has the separator":            {func(string) { d.complete("a#b##c") }, 0, operate.Completed},
			"its name is long, and so it is hashed": {func(string) { d.complete(strings.Repeat("ä", 1_024)) }, 0, operate.Completed},
			"its name looks like a digest":          {func(string) { d.complete("sha256:abc") }, 0, operate.Completed},
		} {
			key := map[string]string{
				"its name is in quotes": `"p-9"`, "its name has the separator": "a#b##c",
				"its name is long, and so it is hashed": strings.Repeat("ä", 1_024), "its name looks like a digest": "sha256:abc",
			}[name]
			if key == "" {
				key = name
			}

			test.work(key)
			d.clock.Advance(test.later)

			v := d.look(key)
			if v.Status != test.status || (v.Corrupt != "") != (test.status == operate.Corrupt) {
				t.Errorf("%s: got %s (%s), want %s", name, v.Status, v.Corrupt, test.status)
			}

			if want := "it has format version 2, this package knows 1: deploy the version that wrote it"; v.Corrupt != want && name == "it is of another version" {
				t.Errorf("%s: got %q, want %q", name, v.Corrupt, want)
			}

			if v.Hash != record.KeyHash(key) {
				t.Errorf("%s: hash %s, logs have %s", name, v.Hash, record.KeyHash(key))
			}

			d.clock.Advance(-test.later)
		}

		if _, err := d.Look(t.Context(), "nobody"); !errors.Is(err, operate.ErrNoRecord) {
			t.Errorf("no record: %v", err)
		}
	})
}

type item = map[string]types.AttributeValue

func TestAViewShowsWhatIsInTheRecord(t *testing.T) {
	onEachEngine(t, idemddb.Options{Retention: 24 * time.Hour}, func(d *desk) {
		t := d.t

		d.announce("p-1")

		noon := d.clock.Now().UTC()
		want := operate.View{
			Namespace: "payments", Key: "p-1", Hash: record.KeyHash("p-1"), Status: operate.Completed, State: "COMPLETED",
			Lease: noon, Attempts: 1, Born: noon, Done: noon, Ends: noon.Add(24 * time.Hour),
			Messages: []operate.Message{{To: "receipts", Bytes: len("receipt of p-1")}},
		}
		got := d.look("p-1")

		ignored := cmp.Options{
			cmpopts.IgnoreUnexported(operate.View{}),
			cmpopts.IgnoreFields(operate.View{}, "Owner", "Fence"), cmpopts.IgnoreFields(operate.Message{}, "ID"),
		}
		if diff := cmp.Diff(want, got, ignored); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}

		if id := got.Messages[0].ID; len(id) != 28 || !strings.HasSuffix(id, "-0") || got.Fence == 0 || got.Owner == "" {
			t.Errorf("message %q, fencing token %d, owner %q", id, got.Fence, got.Owner)
		}
	})
}

// The traceparent leads from the record to the run. What is none does no harm to the rest.
func TestAViewHasTheTraceOfTheLastClaim(t *testing.T) {
	const parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

	onEachEngine(t, idemddb.Options{Trace: func(context.Context) string { return parent }}, func(d *desk) {
		d.complete("p-1")

		if v := d.look("p-1"); v.Trace != parent {
			d.t.Errorf("got %q", v.Trace)
		}

		d.set("p-1", item{"trace": n("7")})

		if v := d.look("p-1"); v.Trace != "" || v.Status != operate.Completed {
			d.t.Errorf("with a number: %q, %s (%s)", v.Trace, v.Status, v.Corrupt)
		}
	})
}

func TestAViewNamesALargeResult(t *testing.T) {
	kept := &contract.Shelf{}

	onEachEngine(t, idemddb.Options{Results: kept}, func(d *desk) {
		if err := d.claim("p-1").Complete(d.t.Context(), make([]byte, 40_000)); err != nil {
			d.t.Fatal(err)
		}

		v := d.look("p-1")
		if v.Status != operate.Completed || v.ResultBytes != 40_000 || !slices.Contains(kept.Names(), v.ResultName) || v.Result != nil {
			d.t.Errorf("got %+v, want the name and the size of one of %q", v, kept.Names())
		}

		d.set("p-1", item{record.Result: &types.AttributeValueMemberNULL{Value: true}})

		if v := d.look("p-1"); !v.ResultOmitted {
			d.t.Errorf("got %+v, want that the result was not kept", v)
		}
	})
}
