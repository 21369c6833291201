package idemddb_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

func TestStageRefusesItemsThatCannotBeWritten(t *testing.T) {
	nameless, keyless, elsewhere, empty := counted("a"), counted("a"), counted("a"), putOf("a", "")
	nameless.Update.TableName, keyless.Update.Key, empty.Put.Item = nil, nil, nil
	elsewhere.Update.TableName = new("arn:aws:dynamodb:us-east-1:111122223333:table/records")
	own := map[string]types.AttributeValue{"pk": text("test#k")}

	checkRefusedEffects(t, map[string]refusedEffects{
		"nothing":          {e: items(types.TransactWriteItem{}), want: "item 0: it must be one of"},
		"two in one":       {e: items(types.TransactWriteItem{Put: putOf("a", "").Put, Update: counted("a").Update}), want: "is 2 of them"},
		"no table":         {e: items(counted("b"), nameless), want: "item 1: its TableName is empty"},
		"no key":           {e: items(keyless), want: "its key is empty"},
		"a Put of nothing": {e: items(empty), want: "its item is empty"},

		"an item twice":      {items(counted("a")), items(counted("b"), counted("a")), "item 2: it is the same item as item 0"},
		"an item by its ARN": {items(counted("a")), items(elsewhere), "the same item"},
		"a Put of an item":   {items(counted("a")), items(putOf("effect a", "")), "the same item"},
		"a check of an item": {items(counted("a")), items(types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
			TableName: new("records"), Key: counted("a").Update.Key, ConditionExpression: new("attribute_exists(pk)"),
		}}), "the same item"},

		"the record as a Put": {e: items(putOf("test#k", "")), want: "it is the record of the key itself"},
		"the record's delete": {e: items(types.TransactWriteItem{Delete: &types.Delete{TableName: new("records"), Key: own}}), want: "the record of the key itself"},
	})
}

func TestStageRefusesMessagesThatAreNotWellFormed(t *testing.T) {
	checkRefusedEffects(t, map[string]refusedEffects{
		"no target":     {e: message(idemddb.Message{Body: "b"}), want: "message 0: Message.To: must be UTF-8 text"},
		"an id":         {e: message(idemddb.Message{ID: "x", To: "bank", Body: "b"}), want: "Message.ID: must be empty"},
		"no body":       {e: message(idemddb.Message{To: "bank"}), want: "Message.Body: must be UTF-8 text"},
		"our attribute": {e: message(idemddb.Message{To: "bank", Body: "b", Attributes: map[string]string{"idemddb-id": "x"}}), want: "are the library's own"},
		"no UTF-8":      {e: message(idemddb.Message{To: "bank", Body: "\xff"}), want: "must be UTF-8 text"},
	})
}

func TestStageRefusesTooMuch(t *testing.T) {
	many := func(n int) (all []types.TransactWriteItem) {
		for i := range n {
			all = append(all, counted(fmt.Sprint(i)))
		}

		return all
	}
	big := putOf("big", strings.Repeat("x", 400<<10))

	var heavy idemddb.Effects
	for i := range 11 {
		heavy.Items = append(heavy.Items, putOf(fmt.Sprint(i), strings.Repeat("x", 390<<10)))
	}

	room := items(heavy.Items[:10]...) // what is beside it fits into 4 MB, and the record does not
	room.Items = append(room.Items, putOf("rest", strings.Repeat("x", 196<<10-2000)))

	checkRefusedEffects(t, map[string]refusedEffects{
		"items that leave no room for the record": {items(room.Items[:5]...), items(room.Items[5:]...), "a transaction takes 4194304"},

		"100 items":         {items(many(50)...), items(many(100)[50:]...), "101 items: 1 record and 100 of yours"},
		"an item of 400 KB": {e: items(big), want: "an item holds 409600"},
		"items of 4 MB":     {items(heavy.Items[:5]...), items(heavy.Items[5:]...), "a transaction takes 4194304"},
		"messages of 400 KB": {message(idemddb.Message{To: "bank", Body: strings.Repeat("x", 200<<10)}),
			message(idemddb.Message{To: "bank", Body: strings.Repeat("x", 200<<10)}), "a record has room for"},
	})
}

func message(m idemddb.Message) idemddb.Effects {
	return idemddb.Effects{Messages: []idemddb.Message{m}}
}

// refusedEffects cannot be written after those that were staged before.
type refusedEffects struct {
	before, e idemddb.Effects
	want      string
}

func checkRefusedEffects(t *testing.T, cases map[string]refusedEffects) {
	t.Helper()
	t.Parallel()

	for name, c := range cases {
		t.Run(name, func(t *testing.T) { t.Parallel(); c.check(t) })
	}
}

