package idemddbtest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"reflect"
	"slices"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	"pgregory.net/rapid"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/internal/realengine"
)

// TestDifferential sends random sequences of random requests to this package and to a real engine. Both must give the same
// answers and hold the same items afterwards. Messages are not compared.
func TestDifferential(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("a hundred random sequences take seconds; the seeds of FuzzDifferential are the same in short")
	}

	p := newPair(t)
	rapid.Check(t, p.sequence)
}

// FuzzDifferential is the same with sequences that the native fuzzer chooses.
func FuzzDifferential(f *testing.F) {
	p := newPair(f)

	for seed := range byte(16) {
		stream := make([]byte, 16<<10) // a sequence that draws more is skipped
		_, _ = mathrand.NewChaCha8([32]byte{seed}).Read(stream)
		f.Add(stream)
	}

	f.Fuzz(rapid.MakeFuzz(p.sequence))
}

type attributes = map[string]types.AttributeValue

// pair is two engines with the same tables.
type pair struct {
	ours, theirs *dynamodb.Client
	db           *idemddbtest.DB
	simple       string // table with partition key pk S
	composite    string // table with pk S and sk N
	mu           sync.Mutex
	runs         int
}

func newPair(t testing.TB) *pair {
	t.Helper()

	db := idemddbtest.New(nil)
	suffix := rand.Text()[:8]

	p := &pair{ours: db.Client(), theirs: realengine.Client(t), db: db, simple: "simple" + suffix, composite: "composite" + suffix}
	for _, c := range []*dynamodb.Client{p.ours, p.theirs} {
		createTable(t, c, p.simple, "pk", "S")
		createTable(t, c, p.composite, "pk", "S", "sk", "N")
	}

	return p
}

func createTable(t interface {
	Helper()
	Fatal(args ...any)
}, c interface {
	CreateTable(context.Context, *dynamodb.CreateTableInput, ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error)
}, name string, key ...string) {
	t.Helper()

	in := &dynamodb.CreateTableInput{TableName: &name, BillingMode: types.BillingModePayPerRequest}
	for i := 0; i < len(key); i += 2 {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: &key[i], AttributeType: types.ScalarAttributeType(key[i+1])})
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{
			AttributeName: &key[i], KeyType: []types.KeyType{types.KeyTypeHash, types.KeyTypeRange}[i/2],
		})
	}

	if _, err := c.CreateTable(context.Background(), in); err != nil {
		t.Fatal(err)
	}
}

// sequence sends some requests for a few items of its own.
func (p *pair) sequence(t *rapid.T) {
	p.mu.Lock()
	p.runs++
	g := &generator{T: t, pair: p, prefix: fmt.Sprintf("%d-", p.runs)}
	p.mu.Unlock()
	g.seed()

	for range rapid.IntRange(1, 6).Draw(t, "requests") {
		in := g.request()
		t.Logf("sent: %s", show(in))

		if batch, ok := in.(*dynamodb.BatchExecuteStatementInput); ok {
			p.compareSingles(t, g, batch)

			continue
		}

		p.compare(t, in)
	}

	for _, k := range g.keys() {
		p.compare(t, &dynamodb.GetItemInput{TableName: &k.table, Key: k.key})
	}
}

func (p *pair) compare(t interface {
	Helper()
	Fatalf(string, ...any)
}, in any) {
	t.Helper()

	ours, theirs := ask(p.ours, in), ask(p.theirs, in)
	if _, ok := in.(*dynamodb.TransactWriteItemsInput); ok && ours.invalid() && theirs.invalid() {
		return // DynamoDB Local takes the parts one by one, and has a reason for the first fault or none: the service documents more
	}

	if !reflect.DeepEqual(ours.quiet(), theirs.quiet()) {
		t.Fatalf("%s\nours:   %s\ntheirs: %s", show(in), show(ours), show(theirs))
	}
}

