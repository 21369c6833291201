package idemddb_test

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// partsOf returns the items of the table that are parts of results, by their partition keys.
func partsOf(db *idemddbtest.DB) map[string]map[string]types.AttributeValue {
	parts := map[string]map[string]types.AttributeValue{}

	for _, it := range db.Items("records") {
		if it["part"] != nil {
			parts[textOf(it, "pk")] = it
		}
	}

	return parts
}

// huge is a JSON text of about this many bytes.
func huge(letter string, size int) []byte {
	return []byte(`"` + strings.Repeat(letter, size) + `"`)
}

func TestALargeResultIsAnItemOfItsOwnAndReplayed(t *testing.T) {
	t.Parallel()
	eachCompletion(t, nil, func(f *fixture, complete func([]byte) error) {
		result := huge("a", 300_000)
		must(f, complete(result))

		if got := replay(f, f.store, "k").Result; !bytes.Equal(got, result) {
			f.Errorf("replayed %d bytes", len(got))
		}

		it := recordOf(f.db, "k")
		// printf k | openssl dgst -sha256 -binary | base64, URL-safe
		prefix := "test#sha256:glTDKakoUPbVOd03b0gW7idkUX2l4CNVFK9DMWRIDXo/" + textOf(it, "own") + "/"
		kept, _ := it["res"].(*types.AttributeValueMemberM)

		for name, part := range partsOf(f.db) {
			ends, _ := record.NumberOf(it["exp"])
			if got, _ := record.NumberOf(part["exp"]); got != ends+8*24*60*60 {
				f.Errorf("the part ends %d s after the record, want 8 days", got-ends)
			}

			if kept == nil || textOf(kept.Value, "name") != name || !strings.HasPrefix(name, prefix) || !strings.HasSuffix(name, "/1") {
				f.Errorf("the record is%s, and the part has the key %q", show(it), name)
			}
		}

		if n := len(partsOf(f.db)); n != 1 {
			f.Errorf("%d parts, want one", n)
		}
	})
}

// A claim that is refused pays for the whole record, and here the record is small.
func TestAReplayOf300KBCostsOneWriteUnitAnd37ReadUnits(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		must(f, claim(f, f.store, "k").Complete(f.Context(), make([]byte, 300<<10)))
		f.db.ResetRequests()
		replay(f, f.store, "k")

		writes, reads := 0, 0.0
		for _, r := range f.db.Requests() {
			writes, reads = writes+r.WriteUnits, reads+r.ReadUnits
		}

		if writes != 1 || reads > 38 {
			f.Errorf("%v write units and %v read units", writes, reads)
		}

		f.want("UpdateItem", "GetItem")
	})
}

func TestInlineResultSaysWhatStaysInTheRecord(t *testing.T) {
	t.Parallel()

	const part, most = 390 << 10, 16 * 390 << 10

	for name, c := range map[string]struct{ limit, size, parts int }{
		"by default, an empty one":     {0, 0, 0},
		"by default, at the limit":     {0, 32 << 10, 0},
		"by default, above it":         {0, 32<<10 + 1, 1},
		"at a limit":                   {100, 100, 0},
		"above a limit":                {100, 101, 1},
		"negative":                     {-1, 1, 1},
		"negative, an empty one":       {-1, 0, 0},
		"the largest limit":            {350 << 10, 350 << 10, 0},
		"above the largest limit":      {350 << 10, 350<<10 + 1, 1},
		"does not fit into its record": {350 << 10, 500_000, 2},
		"a whole part":                 {0, part, 1},
		"more than a part":             {0, part + 1, 2},
		"2 MB":                         {0, 2 << 20, 6},
		"the most parts":               {0, most, 16},
		"too large":                    {0, most + 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bubble(t, &idemddb.Options{InlineResult: c.limit}, func(f *fixture) {
				result := make([]byte, c.size)
				for i := range result {
					result[i] = byte(i / 1000)
				}

				err, isOmitted := claim(f, f.store, "k").Complete(f.Context(), result), c.size > most
				if isOmitted {
					is(f, err, idemddb.ErrTooLarge)
				} else {
					must(f, err)
				}

				got := replay(f, f.store, "k")
				if got.ResultOmitted != isOmitted || !isOmitted && !bytes.Equal(got.Result, result) || len(partsOf(f.db)) != c.parts {
					f.Errorf("replayed %d bytes of %d parts, omitted %t; want %d parts", len(got.Result), len(partsOf(f.db)), got.ResultOmitted, c.parts)
				}
			})
		})
	}
}

