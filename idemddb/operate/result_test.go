package operate_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/checks/around"
)

// letters is a result of three parts.
var letters = bytes.Repeat([]byte("abcdefghij"), 100_000)

func (d *desk) completeLarge(key string) {
	d.t.Helper()

	if err := d.claim(key).Complete(d.t.Context(), letters); err != nil {
		d.t.Fatal(err)
	}
}

// items counts the items of the table.
func (d *desk) items() int {
	d.t.Helper()

	api, ok := d.client.(operate.API)
	if !ok {
		d.t.Fatal("no scans")
	}

	out, err := api.Scan(d.t.Context(), &dynamodb.ScanInput{TableName: &d.table, Limit: new(int32(100))})
	if err != nil {
		d.t.Fatal(err)
	}

	n := len(out.Items)

	for len(out.LastEvaluatedKey) > 0 {
		if out, err = api.Scan(d.t.Context(), &dynamodb.ScanInput{TableName: &d.table, ExclusiveStartKey: out.LastEvaluatedKey}); err != nil {
			d.t.Fatal(err)
		}

		n += len(out.Items)
	}

	return n
}

func TestALargeResultIsReadAndForgottenWithItsRecord(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		t := d.t
		d.completeLarge("p-1")
		d.complete("p-2")

		seen := d.look("p-1")
		if seen.ResultBytes != len(letters) || seen.Result != nil || !strings.HasPrefix(seen.ResultName, "payments#sha256:") {
			t.Errorf("got %d bytes, named %q", seen.ResultBytes, seen.ResultName)
		}

		if got, err := d.Result(t.Context(), seen); err != nil || !bytes.Equal(got, letters) {
			t.Errorf("read %d bytes, %v", len(got), err)
		}

		if got, err := d.Result(t.Context(), d.look("p-2")); err != nil || string(got) != "receipt" {
			t.Errorf("of one in the record: %q, %v", got, err)
		}

		if n := d.items(); n != 5 {
			t.Errorf("%d items, want two records and three parts", n)
		}

		if err := d.Forget(t.Context(), seen, "anna", "it is wrong"); err != nil || d.items() != 1 {
			t.Errorf("after forget: %v, %d items", err, d.items())
		}

		if _, err := d.Result(t.Context(), seen); !errors.Is(err, idemddb.ErrResultOmitted) {
			t.Errorf("of a forgotten one: %v", err)
		}
	})
}

func TestTheListIsSentNoPartsOfResults(t *testing.T) {
	t.Parallel()

	var sent atomic.Int64

	d := newDesk(t, &around.Client{DB: idemddbtest.New(nil), Do: around.After(func(out *dynamodb.ScanOutput) {
		sent.Add(int64(len(out.Items)))
	})}, idemddb.Options{})
	d.completeLarge("p-1")

	if _, p := d.list(operate.Selection{}); p.Read != 4 || sent.Load() != 1 {
		t.Errorf("%d items were read, %d sent", p.Read, sent.Load())
	}

	// Nor is it sent a record that none of these selects.
	for _, selection := range []operate.Selection{
		{Parked: true}, {Unsent: true}, {Twice: true}, {Status: []operate.Status{operate.Failed}}, {Status: []operate.Status{operate.Held, operate.Stuck}},
	} {
		sent.Store(0)

		if _, p := d.list(selection); p.Read != 4 || sent.Load() != 0 {
			t.Errorf("%+v: %d items were read, %d sent", selection, p.Read, sent.Load())
		}
	}
}

// A service that does what DynamoDB does may not say what a request has cost.
func TestAnAnswerWithoutItsCost(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil)
	d := newDesk(t, db, idemddb.Options{})
	d.complete("p-1")

	for _, cost := range []*types.ConsumedCapacity{nil, {}} {
		costless := around.After(func(out *dynamodb.ScanOutput) { out.ConsumedCapacity = cost })

		records := recordsOf(t, d.store, &around.Client{DB: db, Do: costless})

		if p, err := records.List(t.Context(), operate.Selection{}, func(operate.View) error { return nil }); err != nil || p.Found != 1 || p.Units != 0 {
			t.Errorf("with %v: got %+v, %v", cost, p, err)
		}
	}
}

