package operate_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/record"
)

func TestListFindsWhatItIsAskedFor(t *testing.T) {
	for name, index := range map[string]string{"with an index": "unsent", "without one": ""} {
		t.Run(name, func(t *testing.T) {
			onEachEngine(t, idemddb.Options{UnsentIndex: index}, func(d *desk) {
				t := d.t

				lambda := lambdacontext.NewContext(t.Context(), &lambdacontext.LambdaContext{AwsRequestID: "8f6e1c1e"})
				if _, _, err := d.store.Claim(lambda, "stuck", nil); err != nil {
					t.Fatal(err)
				}

				d.clock.Advance(time.Minute)
				d.claim("held")
				d.fail("failed")
				d.complete("completed")
				d.announce("unsent")
				d.claim(strings.Repeat("long", 500))
				d.set("foreign", item{"balance": n("7")})

				if err := d.claim("released").Release(t.Context(), nil); err != nil {
					t.Fatal(err)
				}

				d.announce("parked")
				d.clock.Advance(8 * 24 * time.Hour) // the sender parks the message, because it is too late

				if _, err := d.store.SendStored(t.Context(), d.stored("parked"), false); err != nil {
					t.Fatal(err)
				}

				d.clock.Advance(-8 * 24 * time.Hour)

				long := record.KeyHash(strings.Repeat("long", 500))
				digest := d.look(strings.Repeat("long", 500)).Key

				// The parked message is not in the index.
				unsent := []string{"parked", "unsent"}
				if index != "" {
					unsent = []string{"unsent"}
				}

				for name, test := range map[string]struct {
					selection operate.Selection
					want      []string
				}{
					"stuck":                {operate.Selection{Status: []operate.Status{operate.Stuck}}, []string{"stuck"}},
					"held":                 {operate.Selection{Status: []operate.Status{operate.Held}}, []string{"held", digest}},
					"released":             {operate.Selection{Status: []operate.Status{operate.Released}}, []string{"released"}},
					"failed":               {operate.Selection{Status: []operate.Status{operate.Failed}}, []string{"failed"}},
					"completed":            {operate.Selection{Status: []operate.Status{operate.Completed}}, []string{"completed", "parked", "unsent"}},
					"corrupt":              {operate.Selection{Status: []operate.Status{operate.Corrupt}}, []string{"foreign"}},
					"failed or corrupt":    {operate.Selection{Status: []operate.Status{operate.Corrupt, operate.Failed}}, []string{"failed", "foreign"}},
					"two":                  {operate.Selection{Status: []operate.Status{operate.Failed, operate.Stuck}}, []string{"failed", "stuck"}},
					"unsent":               {operate.Selection{Unsent: true}, unsent},
					"unsent, of a request": {operate.Selection{Unsent: true, Request: "8f6e1c1e"}, nil},
					"parked":               {operate.Selection{Parked: true}, []string{"parked"}},
					"unsent and parked":    {operate.Selection{Unsent: true, Parked: true}, []string{"parked"}},
					"a request":            {operate.Selection{Request: "8f6e1c1e"}, []string{"stuck"}},
					"a hash":               {operate.Selection{Hash: record.KeyHash("held")}, []string{"held"}},
					"of a digest":          {operate.Selection{Hash: long}, []string{digest}},
					"all": {operate.Selection{}, []string{
						"completed", "failed", "foreign", "held", "parked", "released", digest, "stuck", "unsent",
					}},
				} {
					got, p := d.list(test.selection)
					if diff := cmp.Diff(test.want, got); diff != "" || p.Found != len(got) || p.Cursor != "" || p.Units == 0 {
						t.Errorf("%s: %+v (-want +got):\n%s", name, p, diff)
					}
				}
			})
		})
	}
}

// A table that others use, too: the list shows one namespace.
func TestListShowsItsNamespaceOnly(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t

		for _, namespace := range []string{"refunds", "payments-2"} {
			other, err := idemddb.New(d.client, d.table, namespace, &idemddb.Options{Now: d.clock.Now})
			if err != nil {
				t.Fatal(err)
			}

			if _, _, err := other.Claim(t.Context(), "p-1", nil); err != nil {
				t.Fatal(err)
			}
		}

		d.claim("p-2")

		if got, _ := d.list(operate.Selection{}); !slices.Equal(got, []string{"p-2"}) {
			t.Errorf("got %q", got)
		}
	})
}

var errScreen = errors.New("the screen is gone")

// An error loses no record: the cursor goes on before it.
func TestListGoesOnAfterAnError(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil)
	d := newDesk(t, db, idemddb.Options{})

	for i := range 200 {
		d.claim(fmt.Sprintf("p-%d", i))
	}

	seen := map[string]bool{}
	stopped, failed := 0, 0

	for cursor, more := "", true; more; more = cursor != "" {
		db.Inject(idemddbtest.None, idemddbtest.None, idemddbtest.Throttle)

		p, err := d.List(t.Context(), operate.Selection{Budget: 40, Cursor: cursor}, func(v operate.View) error {
			if len(seen) == 50 && stopped == 0 {
				stopped++

				return errScreen
			}

			seen[v.Key] = true

			return nil
		})
		if err != nil && !errors.Is(err, errScreen) {
			if failed++; !strings.Contains(err.Error(), "operate: scan of table") {
				t.Fatal(err)
			}
		}

		cursor = p.Cursor
	}

	if len(seen) != 200 || stopped != 1 || failed == 0 {
		t.Errorf("%d of 200 records, stopped %d times, failed %d times", len(seen), stopped, failed)
	}
}