// A client that is no Getter keeps results in the record, whatever InlineResult says, and says so of one that it cannot read.
func TestWithoutGetItemResultsStayInTheRecord(t *testing.T) {
	t.Parallel()

	var _ idemddb.Getter = (*dynamodb.Client)(nil)

	s, db := newWriter(t, &idemddb.Options{InlineResult: -1})
	must(t, claim(t, s, "k").Complete(t.Context(), large("a")))

	if got := replay(t, s, "k"); !bytes.Equal(got.Result, large("a")) || len(partsOf(db)) > 0 {
		t.Errorf("replayed %d bytes, %d parts", len(got.Result), len(partsOf(db)))
	}

	is(t, claim(t, s, "larger").Complete(t.Context(), make([]byte, 410_000)), idemddb.ErrTooLarge)

	must(t, claim(t, storeOn(t, db, nil), "in the table").Complete(t.Context(), large("a")))

	_, rec, err := s.Claim(t.Context(), "in the table", nil)
	if rec != nil || err == nil || !strings.Contains(err.Error(), "the client's GetItem: must be set as in the process that completed the key") {
		t.Errorf("got %v, %v", rec, err)
	}
}

// A Store with Options.Results reads what was kept before they were set.
func TestResultsInTheTableAreReadBesideOptionsResults(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)
	must(t, claim(t, s, "k").Complete(t.Context(), large("a")))

	kept := &shelf{}
	if got := replay(t, storeOn(t, db, &idemddb.Options{Results: kept}), "k"); !bytes.Equal(got.Result, large("a")) || kept.Gets > 0 {
		t.Errorf("replayed %d bytes, %d reads elsewhere", len(got.Result), kept.Gets)
	}
}

func TestAnAnswerWithoutContentIsNoneOfAPart(t *testing.T) {
	t.Parallel()

	puts, gets := 0, 0

	// The first answer to each request for a part is nil, and the later ones do not say what they cost.
	bubbleAround(t, nil, func(ctx context.Context, in any, send around.Send) (any, error) {
		switch in.(type) {
		case *dynamodb.PutItemInput:
			if puts++; puts == 1 {
				return nil, nil //nolint:nilnil // as above
			}
		case *dynamodb.GetItemInput:
			if gets++; gets == 1 {
				return nil, nil //nolint:nilnil // as above
			}
		}

		out, err := send(ctx, in)
		if read, is := out.(*dynamodb.GetItemOutput); is {
			read.ConsumedCapacity = nil
		}

		return out, err
	}, func(f *fixture) {
		must(f, claim(f, f.store, "k").Complete(f.Context(), large("a")))

		if got := replay(f, f.store, "k").Result; !bytes.Equal(got, large("a")) || puts != 2 || gets != 2 {
			f.Errorf("replayed %d bytes after %d writes and %d reads, want 2 of each", len(got), puts, gets)
		}
	})
}

func TestTheErrorOfAPartSaysWhichOneAndWhy(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		c := claim(f, f.store, "k")
		f.db.Intercept(forOperation("PutItem", idemddbtest.AccessDenied))

		if err := c.Complete(f.Context(), large("a")); err == nil || !strings.Contains(err.Error(), "part 1: ") || wire.Code(err) != "AccessDeniedException" {
			f.Errorf("got %v, want that part 1 is denied", err)
		}

		f.db.Intercept(nil)
		must(f, claim(f, f.store, "kept").Complete(f.Context(), large("a")))
		f.db.Intercept(forOperation("GetItem", idemddbtest.ServerError))

		_, _, err := f.store.Claim(f.Context(), "kept", nil)
		if err == nil || !strings.Contains(err.Error(), "part 1: ") || strings.Contains(err.Error(), "the role needs") {
			f.Errorf("got %v, want that part 1 is not answered", err)
		}
	})
}

func TestAPartThatIsNotFoundIsReadConsistently(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)
	must(t, claim(t, s, "k").Complete(t.Context(), large("a")))

	gets := 0
	stale := &around.Client{DB: db, Do: func(ctx context.Context, in any, send around.Send) (any, error) {
		if read, is := in.(*dynamodb.GetItemInput); is {
			if gets++; !aws.ToBool(read.ConsistentRead) {
				return &dynamodb.GetItemOutput{ConsumedCapacity: &types.ConsumedCapacity{}}, nil
			}
		}

		return send(ctx, in)
	}}

	if got := replay(t, storeOn(t, stale, nil), "k"); !bytes.Equal(got.Result, large("a")) || gets != 2 {
		t.Errorf("replayed %d bytes after %d reads, want 2", len(got.Result), gets)
	}
}