func (c *refusedEffects) check(t *testing.T) {
	t.Helper()

	s, db := newStore(t, nil)
	begun := beginWork(t, s, "k", nil)
	work := begun.Context(t.Context())

	db.ResetRequests()
	must(t, idemddb.Stage(work, c.before))

	err := idemddb.Stage(work, c.e)
	if err == nil || !strings.Contains(err.Error(), c.want) || isDone(err) {
		t.Errorf("got error %v (done: %t), want %q", err, isDone(err), c.want)
	}

	all := c.before // the cases may share arrays
	all.Items, all.Adds = slices.Concat(all.Items, c.e.Items), slices.Concat(all.Adds, c.e.Adds)
	all.Messages = slices.Concat(all.Messages, c.e.Messages)

	if _, err := s.Commit(t.Context(), "k", nil, nil, all); err == nil || !strings.Contains(err.Error(), c.want) {
		t.Errorf("Commit: got error %v, want %q", err, c.want)
	}

	if n := len(db.Requests()); n > 0 {
		t.Errorf("%d requests", n)
	}

	is(t, begun.Claim().Complete(t.Context(), nil), idemddb.ErrNotStaged)
	is(t, begun.TakeStageErr(), idemddb.ErrNotStaged)
	must(t, begun.Settle(t.Context(), nil, nil).Err) // the refused effects do no harm to those that were staged before
}

func TestStageTakesWhatJustFits(t *testing.T) {
	t.Parallel()

	// In a bubble the copies of 4 MB take no time, so that no try is given up on a busy machine.
	synctest.Test(t, func(t *testing.T) {
		s, db := newWriter(t, nil)

		var e idemddb.Effects
		for i := range 99 {
			e.Items = append(e.Items, putOf(fmt.Sprint(i), strings.Repeat("x", 41<<10)))
		}

		e.Items[98] = counted("last")
		e.Messages = []idemddb.Message{{To: "bank", Body: "b"}}

		must(t, claim(t, s, "k").CompleteWith(t.Context(), []byte("r"), e))
		happened(t, db, "last", 1)

		heavy := idemddb.Effects{Messages: []idemddb.Message{{To: "bank", Body: strings.Repeat("x", 391<<10)}}}
		must(t, claim(t, s, "message").CompleteWith(t.Context(), nil, heavy))
		is(t, claim(t, s, "result").CompleteWith(t.Context(), make([]byte, 20<<10), heavy), idemddb.ErrTooLarge)

		e.Messages = heavy.Messages // beside nearly 4 MB of items
		is(t, claim(t, s, "both").CompleteWith(t.Context(), nil, e), idemddb.ErrBadEffects)
	})
}

// Wrappers ask whether a result fits, because they have a smaller one.
func TestAResultThatFitsIsKept(t *testing.T) {
	t.Parallel()

	messages := idemddb.Effects{Messages: []idemddb.Message{{To: "bank", Body: strings.Repeat("x", 300<<10)}}}

	for name, e := range map[string]idemddb.Effects{"nothing staged": {}, "messages staged": messages} {
		s, _ := newWriter(t, nil)
		size := 0 // size becomes that of the largest result that fits

		begin := func(key string, opts *idemddb.ClaimOptions) *idemddb.Work {
			work := beginWork(t, s, key, opts)
			must(t, idemddb.Stage(work.Context(t.Context()), e))

			return work
		}

		work := begin("fits", nil)
		for step := 1 << 18; step > 0; step /= 2 {
			if work.Fits(make([]byte, size+step)) {
				size += step
			}
		}

		unclaimed := begin("unclaimed", optimistic)
		if !unclaimed.Fits(make([]byte, size-len("unclaimed")+len("fits"))) || unclaimed.Fits(make([]byte, size+1)) {
			t.Errorf("%s: %d bytes are not the most for work without a claim", name, size)
		}

		must(t, work.Claim().Complete(t.Context(), make([]byte, size)))
		is(t, begin("more", nil).Claim().Complete(t.Context(), make([]byte, size+1)), idemddb.ErrTooLarge)
	}
}

// A record with as many messages as Stage allows has room for their causes.
func TestAllMessagesOfARecordCanBeParked(t *testing.T) {
	t.Parallel()

	never := fmt.Errorf("%w: %s", idemddb.ErrUnsendable, strings.Repeat("y", 300))
	s, db := newStore(t, sendingBy(func(ms []idemddb.Message) []error { return slices.Repeat([]error{never}, len(ms)) }))

	work := beginWork(t, s, "many", nil)
	ctx := work.Context(t.Context())

	var full error
	for full == nil {
		full = idemddb.Stage(ctx, idemddb.Effects{Messages: slices.Repeat(oneMessage.Messages, 100)})
	}

	is(t, work.TakeStageErr(), idemddb.ErrNotStaged)
	must(t, work.Settle(t.Context(), nil, nil).Err)

	if it := recordOf(db, "many"); it["outbox"] != nil || it["parked"] == nil {
		t.Error("the messages are not parked")
	}
}