// The table has names of its own for its attributes, which are reserved words, a sort key, and items of others.
func TestRecordsInATableOfOthers(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t
		table := "shared-" + rand.Text()
		opts := &idemddb.Options{PartitionKey: "name", SortKey: "data", TTLAttribute: "ttl", Now: d.clock.Now}

		if _, err := d.client.CreateTable(t.Context(), &dynamodb.CreateTableInput{
			TableName: &table, BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: new("name"), AttributeType: "S"}, {AttributeName: new("data"), AttributeType: "S"}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: new("name"), KeyType: "HASH"}, {AttributeName: new("data"), KeyType: "RANGE"}},
		}); err != nil {
			t.Fatal(err)
		}

		d.table = table
		d.store = d.another(*opts)
		d.Records = recordsOf(t, d.store, d.client)

		for i := range 20 {
			d.fail(fmt.Sprintf("p-%d", i))
			d.put(item{"name": s(fmt.Sprintf("order-%d", i)), "data": s("2026"), "ttl": s("never")})
		}

		found := map[string]operate.View{}

		for cursor, more := "", true; more; more = cursor != "" {
			p, err := d.List(t.Context(), operate.Selection{Budget: 3, Cursor: cursor}, func(v operate.View) error {
				found[v.Key] = v

				return nil
			})
			if err != nil {
				t.Fatal(err)
			}

			cursor = p.Cursor
		}

		if len(found) != 20 {
			t.Fatalf("%d of 20", len(found))
		}

		d.completeLarge("large")

		if got, err := d.Result(t.Context(), d.look("large")); err != nil || !bytes.Equal(got, letters) {
			t.Errorf("got a result of %d bytes, %v", len(got), err)
		}

		ctx := t.Context()
		if err := errors.Join(
			d.Reopen(ctx, found["p-1"], "anna", "mended"), d.Fail(ctx, d.look("p-1"), "anna", "after all not"), d.Forget(ctx, d.look("p-1"), "anna", "a test"),
		); err != nil {
			t.Error(err)
		}

		if v := d.lookOrNone("p-1"); v.Status != "" {
			t.Errorf("still there: %+v", v)
		}
	})
}

func TestListKeepsItsRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		db := idemddbtest.New(nil)
		d := newDesk(t, db, idemddb.Options{})

		for i := range 400 {
			d.claim(fmt.Sprintf("p-%d", i))
		}

		begun := time.Now()

		p, err := d.List(t.Context(), operate.Selection{Rate: 5, Segments: 1, Budget: 20}, func(operate.View) error { return nil })
		if err != nil {
			t.Fatal(err)
		}

		// The last page is not waited for.
		if took := time.Since(begun).Seconds(); took > p.Units/5 || took < p.Units/5-1 || p.Units < 5 {
			t.Errorf("%v units in %v s", p.Units, took)
		}

		// Behind an error, no further page is waited for.
		begun = time.Now()

		if _, err := d.List(t.Context(), operate.Selection{Rate: 0.01, Segments: 1}, func(operate.View) error { return errScreen }); !errors.Is(err, errScreen) {
			t.Errorf("got %v, want the error of the caller's function", err)
		}

		if took := time.Since(begun); took > 0 {
			t.Errorf("the error comes after %v", took)
		}
	})
}

func TestAListByTheIndexKeepsItsRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, idemddbtest.New(nil), idemddb.Options{UnsentIndex: "unsent"})

		for i := range 50 {
			d.announce(fmt.Sprintf("p-%d", i))
		}

		begun := time.Now()

		var shown operate.Progress

		got, p := d.list(operate.Selection{Unsent: true, Rate: 5, Progress: func(p operate.Progress) { shown = p }})
		if took := time.Since(begun).Seconds(); len(got) != 50 || took > p.Units/5 || took < p.Units/5-2 {
			t.Errorf("%d records, %v units in %v s", len(got), p.Units, took)
		}

		if want := (operate.Progress{Read: 50, Found: 50, Units: 50 + 16*0.5}); p != want || shown.Read != 50 {
			t.Errorf("got %+v, and %+v was shown at last, want %+v", p, shown, want)
		}
	})
}

func TestListEndsWithItsContext(t *testing.T) {
	t.Parallel()

	d := newDesk(t, idemddbtest.New(nil), idemddb.Options{})
	d.claim("p-1")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()

	p, err := d.List(ctx, operate.Selection{}, func(operate.View) error { return nil })
	if !errors.Is(err, context.Canceled) || p.Cursor == "" {
		t.Errorf("got %+v, %v", p, err)
	}

	ctx, cancel = context.WithCancel(t.Context())

	if _, err := d.List(ctx, operate.Selection{}, func(operate.View) error { cancel(); return errScreen }); !errors.Is(err, errScreen) {
		t.Errorf("got %v, want the error of the function that has ended the context", err)
	}
}