// What becomes of a key whose result in the table is not as it was put.
func TestAResultInTheTableThatIsNotAsItWasPut(t *testing.T) {
	t.Parallel()

	change := func(value types.AttributeValue) func(map[string]types.AttributeValue) {
		return func(it map[string]types.AttributeValue) { it["part"] = value }
	}

	for name, c := range map[string]struct {
		change func(it map[string]types.AttributeValue) // nil: the item is gone
		want   error                                    // nil: the result counts as omitted
	}{
		"a part is gone":             {nil, nil},
		"other bytes":                {change(&types.AttributeValueMemberB{Value: make([]byte, 390<<10)}), idemddb.ErrCorrupt},
		"fewer bytes":                {change(&types.AttributeValueMemberB{Value: []byte("a")}), idemddb.ErrCorrupt},
		"a text":                     {change(text("a")), idemddb.ErrCorrupt},
		"a nil pointer":              {change((*types.AttributeValueMemberB)(nil)), idemddb.ErrCorrupt},
		"an item of another program": {func(it map[string]types.AttributeValue) { delete(it, "part") }, idemddb.ErrCorrupt},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			s, db := newStore(t, nil)
			must(t, claim(t, s, "k").Complete(t.Context(), huge("a", 500_000)))

			changed := &around.Client{DB: db, Do: around.After(func(out *dynamodb.GetItemOutput) {
				switch {
				case !strings.HasSuffix(textOf(out.Item, "pk"), "/2"):
				case c.change == nil:
					out.Item = nil
				default:
					out.Item = maps.Clone(out.Item)
					c.change(out.Item)
				}
			})}
			_, rec, err := storeOn(t, changed, nil).Claim(t.Context(), "k", nil)

			switch {
			case c.want != nil:
				if rec != nil || !errors.Is(err, c.want) || !strings.Contains(err.Error(), `table "records": "test#sha256:`) {
					t.Errorf("got %v, %v", rec, err)
				}
			case err != nil || !rec.ResultOmitted || rec.Result != nil:
				t.Errorf("got %+v, %v, want a result that is gone", rec, err)
			}
		})
	}
}

// The first worker dies, or is late, at each of its requests. The result of the worker that completes the key is replayed, and
// Time to Live deletes whatever is left.
func TestAWorkerWithALargeResultDiesAtEachOfItsRequests(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{idemddbtest.LostRequest, idemddbtest.LostReply} {
		for last := 1; last <= 4; last++ { // the claim, two parts, the completion
			bubble(t, nil, func(f *fixture) {
				n := 0
				dying := storeOn(f, f.db, nil)

				f.db.Intercept(func(context.Context, idemddbtest.Request) idemddbtest.Fault {
					if n++; n < last {
						return idemddbtest.None
					}

					return fault
				})

				_, _ = idemddb.Do(f.Context(), dying, "k", nil, func(context.Context) (string, error) { return strings.Repeat("d", 500_000), nil })

				f.db.Intercept(nil)
				<-time.After(time.Minute) // the lease is over

				got, err := idemddb.Do(f.Context(), f.store, "k", nil, func(context.Context) (string, error) { return strings.Repeat("w", 500_000), nil })
				must(f, err)

				again, err := idemddb.Do(f.Context(), f.store, "k", nil, func(context.Context) (string, error) { return "none", nil })
				must(f, err)

				want := "w"
				if fault == idemddbtest.LostReply && last > 1 { // the completion has arrived: with the result only if its Put was answered
					want = map[bool]string{true: "d"}[last == 4]
				}

				if got != again || got != strings.Repeat(want, 500_000) {
					f.Errorf("%v at request %d: got %.1q, then %.1q, want %q", fault, last, got, again, want)
				}

				<-time.After(16 * 24 * time.Hour)
				f.expire()

				if left := f.db.Items("records"); len(left) > 0 {
					f.Errorf("%d items are left", len(left))
				}
			})
		}
	}
}

// expire lets Time to Live delete what is past its end.
func (f *fixture) expire() {
	f.Helper()

	_, err := f.db.UpdateTimeToLive(f.Context(), &dynamodb.UpdateTimeToLiveInput{
		TableName:               new("records"),
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: new("exp"), Enabled: new(true)},
	})
	must(f, err)
	f.db.Expire()
}

// A request that is throttled or gets no answer is made again.
func TestThePartsOfAResultOutlastPassingTrouble(t *testing.T) {
	t.Parallel()

	for _, fault := range []idemddbtest.Fault{
		idemddbtest.Throttle, idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.ServerErrorApplied,
		idemddbtest.EmptyAnswer, idemddbtest.TruncatedBody,
	} {
		bubble(t, nil, func(f *fixture) {
			c := claim(f, f.store, "k")
			f.db.Inject(idemddbtest.None, fault, fault, idemddbtest.None)
			must(f, c.Complete(f.Context(), huge("a", 800_000)))
			f.db.Inject(idemddbtest.None, fault, fault)

			if got := replay(f, f.store, "k").Result; !bytes.Equal(got, huge("a", 800_000)) || len(partsOf(f.db)) != 3 {
				f.Errorf("%v: replayed %d bytes of %d parts", fault, len(got), len(partsOf(f.db)))
			}
		})
	}
}

