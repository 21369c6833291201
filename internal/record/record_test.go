package record_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/internal/record"
)

type item = map[string]types.AttributeValue

func text(s string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: s} }
func number(s string) types.AttributeValue { return &types.AttributeValueMemberN{Value: s} }

func completed() item {
	return item{
		"v": number("1"), "st": text("COMPLETED"), "own": text("request-1/token"), "fence": number("7"), "tx": text("call"),
		"exp": number("1900000000"), "outbox": &types.AttributeValueMemberL{Value: []types.AttributeValue{
			&types.AttributeValueMemberM{Value: item{"i": number("3"), "to": text("receipts"), "body": text("paid")}},
		}},
	}
}

func TestReadReturnsTheRecord(t *testing.T) {
	t.Parallel()

	want := &record.Stored{
		State: record.Completed, Token: new("request-1/token"), Fence: new(int64(7)), Tx: "call", Expires: 1_900_000_000,
		Outbox: []record.Message{{Index: 3, Content: record.Content{To: "receipts", Body: "paid"}}},
	}

	got, err := record.Read(completed(), "exp")
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Fatalf("%v (-want +got):\n%s", err, diff)
	}

	if got.Holder() != "request-1" || got.Outbox[0].ID(got.Tx) != "call-3" {
		t.Errorf("got holder %q and message %q", got.Holder(), got.Outbox[0].ID(got.Tx))
	}
}

// An operator must see what stands in a record that cannot be read.
func TestInspectSaysWhyARecordIsUnreadableAndReturnsTheRest(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		edit item
		want string
	}{
		"another version, whatever else is wrong": {item{"v": number("2"), "st": text("PAUSED"), "exp": nil}, "format version 2"},
		"no version":                     {item{"v": nil}, "no version (attribute v)"},
		"a version that is no number":    {item{"v": text("1")}, "no version (attribute v)"},
		"an unknown state":               {item{"st": text("PAUSED")}, "attribute st"},
		"no owner token":                 {item{"own": nil}, "attribute own or fence is missing"},
		"no fencing token":               {item{"fence": nil}, "attribute own or fence is missing"},
		"no end":                         {item{"exp": nil}, "attribute exp is not a number"},
		"an end that is no whole number": {item{"exp": number("1.5")}, "attribute exp is not a number"},
		"a result that is a text":        {item{"res": text("paid")}, "attribute res"},
		"a result without a name":        {item{"res": &types.AttributeValueMemberM{Value: item{"len": number("3")}}}, "attribute res"},
	} {
		stored := completed()
		maps.Copy(stored, c.edit)
		maps.DeleteFunc(stored, func(_ string, value types.AttributeValue) bool { return value == nil })

		if _, err := record.Read(stored, "exp"); !errors.Is(err, record.ErrCorrupt) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v of Read, want ErrCorrupt with %q in it", name, err, c.want)
		}

		rec, err := record.Inspect(stored, "exp")
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: got error %v, want %q in it", name, err, c.want)
		}

		if rec.Tx != "call" || len(rec.Outbox) != 1 {
			t.Errorf("%s: got %+v, want the call and its message", name, rec)
		}
	}
}

// DynamoDB's attributes come in no order, so Inspect is asked often.
func TestInspectLeavesOutWhatIsOfAnotherTypeAndReadsAllElse(t *testing.T) {
	t.Parallel()

	bad := item{
		"att": text("7"),
		"outbox": &types.AttributeValueMemberL{Value: []types.AttributeValue{
			&types.AttributeValueMemberM{Value: item{"i": number("3"), "to": text("receipts"), "body": &types.AttributeValueMemberBOOL{}}},
		}},
	}

	for name, first := range map[string]string{"att": "attribute att: ", "outbox": "attribute outbox: ", "both": "attribute att: "} {
		stored, want := completed(), completed()

		for attribute, value := range bad {
			if name == attribute || name == "both" {
				stored[attribute] = value
				delete(want, attribute)
			}
		}

		all, err := record.Read(want, "exp")
		if err != nil {
			t.Fatal(err)
		}

		for range 50 {
			rec, err := record.Inspect(stored, "exp")
			if err == nil || !strings.HasPrefix(err.Error(), first) {
				t.Fatalf("%s: got error %v, want one that begins with %q", name, err, first)
			}

			if diff := cmp.Diff(all, rec); diff != "" {
				t.Fatalf("%s: all else that was read (-want +got)\n%s", name, diff)
			}
		}

		if _, err := record.Read(stored, "exp"); !errors.Is(err, record.ErrCorrupt) {
			t.Errorf("%s: got error %v of Read, want ErrCorrupt", name, err)
		}
	}
}

// These attributes are shown to people, and no claim depends on them.
func TestAnAttributeForPeopleOfAnotherTypeCountsAsNone(t *testing.T) {
	t.Parallel()

	stored := completed()
	stored["trace"], stored["ptrace"], stored["op"] = number("1"), text("two words"), number("2")

	rec, err := record.Read(stored, "exp")
	if err != nil || rec.Trace != "" || rec.PreviousTrace != "" || rec.Operator != "" {
		t.Errorf("got %q, %q, %q and error %v", rec.Trace, rec.PreviousTrace, rec.Operator, err)
	}
}