func TestStageCopiesWhatItIsGiven(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)
	w := beginWork(t, s, "k", nil)
	value := func() *types.AttributeValueMemberM {
		return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
			"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{text("a")}}, "bytes": &types.AttributeValueMemberB{Value: []byte("a")},
			"texts": &types.AttributeValueMemberSS{Value: []string{"a"}}, "numbers": &types.AttributeValueMemberNS{Value: []string{"1"}},
			"sets": &types.AttributeValueMemberBS{Value: [][]byte{[]byte("a")}}, "yes": &types.AttributeValueMemberBOOL{Value: true},
			"null": &types.AttributeValueMemberNULL{Value: true},
		}}
	}
	given, it := value(), putOf("effect", "a")
	it.Put.Item["value"] = given
	it.Put.ConditionExpression, it.Put.ExpressionAttributeNames = new("attribute_not_exists(#b)"), map[string]string{"#b": "body"}

	add := plus("sum", "1")
	add.Requires, add.Unless = []string{"pk"}, []string{"closed"}
	_, err := s.Commit(t.Context(), "before", nil, nil, plusAll(plus("sum", "0")))
	must(t, err)

	e := idemddb.Effects{
		Items:    []types.TransactWriteItem{it},
		Adds:     []idemddb.Add{add},
		Messages: []idemddb.Message{{To: "bank", Body: "a", Attributes: map[string]string{"a": "a"}}},
	}
	must(t, idemddb.Stage(w.Context(t.Context()), e))

	given.Value["list"].(*types.AttributeValueMemberL).Value[0] = text("b")
	given.Value["bytes"].(*types.AttributeValueMemberB).Value[0] = 'b'
	given.Value["texts"].(*types.AttributeValueMemberSS).Value[0] = "b"
	given.Value["numbers"].(*types.AttributeValueMemberNS).Value[0] = "2"
	given.Value["sets"].(*types.AttributeValueMemberBS).Value[0][0] = 'b'
	given.Value["yes"].(*types.AttributeValueMemberBOOL).Value = false
	given.Value["null"].(*types.AttributeValueMemberNULL).Value = false
	it.Put.Item["body"], it.Put.ExpressionAttributeNames["#b"], *it.Put.ConditionExpression = text("b"), "pk", "b"
	*it.Put.TableName = "other"
	it.Put.Item = nil
	e.Items[0] = types.TransactWriteItem{}
	e.Messages[0].Attributes["a"] = "2"
	e.Messages[0].Body = "2"
	add.Values["n"].(*types.AttributeValueMemberN).Value, add.Requires[0], add.Unless[0] = "7", "other", "pk"

	clear(add.Values)
	clear(add.Key)
	must(t, w.Settle(t.Context(), nil, nil).Err)

	happened(t, db, "sum", 1)

	got := db.Item("records", map[string]types.AttributeValue{"pk": text("effect")})
	if !reflect.DeepEqual(got["value"], value()) || textOf(got, "body") != "a" {
		t.Errorf("changed: %v", got)
	}

	if message := everything(recordOf(db, "k")["outbox"]); strings.Contains(message, "2") {
		t.Errorf("changed: %s", message)
	}
}

func TestStageIsSafeForConcurrentUse(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)
	c := claim(t, s, "k")
	work, stop := c.Keep(t.Context())

	defer stop()

	var all sync.WaitGroup

	for i := range 90 {
		all.Go(func() { must(t, idemddb.Stage(work, items(counted(fmt.Sprint(i))))) })
	}

	all.Wait()
	must(t, c.Complete(t.Context(), nil))

	for i := range 90 {
		happened(t, db, fmt.Sprint(i), 1)
	}
}

func TestStageSaysWhereThereIsNoClaim(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)
	is(t, idemddb.Stage(t.Context(), items(counted("a"))), idemddb.ErrNoClaim)
	idemddb.Unstage(t.Context())

	for name, settle := range map[string]func(*idemddb.Work) error{
		"complete": func(w *idemddb.Work) error { return w.Claim().Complete(t.Context(), nil) },
		"release":  func(w *idemddb.Work) error { return w.Claim().Release(t.Context(), nil) },
		"fail":     func(w *idemddb.Work) error { return w.Claim().Fail(t.Context(), nil) },
		"settle":   func(w *idemddb.Work) error { return w.Settle(t.Context(), nil, nil).Err },
		"late": func(w *idemddb.Work) error {
			stop, err := w.Abandon(t.Context())
			stop()

			return err
		},
	} {
		w := beginWork(t, s, name, nil)
		work := w.Context(t.Context())
		must(t, settle(w))
		is(t, idemddb.Stage(work, items(counted(name))), idemddb.ErrFenced)
		happened(t, db, name, 0)
	}
}

