package operate_test

import (
	"context"
	"crypto/rand"
	"errors"
	"maps"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/internal/realengine"
)

func TestMain(m *testing.M) { os.Exit(realengine.Main(m)) }

// client is what a Store, an operator and a test need of an engine.
type client interface {
	idemddb.DynamoDB
	operate.API
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
}

// desk is an operator's: a table, a worker's store, and the records.
type desk struct {
	*operate.Records

	t      *testing.T
	client client
	table  string
	clock  *idemddbtest.Clock
	store  *idemddb.Store
	queue  *queue
}

// onEachEngine runs a test in memory and on DynamoDB Local.
func onEachEngine(t *testing.T, opts idemddb.Options, test func(d *desk)) {
	t.Helper()
	t.Parallel()

	t.Run("in memory", func(t *testing.T) {
		t.Parallel()
		test(newDesk(t, idemddbtest.New(nil), opts))
	})
	t.Run("on DynamoDB Local", func(t *testing.T) {
		t.Parallel()
		test(newDesk(t, realengine.Client(t), opts))
	})
}

func newDesk(t *testing.T, api client, opts idemddb.Options) *desk {
	t.Helper()

	d := &desk{
		t: t, client: api, table: "operate-" + rand.Text(),
		clock: idemddbtest.NewClock(time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)), queue: &queue{},
	}

	if _, err := api.CreateTable(t.Context(), idemddbtest.CreateTable(d.table, "unsent")); err != nil {
		t.Fatal(err)
	}

	if db, isInMemory := api.(*idemddbtest.DB); isInMemory {
		audited.DB(t, db, d.clock.Now, audit.Options{})
	}

	opts.Now = d.clock.Now
	opts.Senders = map[string]idemddb.Sender{"receipts": d.queue}

	d.store = d.another(opts)
	d.Records = recordsOf(t, d.store, api)

	return d
}

// another returns a Store with these options on the same table.
func (d *desk) another(opts idemddb.Options) *idemddb.Store {
	d.t.Helper()

	store, err := idemddb.New(d.client, d.table, "payments", &opts)
	if err != nil {
		d.t.Fatal(err)
	}

	return store
}

// recordsOf returns the records of a Store as a client reads and changes them.
func recordsOf(t *testing.T, store *idemddb.Store, api operate.API) *operate.Records {
	t.Helper()

	records, err := operate.New(store, api)
	if err != nil {
		t.Fatal(err)
	}

	return records
}

func (d *desk) claim(key string) *idemddb.Claim {
	d.t.Helper()

	claim, record, err := d.store.Claim(d.t.Context(), key, nil)
	if claim == nil {
		d.t.Fatalf("claim of %q: got record %v, error %v, want a claim", key, record, err)
	}

	return claim
}

func (d *desk) fail(key string) {
	d.t.Helper()

	if err := d.claim(key).Fail(d.t.Context(), errors.New("no such account")); err != nil {
		d.t.Fatal(err)
	}
}

func (d *desk) complete(key string) {
	d.t.Helper()

	if err := d.claim(key).Complete(d.t.Context(), []byte("receipt")); err != nil {
		d.t.Fatal(err)
	}
}

// announce completes a key with a message that is not sent.
func (d *desk) announce(key string) {
	d.t.Helper()

	d.queue.down = true

	effects := idemddb.Effects{Messages: []idemddb.Message{{To: "receipts", Body: "receipt of " + key}}}
	if _, err := d.store.Commit(d.t.Context(), key, nil, nil, effects); err != nil {
		d.t.Fatal(err)
	}

	d.queue.down = false
}

func (d *desk) look(key string) operate.View {
	d.t.Helper()

	v, err := d.Look(d.t.Context(), key)
	if err != nil {
		d.t.Fatal(err)
	}

	return v
}

// list returns the stored keys that a selection finds.
func (d *desk) list(s operate.Selection) (keys []string, p operate.Progress) {
	d.t.Helper()

	p, err := d.List(d.t.Context(), s, func(v operate.View) error {
		keys = append(keys, v.Key)

		return nil
	})
	if err != nil {
		d.t.Fatal(err)
	}

	slices.Sort(keys)

	return keys, p
}

// stored returns the item of a key; only the key if there is none.
func (d *desk) stored(key string) item {
	d.t.Helper()

	in, err := d.store.GetItemInput(key)
	if err != nil {
		d.t.Fatal(err)
	}

	out, err := d.client.GetItem(d.t.Context(), in)
	if err != nil {
		d.t.Fatal(err)
	}

	if out.Item == nil {
		return in.Key
	}

	return out.Item
}

func (d *desk) put(it item) {
	d.t.Helper()

	var err error

	db, _ := d.client.(*idemddbtest.DB)
	audited.ByHand(db, func() {
		_, err = d.client.PutItem(d.t.Context(), &dynamodb.PutItemInput{TableName: &d.table, Item: it})
	})

	if err != nil {
		d.t.Fatal(err)
	}
}

// set changes attributes of a record behind everybody's back; nil removes one.
func (d *desk) set(key string, attributes item) {
	d.t.Helper()

	it := d.stored(key)
	maps.Copy(it, attributes)
	maps.DeleteFunc(it, func(_ string, value types.AttributeValue) bool { return value == nil })
	d.put(it)
}

// queue is a target of messages that is down or takes everything.
type queue struct {
	down bool
	got  []string // bodies
}

func (q *queue) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	answers := make([]error, len(ms))

	for i, m := range ms {
		if q.down {
			answers[i] = errors.New("down")
		} else {
			q.got = append(q.got, m.Body)
		}
	}

	return answers
}

func s(text string) types.AttributeValue { return &types.AttributeValueMemberS{Value: text} }
func n(text string) types.AttributeValue { return &types.AttributeValueMemberN{Value: text} }