func TestARoleWithoutGetItemIsToldWhatItLacks(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		must(f, claim(f, f.store, "k").Complete(f.Context(), large("a")))
		f.db.Intercept(forOperation("GetItem", idemddbtest.AccessDenied))

		f.takes(0, func() { // another try would be denied, too
			_, rec, err := f.store.Claim(f.Context(), "k", nil)
			if rec != nil || err == nil || !strings.Contains(err.Error(), "the role needs dynamodb:GetItem") {
				f.Errorf("got %v, %v", rec, err)
			}
		})

		f.db.Intercept(nil)

		if got := replay(f, f.store, "k").Result; !bytes.Equal(got, large("a")) {
			f.Errorf("replayed %d bytes afterwards", len(got))
		}
	})
}

// While DynamoDB answers no read, a replay takes no longer than a claim without an answer.
func TestAReadOfAResultThatIsNotAnsweredEnds(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		must(f, claim(f, f.store, "k").Complete(f.Context(), large("a")))
		f.db.Intercept(forOperation("GetItem", idemddbtest.LateReply))

		f.takes(5*time.Second, func() {
			if _, rec, err := f.store.Claim(f.Context(), "k", nil); rec != nil || err == nil {
				f.Errorf("got %v, %v", rec, err)
			}
		})
	})
}

func TestAPanicOfTheClientDoesNotLoseTheCompletion(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)
	panicsAtPut := around.Before(func(*dynamodb.PutItemInput) error { panic("as the test says") })
	panicsAtGet := around.Before(func(*dynamodb.GetItemInput) error { panic("as the test says") })

	err := claim(t, storeOn(t, &around.Client{DB: db, Do: panicsAtPut}, nil), "put").Complete(t.Context(), large("a"))
	is(t, err, idemddb.ErrTooLarge)

	if !strings.Contains(err.Error(), `table "records": it panicked: as the test says`) || !replay(t, s, "put").ResultOmitted {
		t.Errorf("got %v", err)
	}

	reads := storeOn(t, &around.Client{DB: db, Do: panicsAtGet}, nil)
	must(t, claim(t, reads, "get").Complete(t.Context(), large("a")))

	if _, rec, err := reads.Claim(t.Context(), "get", nil); rec != nil || err == nil || !strings.Contains(err.Error(), "it panicked") {
		t.Errorf("got %v, %v", rec, err)
	}
}

// No key of a caller can name a part, and long and hashed keys stand in the key of a part as they are in their records.
func TestNoKeyIsThatOfAPart(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)
	must(t, claim(t, s, "k").Complete(t.Context(), large("a")))

	for _, name := range slices.Collect(maps.Keys(partsOf(db))) {
		_, key, _ := strings.Cut(name, "#")
		must(t, claim(t, s, key).Complete(t.Context(), []byte("other")))
	}

	if got := replay(t, s, "k").Result; !bytes.Equal(got, large("a")) {
		t.Errorf("replayed %.9q", got)
	}

	hashed, db := newStore(t, &idemddb.Options{HashKeys: true})
	must(t, claim(t, hashed, "k").Complete(t.Context(), large("a")))

	for name := range partsOf(db) {
		if !strings.HasPrefix(name, "test#sha256:glTDKakoUPbVOd03b0gW7idkUX2l4CNVFK9DMWRIDXo/") {
			t.Errorf("the key of the part is %q", name)
		}
	}

	if len(partsOf(db)) != 1 || !bytes.Equal(replay(t, hashed, "k").Result, large("a")) {
		t.Errorf("%d parts", len(partsOf(db)))
	}
}

// A message is tried for 7 days, and its record stays for 24 hours more. The result is there for as long.
func TestALargeResultOutlivesTheMessagesOfItsRecord(t *testing.T) {
	t.Parallel()
	bubble(t, &idemddb.Options{Retention: time.Hour}, func(f *fixture) {
		must(f, claim(f, f.store, "k").CompleteWith(f.Context(), large("a"), oneMessage))
		<-time.After(8 * 24 * time.Hour)
		f.expire()

		if len(partsOf(f.db)) != 1 {
			f.Errorf("the result is gone before its record may be")
		}

		<-time.After(2 * time.Hour)
		f.expire()

		if len(partsOf(f.db)) != 0 {
			f.Errorf("the result is left")
		}
	})
}