// The parts of a result have keys in the namespace, and are no records, also one that another program has damaged.
func TestTheListShowsNoPartsOfResults(t *testing.T) {
	onEachEngine(t, idemddb.Options{}, func(d *desk) {
		d.completeLarge("p-1")

		d.put(item{"pk": s(d.look("p-1").ResultName), "note": s("without its bytes")})

		if keys, _ := d.list(operate.Selection{}); len(keys) != 1 || keys[0] != "p-1" {
			d.t.Errorf("got %q", keys)
		}
	})
}

func TestALargeResultThatIsNotAsItWasPutIsCorrupt(t *testing.T) {
	t.Parallel()

	d := newDesk(t, &around.Client{DB: idemddbtest.New(nil), Do: around.After(func(out *dynamodb.GetItemOutput) {
		if out.Item["part"] != nil {
			out.Item["part"] = s("short")
		}
	})}, idemddb.Options{})
	d.completeLarge("p-1")

	if got, err := d.Result(t.Context(), d.look("p-1")); got != nil || !errors.Is(err, idemddb.ErrCorrupt) {
		t.Errorf("got %d bytes, %v", len(got), err)
	}
}

// The record is gone by then, so that the key is new: the first try of its deletion, whose answer may be lost, has deleted it.
func TestAResultThatCannotBeDeletedIsLeftToTimeToLive(t *testing.T) {
	t.Parallel()

	for _, faults := range [][]idemddbtest.Fault{
		{idemddbtest.None, idemddbtest.AccessDenied}, {idemddbtest.LostReply, idemddbtest.None, idemddbtest.AccessDenied},
	} {
		synctest.Test(t, func(t *testing.T) { // in the bubble the pauses of the SDK take no time
			db, d, records := newDeskOfSDK(t)
			d.completeLarge("p-1")

			seen := d.look("p-1")

			db.Intercept(func(_ context.Context, r idemddbtest.Request) (fault idemddbtest.Fault) {
				if r.Operation == "DeleteItem" {
					fault, faults = faults[0], faults[1:]
				}

				return fault
			})

			err := records.Forget(t.Context(), seen, "anna", "it is wrong")
			if err == nil || !strings.Contains(err.Error(), "the record is deleted, and its result stays until Time to Live deletes it") {
				t.Errorf("got %v", err)
			}

			d.claim("p-1")
		})
	}
}

func TestAnItemWhoseAnswerIsCutOffIsReadAgain(t *testing.T) {
	t.Parallel()

	db := idemddbtest.New(nil)
	d := newDesk(t, db, idemddb.Options{})
	d.completeLarge("p-1")

	seen, err := d.Look(t.Context(), "p-1")
	if err != nil {
		t.Fatal(err)
	}

	for cuts, want := range map[int]error{2: nil, 3: io.ErrUnexpectedEOF} {
		left := 0 // of the reads whose answer ends as it does when its connection ends

		records := recordsOf(t, d.store, &around.Client{DB: db, Do: around.Before(func(*dynamodb.GetItemInput) error {
			if left--; left >= 0 {
				return fmt.Errorf("deserialization failed: %w", io.ErrUnexpectedEOF)
			}

			return nil
		})})

		left = cuts
		if _, err := records.Look(t.Context(), "p-1"); !errors.Is(err, want) {
			t.Errorf("%d cuts: a look returned %v", cuts, err)
		}

		left = cuts
		if got, err := records.Result(t.Context(), seen); !errors.Is(err, want) || want == nil && !bytes.Equal(got, letters) {
			t.Errorf("%d cuts: got %d bytes, %v", cuts, len(got), err)
		}
	}
}