// The index is behind the table, so a record may be gone. An error of a read ends the list, because a record may be missing,
// and so does one of the caller's function.
func TestAListByTheIndexPassesOverWhatIsGone(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil)
	d := newDesk(t, db, idemddb.Options{UnsentIndex: "unsent"})
	d.announce("gone")
	d.announce("left")

	var fault idemddbtest.Fault

	db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if r.Operation != "GetItem" {
			return idemddbtest.None
		}

		defer func() { fault = idemddbtest.None }()

		return fault
	})

	for _, fault = range []idemddbtest.Fault{idemddbtest.EmptyAnswer, idemddbtest.AccessDenied} {
		isDenied := fault == idemddbtest.AccessDenied

		p, err := d.List(t.Context(), operate.Selection{Unsent: true}, func(operate.View) error { return nil })
		if (err != nil) != isDenied || !isDenied && (p.Read != 2 || p.Found != 1) {
			t.Errorf("got %+v, %v", p, err)
		}
	}

	if _, err := d.List(t.Context(), operate.Selection{Unsent: true}, func(operate.View) error { return errScreen }); !errors.Is(err, errScreen) {
		t.Errorf("got %v, want the error of the caller's function", err)
	}
}

// A goroutine that is left would end the bubble with a panic.
func TestAPanicOfTheCallersFunctionLeavesNoGoroutine(t *testing.T) {
	t.Parallel()

	explode := func() { panic("the screen is gone") }

	for name, show := range map[string]func(context.Context, *desk) error{
		"found": func(ctx context.Context, d *desk) error {
			_, err := d.List(ctx, operate.Selection{}, func(operate.View) error { explode(); return nil })

			return err
		},
		"Progress": func(ctx context.Context, d *desk) error {
			s := operate.Selection{Progress: func(operate.Progress) { explode() }}
			_, err := d.List(ctx, s, func(operate.View) error { return nil })

			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				d := newDesk(t, idemddbtest.New(nil), idemddb.Options{})

				for i := range 40 {
					d.claim(fmt.Sprintf("p-%d", i))
				}

				defer func() {
					if recover() == nil {
						t.Error("the caller does not get the panic")
					}
				}()

				t.Error(show(context.WithoutCancel(t.Context()), d))
			})
		})
	}
}

func TestAWrongSelectionIsRefused(t *testing.T) {
	t.Parallel()

	d := newDesk(t, idemddbtest.New(nil), idemddb.Options{})

	for want, selection := range map[string]operate.Selection{
		"Selection.Budget: must not be negative":            {Budget: -1},
		"Selection.Rate: must not be negative":              {Rate: -1},
		"Selection.Segments: must be 0 to 1000":             {Segments: 1_001},
		"Selection.Segments: must be 0 to 1000, is -1":      {Segments: -1},
		`Selection.Hash: must be "sha256:"`:                 {Hash: "a-IBemZtKSDe and more"},
		`as a log line has it, is "sha256:a-IBemZ"`:         {Hash: "sha256:a-IBemZ"},
		"Selection.Cursor: is none of a list with":          {Cursor: "?"},
		"Selection.Cursor: is none of a list with the same": {Cursor: "W10", Segments: 2},
	} {
		if _, err := d.List(t.Context(), selection, nil); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}

	if _, err := d.List(t.Context(), operate.Selection{Segments: 1_000}, nil); err != nil {
		t.Errorf("the largest number of segments: got %v", err)
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	d := newDesk(t, idemddbtest.New(nil), idemddb.Options{})

	if _, err := operate.New(nil, d.client); err == nil || !strings.Contains(err.Error(), "store: must not be nil") {
		t.Error(err)
	}

	if _, err := operate.New(d.store, (*idemddbtest.DB)(nil)); err == nil || !strings.Contains(err.Error(), "api: must not be nil") {
		t.Error(err)
	}

	t.Setenv("IDEMDDB_DISABLED", "1")

	if _, err := operate.New(d.another(idemddb.Options{}), d.client); err == nil || !strings.Contains(err.Error(), "IDEMDDB_DISABLED") {
		t.Error(err)
	}
}

// The segments share the rate: a page of each is no larger than its part of what may be read in a second.
func TestThePagesOfSegmentsShareTheRate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		d := newDesk(t, idemddbtest.New(nil), idemddb.Options{})

		for i := range 60 {
			if err := d.claim(fmt.Sprintf("p-%d", i)).Complete(t.Context(), make([]byte, 3<<10)); err != nil {
				t.Fatal(err)
			}
		}

		before := 0.0
		_, p := d.list(operate.Selection{Rate: 8, Segments: 4, Progress: func(p operate.Progress) {
			if used := p.Units - before; used > 2 {
				t.Errorf("a page of %v units, want at most 2 of the 8 a second", used)
			}

			before = p.Units
		}})

		if p.Units < 8 {
			t.Errorf("%v units: too few for this test", p.Units)
		}
	})
}