// The tags of Stored repeat the names, because a tag cannot name a constant.
func TestStoredHasNoAttributeWithoutAName(t *testing.T) {
	t.Parallel()

	for field := range reflect.TypeFor[record.Stored]().Fields() {
		if name := field.Tag.Get("dynamodbav"); name != "-" && !slices.Contains(record.Names, name) {
			t.Errorf("%s: %q is not in Names", field.Name, name)
		}
	}
}

// What Names lacks would be free for the TTL attribute, and not be counted in the size of a record.
func TestNamesHasEachAttribute(t *testing.T) {
	t.Parallel()

	file, err := parser.ParseFile(token.NewFileSet(), "attribute.go", nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}

	var want []string

	for _, spec := range file.Decls[0].(*ast.GenDecl).Specs {
		for _, value := range spec.(*ast.ValueSpec).Values {
			want = append(want, strings.Trim(value.(*ast.BasicLit).Value, `"`))
		}
	}

	if diff := cmp.Diff(want, record.Names); diff != "" || len(want) < 20 {
		t.Errorf("the constants of attribute.go, and Names (-want +got):\n%s", diff)
	}
}

func TestACauseIsBounded(t *testing.T) {
	t.Parallel()

	long := strings.Repeat("ä", record.MaxCause)

	for name, c := range map[string]struct{ reason, last, want string }{
		"alone":              {"refused", "", "refused"},
		"behind another one": {"given up", "refused", "given up; last failure: refused"},
		"as long as it may":  {long[:record.MaxCause], "", long[:record.MaxCause]},
		"cut in a character": {long, "", long[:record.MaxCause-4] + "…"},
	} {
		if got := record.Cause(c.reason, c.last); got != c.want || !utf8.ValidString(got) {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
}

func TestARecordIsInOneOfTheShards(t *testing.T) {
	t.Parallel()

	for _, n := range []int{0, 16, 32, 64, 128, 256} {
		seen := map[string]bool{}
		for i := range 10_000 {
			seen[record.ShardOf("app", "app#"+strconv.Itoa(i), n)] = true
		}

		if want := max(n, 16); len(seen) != want || len(record.Shards(n)) != want {
			t.Errorf("the records are in %d partitions of %d, want %d", len(seen), len(record.Shards(n)), want)
		}

		for _, name := range record.Shards(n) {
			delete(seen, "app#"+name)
		}

		if len(seen) > 0 {
			t.Errorf("these partitions are never queried: %v", seen)
		}
	}
}

// Records that were written with 16 partitions are where they were, and those of any larger number are among the names of the
// largest.
func TestTheNamesOfShards(t *testing.T) {
	t.Parallel()

	if got := strings.Join(record.Shards(16), ""); got != "0123456789abcdef" {
		t.Errorf("got %s", got)
	}

	if got := record.ShardOf("app", "app#k", 16); got != "app#3" {
		t.Errorf("got %s", got)
	}

	all := record.Shards(256)
	if all[0] != "00" || all[255] != "ff" || !slices.Equal(record.Shards(64), all[:64]) {
		t.Errorf("got %v", all)
	}
}

func TestALeaseThatIsMissingEndsWithTheRecord(t *testing.T) {
	t.Parallel()

	lease := int64(1_700_000_000_123)

	for _, c := range []struct {
		stored record.Stored
		want   time.Time
	}{
		{record.Stored{Expires: 1_800_000_000}, time.Unix(1_800_000_000, 0)},
		{record.Stored{Expires: 1_800_000_000, Lease: &lease}, time.UnixMilli(lease)},
	} {
		if got := c.stored.Until(); !got.Equal(c.want) {
			t.Errorf("%+v: until %v, want %v", c.stored, got, c.want)
		}
	}
}

func TestATraceIsKeptIfItIsShortAndPrintable(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]string{
		"!~": "!~", strings.Repeat("a", record.MaxTrace): strings.Repeat("a", record.MaxTrace), strings.Repeat("a", record.MaxTrace+1): "",
		"a b": "", "a\x7f": "", "é": "",
	} {
		if got := record.KeptTrace(text); got != want {
			t.Errorf("%q is kept as %q, want %q", text, got, want)
		}
	}
}

func TestAKeyIsStoredAsItsDigestFrom1025Bytes(t *testing.T) {
	t.Parallel()

	short := strings.Repeat("k", 1024)
	long := short + "k"

	for key, want := range map[string]string{short: "n#" + short, long: "n#" + record.DigestPrefix + record.Digest(long)} {
		if got, err := record.Partition("n", key, false); err != nil || got != want {
			t.Errorf("a key of %d bytes is stored as %.40q with error %v, want %.40q", len(key), got, err, want)
		}
	}
}

func TestAKeyAndItsDigestHaveTheSameHash(t *testing.T) {
	t.Parallel()

	hash := record.KeyHash("p-1")

	for stored, want := range map[string]string{
		"p-1": hash, record.DigestPrefix + record.Digest("p-1"): hash, hash: hash, record.DigestPrefix + "short": record.KeyHash(record.DigestPrefix + "short"),
	} {
		if got := record.StoredKeyHash(stored); got != want {
			t.Errorf("%q has the hash %q, want %q", stored, got, want)
		}
	}
}