func TestUnstageForgetsWhatWasStaged(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)
	w := beginWork(t, s, "k", nil)
	work := w.Context(t.Context())

	must(t, idemddb.Stage(work, idemddb.Effects{
		Items: []types.TransactWriteItem{counted("a")}, Messages: []idemddb.Message{{To: "bank", Body: "b"}},
		Refused: func(*idemddb.EffectError) error { t.Error("the Refused of what was forgotten is asked"); return nil },
	}))

	if len(w.Staged().Items) != 1 || w.HasEffect(nil) {
		t.Error("nothing is staged")
	}

	idemddb.Unstage(work)

	if len(w.Staged().Items) != 0 || !w.HasEffect(nil) {
		t.Error("something is staged")
	}

	must(t, idemddb.Stage(work, items(counted("a"), counted("b"))))
	must(t, w.Settle(t.Context(), nil, nil).Err)
	happened(t, db, "a", 1)
	happened(t, db, "b", 1)

	if recordOf(db, "k")["outbox"] != nil {
		t.Error("a message was not forgotten")
	}
}

func TestAStagedCompletionCanBeRepeated(t *testing.T) {
	t.Parallel()

	s, db := newStore(t, nil)
	c := claim(t, s, "k")
	work, stop := c.Keep(t.Context())

	defer stop()

	must(t, idemddb.Stage(work, items(counted("a"))), c.Complete(t.Context(), []byte("r")), c.Complete(t.Context(), []byte("r")))
	happened(t, db, "a", 1)
}

func TestTheErrorOfARefusedEffectSaysWhich(t *testing.T) {
	t.Parallel()

	s, _ := newStore(t, nil)
	must(t, claim(t, s, "k").CompleteWith(t.Context(), nil, items(onlyOnce("a"))))

	err := claim(t, s, "l").CompleteWith(t.Context(), nil, items(counted("b"), onlyOnce("a")))
	is(t, err, idemddb.ErrEffectRefused)

	if !strings.HasPrefix(err.Error(), "idemddb: effect 1 was refused: ConditionalCheckFailed: ") {
		t.Error(err)
	}
}

// The items fit into a transaction, and the result fits into a record, and both together are more than 4 MB.
func TestAResultThatDoesNotFitBesideTheItemsIsOmitted(t *testing.T) {
	t.Parallel()

	// In a bubble the copies of 4 MB take no time, so that no try is given up on a busy machine.
	synctest.Test(t, func(t *testing.T) {
		s, db := newWriter(t, nil)

		e := items(counted("a"))
		for i := range 10 {
			e.Items = append(e.Items, putOf(fmt.Sprint(i), strings.Repeat("x", 390<<10)))
		}

		is(t, claim(t, s, "k").CompleteWith(t.Context(), make([]byte, 300<<10), e), idemddb.ErrTooLarge)
		happened(t, db, "a", 1)
	})
}

// Two commits have 4 MB together without their records. With them, DynamoDB would refuse the transaction of both.
func TestTheRecordsOfAGroupCountForTheSizeOfItsTransaction(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		var ends []func() (*idemddb.Record, error)

		for i := range 2 {
			e := items(putOf(fmt.Sprint("rest ", i), strings.Repeat("x", 50_543)))
			for j := range 5 {
				e.Items = append(e.Items, putOf(fmt.Sprint(i, j), strings.Repeat("x", 400<<10-300)))
			}

			ends = append(ends, f.batch.Commit(f.Context(), fmt.Sprint(i), nil, nil, e))
		}

		f.batch.FlushCommits()

		for _, end := range ends {
			_, err := end()
			must(f, err)
		}

		f.want("TransactWriteItems", "TransactWriteItems")
	})
}

// Whatever was staged behind it would never be written: the transaction that was sent is the one that may be applied.
func TestNothingIsStagedBehindACompleteWithWhoseOutcomeIsUnknown(t *testing.T) {
	t.Parallel()
	bubble(t, nil, func(f *fixture) {
		w := beginWork(f, f.store, "k", nil)
		f.db.Intercept(always(idemddbtest.LostReply))
		is(f, w.Claim().CompleteWith(f.Context(), nil, items(counted("a"))), idemddb.ErrUncommitted)
		is(f, idemddb.Stage(w.Context(f.Context()), idemddb.Effects{}), idemddb.ErrFenced)
	})
}
