// Package contract holds what a Store promises on a DynamoDB, as tests that run on every engine: on the one in memory, through the
// client of the SDK, and on DynamoDB Local.
package contract

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// Engine is what the contract needs of a DynamoDB: the calls of a Store, and a look at an item. *dynamodb.Client and *idemddbtest.DB fit. One
// that has BatchExecuteStatement, as both have, is used in groups; for another one the same cases hold with single requests.
type Engine interface {
	idemddb.DynamoDB
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// Run checks that a Store keeps its promise on an engine: every case on a table with a simple key and on one with a
// composite key. open makes a table of the schema and returns its engine. Nothing in it depends on the time that a request
// takes; the Stores have a clock of their own.
func Run(t *testing.T, open func(t *testing.T, schema *dynamodb.CreateTableInput) Engine) {
	t.Helper()

	simple := idemddb.Table(freshTable("simple"))
	composite := idemddb.Table(freshTable("composite"))
	composite.AttributeDefinitions = []types.AttributeDefinition{
		{AttributeName: &oddPartition, AttributeType: types.ScalarAttributeTypeS},
		{AttributeName: &oddSort, AttributeType: types.ScalarAttributeTypeS},
	}
	composite.KeySchema = []types.KeySchemaElement{
		{AttributeName: &oddPartition, KeyType: types.KeyTypeHash},
		{AttributeName: &oddSort, KeyType: types.KeyTypeRange},
	}

	for _, schema := range []struct {
		name    string
		in      *dynamodb.CreateTableInput
		options idemddb.Options
	}{
		{"simple key", simple, idemddb.Options{}},
		{"composite key", composite, idemddb.Options{PartitionKey: oddPartition, SortKey: oddSort, TTLAttribute: oddTTL}},
	} {
		t.Run(schema.name, func(t *testing.T) {
			t.Parallel()

			engine := open(t, schema.in)

			for _, c := range contract {
				t.Run(c.name, func(t *testing.T) {
					t.Parallel()
					c.check(&lab{
						T: t, engine: engine, table: *schema.in.TableName, options: schema.options,
						Clock: idemddbtest.NewClock(epoch), namespace: "contract-" + strconv.FormatInt(serial.Add(1), 10),
					})
				})
			}
		})
	}
}

// Names as a user's table may have them: every place where one is not quoted as it must be shows.
var oddPartition, oddSort, oddTTL = `the "partition", #1`, "user's sort.key", `the user's "TTL" ?`

// contract is every case of Run, by what must be true.
var contract = slices.Concat(claimCases, settleCases, wireCases, recordCases, groupCases)

type contractCase struct {
	name  string
	check func(*lab)
}

var (
	epoch  = time.Date(2030, 1, 1, 0, 0, 0, int(500*time.Millisecond), time.UTC)
	serial atomic.Int64
)

func freshTable(kind string) string {
	return fmt.Sprintf("contract-%s-%d-%d", kind, time.Now().UnixNano(), serial.Add(1))
}

// Numbers of the contract's Stores.
const (
	lease     = 10 * time.Second
	retention = time.Hour
	skew      = time.Second
)

// lab is one case at work: a namespace of its own, a clock, and what it takes to look.
type lab struct {
	*testing.T
	*idemddbtest.Clock

	engine    Engine
	table     string
	namespace string
	options   idemddb.Options // the names of the table
}

// store returns a Store of the lab's namespace; change may set options.
func (l *lab) store(change ...func(*idemddb.Options)) *idemddb.Store {
	l.Helper()

	return l.storeOn(l.engine, change...)
}

func (l *lab) storeOn(api idemddb.DynamoDB, change ...func(*idemddb.Options)) *idemddb.Store {
	l.Helper()

	o := l.options
	o.Lease, o.Retention, o.ClockSkew, o.Now = lease, retention, skew, l.Now

	for _, f := range change {
		f(&o)
	}

	s, err := idemddb.New(api, l.table, l.namespace, &o)
	l.must(err)

	return s
}

func (l *lab) must(err error) {
	l.Helper()

	if err != nil {
		l.Fatal(err)
	}
}

// claim demands a claim.
func (l *lab) claim(s *idemddb.Store, key string) *idemddb.Claim {
	l.Helper()

	c, rec, err := s.Claim(l.Context(), key, nil)
	if c == nil {
		l.Fatalf("claim: got record %+v, error %v, want a claim", rec, err)
	}

	return c
}

// replay demands a record.
func (l *lab) replay(s *idemddb.Store, key string) *idemddb.Record {
	l.Helper()

	c, rec, err := s.Claim(l.Context(), key, nil)
	if rec == nil {
		l.Fatalf("claim: got claim %v, error %v, want a record", c, err)
	}

	return rec
}

// refuse demands an error and an untouched item.
func (l *lab) refuse(s *idemddb.Store, key string, opts *idemddb.ClaimOptions, want error) error {
	l.Helper()

	before := l.item(key)
	c, rec, err := s.Claim(l.Context(), key, opts)

	l.is(err, want)

	if c != nil || rec != nil {
		l.Errorf("claim: got claim %v, record %v beside the error", c, rec)
	}

	l.same(key, before)

	return err
}

func (l *lab) is(err, want error) {
	l.Helper()

	if !errors.Is(err, want) {
		l.Fatalf("got error %v, want %v", err, want)
	}
}

// equal compares two values.
func (l *lab) equal(what string, got, want any) {
	l.Helper()

	if !reflect.DeepEqual(got, want) {
		l.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func (l *lab) key(key string) map[string]types.AttributeValue {
	pk := l.options.PartitionKey
	if pk == "" {
		pk = "pk"
	}

	k := map[string]types.AttributeValue{pk: &types.AttributeValueMemberS{Value: l.namespace + "#" + key}}
	if l.options.SortKey != "" {
		k[l.options.SortKey] = &types.AttributeValueMemberS{Value: "idemddb"}
	}

	return k
}

// ttl is the name of the TTL attribute.
func (l *lab) ttl() string {
	if l.options.TTLAttribute != "" {
		return l.options.TTLAttribute
	}

	return "exp"
}

// item returns the stored record of a key, nil if there is none.
func (l *lab) item(key string) map[string]types.AttributeValue {
	l.Helper()

	out, err := l.engine.GetItem(context.WithoutCancel(l.Context()), &dynamodb.GetItemInput{
		TableName: &l.table, Key: l.key(key), ConsistentRead: new(true),
	})
	l.must(err)

	return out.Item
}

// same demands that a record is as it was.
func (l *lab) same(key string, before map[string]types.AttributeValue) {
	l.Helper()

	if after := l.item(key); !reflect.DeepEqual(after, before) {
		l.Errorf("the record changed:\n got %s\nwant %s", show(after), show(before))
	}
}

// edit changes attributes of a stored record; nil removes one.
func (l *lab) edit(key string, change map[string]types.AttributeValue) {
	l.Helper()

	it := l.item(key)
	for name, value := range change {
		if name == "exp" {
			name = l.ttl()
		}

		if it[name] = value; value == nil {
			delete(it, name)
		}
	}

	_, err := l.engine.PutItem(l.Context(), &dynamodb.PutItemInput{TableName: &l.table, Item: it})
	l.must(err)
}

// drop deletes a record, as Time to Live or a person does. Every engine has TransactWriteItems.
func (l *lab) drop(key string) {
	l.Helper()

	_, err := l.engine.TransactWriteItems(l.Context(), &dynamodb.TransactWriteItemsInput{
		TransactItems: []types.TransactWriteItem{{Delete: &types.Delete{TableName: &l.table, Key: l.key(key)}}},
	})
	l.must(err)
}

// text reads an attribute of the key "k".
func (l *lab) text(name string) string {
	l.Helper()

	s, _ := l.item("k")[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}

	return s.Value
}

// number reads an attribute, "exp" under the lab's name.
func (l *lab) number(key, name string) int64 {
	l.Helper()

	if name == "exp" {
		name = l.ttl()
	}

	n, ok := l.item(key)[name].(*types.AttributeValueMemberN)
	if !ok {
		l.Fatalf("attribute %s is %v, want a number", name, l.item(key)[name])
	}

	v, err := strconv.ParseInt(n.Value, 10, 64)
	l.must(err)

	return v
}

func show(it map[string]types.AttributeValue) string {
	var text strings.Builder

	for _, name := range slices.Sorted(maps.Keys(it)) {
		switch v := it[name].(type) {
		case *types.AttributeValueMemberS:
			fmt.Fprintf(&text, " %s:%q", name, v.Value)
		case *types.AttributeValueMemberN:
			fmt.Fprintf(&text, " %s:%s", name, v.Value)
		default:
			fmt.Fprintf(&text, " %s:%T", name, v)
		}
	}

	return "{" + text.String() + " }"
}

func str(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func num(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// wire is an engine seen through a hook: meet is called instead of each request, do sends it.
type wire struct {
	Engine

	requests atomic.Int64
	meet     func(n int64, do func() error) error // called for the nth request, 1 first; nil: nothing happens on the way
	strip    bool                                 // refusals lose their item
}

var errReset = errors.New("read tcp: connection reset by peer")

// UpdateItem passes the hook.
func (w *wire) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return pass(ctx, w, func(ctx context.Context) (*dynamodb.UpdateItemOutput, error) {
		return w.Engine.UpdateItem(ctx, in, opts...)
	})
}

// PutItem passes the hook.
func (w *wire) PutItem(
	ctx context.Context, in *dynamodb.PutItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.PutItemOutput, error) {
	return pass(ctx, w, func(ctx context.Context) (*dynamodb.PutItemOutput, error) {
		return w.Engine.PutItem(ctx, in, opts...)
	})
}

func pass[T any](ctx context.Context, w *wire, call func(context.Context) (*T, error)) (out *T, err error) {
	n := w.requests.Add(1)
	do := func() error {
		out, err = call(context.WithoutCancel(ctx)) // late ones arrive, too

		return err
	}

	meet := w.meet
	if meet == nil {
		meet = func(_ int64, do func() error) error { return do() }
	}

	failed := meet(n, do)

	if refusal, ok := errors.AsType[*types.ConditionalCheckFailedException](failed); ok && w.strip {
		return nil, &types.ConditionalCheckFailedException{Message: refusal.Message}
	}

	if failed != nil {
		return nil, failed
	}

	return out, nil
}

// The ways in which a request meets its end.
func loseRequest(func() error) error { return errReset }

func loseReply(do func() error) error {
	_ = do() // applied, and nobody hears of it

	return errReset
}

// on lets the nth request meet an end, and the others pass.
func on(n int64, end func(do func() error) error) func(int64, func() error) error {
	return func(at int64, do func() error) error {
		if at == n {
			return end(do)
		}

		return do()
	}
}