// compareSingles also sends, for each statement, the single request with the same meaning to a copy of the DB. Both must have the
// same effect.
func (p *pair) compareSingles(t *rapid.T, g *generator, in *dynamodb.BatchExecuteStatementInput) {
	other := idemddbtest.New(nil)
	createTable(t, other, p.simple, "pk", "S")
	createTable(t, other, p.composite, "pk", "S", "sk", "N")

	for _, k := range g.keys() {
		if it := p.db.Item(k.table, k.key); it != nil {
			if _, err := other.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &k.table, Item: it}); err != nil {
				t.Fatal(err)
			}
		}
	}

	p.db.ResetRequests()
	p.compare(t, in)

	log := p.db.Requests()[0]
	if log.Err != nil || slices.Contains(g.singles, nil) {
		return
	}

	other.ResetRequests()

	for i, single := range g.singles {
		ask(other.Client(), single)

		want, got := other.Requests()[i], log.Items[i]
		if fmt.Sprintf("%T", got.Err) != fmt.Sprintf("%T", want.Err) && !isType[*types.DuplicateItemException](got.Err) ||
			got.Refused != want.Refused || got.WriteUnits != want.WriteUnits {
			t.Fatalf("%s\n%s\nstatement: %s\nsingle:    %s", show(in.Statements[i]), show(single), show(got), show(want))
		}
	}

	for _, k := range g.keys() {
		if got, want := p.db.Item(k.table, k.key), other.Item(k.table, k.key); !reflect.DeepEqual(got, want) {
			t.Fatalf("%s\nstatements: %s\nsingles:    %s", show(in), show(got), show(want))
		}
	}
}

// answer is what is compared of an answer.
type answer struct {
	Code    string // of the error
	Message string // shown, not compared
	Item    attributes
	Reasons []reason
	Units   []float64

	Responses []response // of statements
}

type response struct {
	Table   string
	Code    string
	Message string // shown, not compared
	Item    attributes
	Refuser attributes // that the error carries
}

type reason struct {
	Code string
	Item attributes
}

func (a answer) quiet() answer {
	a.Message = ""

	a.Responses = slices.Clone(a.Responses)
	for i := range a.Responses {
		a.Responses[i].Message = ""
	}

	return a
}

func (a answer) invalid() bool {
	return a.Code == "ValidationException" || slices.ContainsFunc(a.Reasons, func(r reason) bool { return r.Code == "ValidationError" })
}

func ask(c *dynamodb.Client, in any) (a answer) {
	ctx := context.Background()

	var err error

	switch in := in.(type) {
	case *dynamodb.UpdateItemInput:
		out, e := c.UpdateItem(ctx, in)
		if err = e; err == nil {
			a.Item, a.Units = normal(out.Attributes), capacityOf(out.ConsumedCapacity)
		}
	case *dynamodb.PutItemInput:
		out, e := c.PutItem(ctx, in)
		if err = e; err == nil {
			a.Item, a.Units = normal(out.Attributes), capacityOf(out.ConsumedCapacity)
		}
	case *dynamodb.DeleteItemInput:
		out, e := c.DeleteItem(ctx, in)
		if err = e; err == nil {
			a.Item, a.Units = normal(out.Attributes), capacityOf(out.ConsumedCapacity)
		}
	case *dynamodb.GetItemInput:
		out, e := c.GetItem(ctx, in)
		if err = e; err == nil {
			a.Item = normal(out.Item)
		}
	case *dynamodb.QueryInput:
		_, err = c.Query(ctx, in)
	case *dynamodb.ScanInput:
		_, err = c.Scan(ctx, in)
	case *dynamodb.BatchExecuteStatementInput:
		out, e := c.BatchExecuteStatement(ctx, in)
		if err = e; err == nil {
			a.Responses = responsesOf(out)
		}
	case *dynamodb.TransactWriteItemsInput:
		_, err = c.TransactWriteItems(ctx, in) // the units are not compared, because DynamoDB Local does not double those of a delete
	}

	a.refused(err)

	return a
}

func responsesOf(out *dynamodb.BatchExecuteStatementOutput) []response {
	list := make([]response, len(out.Responses))
	for i, r := range out.Responses {
		list[i].Item = normal(r.Item)
		if r.TableName != nil {
			list[i].Table = *r.TableName
		}

		if r.Error != nil {
			list[i].Code, list[i].Message, list[i].Refuser = string(r.Error.Code), *r.Error.Message, normal(r.Error.Item)
		}
	}

	return list
}

func (a *answer) refused(err error) {
	if err == nil {
		return
	}

	a.Code = "unknown: " + err.Error()
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		a.Code, a.Message = api.ErrorCode(), api.ErrorMessage()
	}

	if e, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		a.Item = normal(e.Item)
	}

	if e, ok := errors.AsType[*types.TransactionCanceledException](err); ok {
		for _, r := range e.CancellationReasons {
			a.Reasons = append(a.Reasons, reason{*r.Code, normal(r.Item)})
		}
	}
}

// normal removes what may differ between engines: how a number is written, and the order of a set. It keeps the difference
// between no item and an empty one.
func normal(it attributes) attributes {
	if it == nil {
		return nil
	}

	out, err := attribute.Adopt(it)
	if err != nil {
		panic(err)
	}

	return out
}

func capacityOf(c *types.ConsumedCapacity) []float64 {
	if c == nil {
		return nil
	}

	return []float64{*c.CapacityUnits}
}
