package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The attributes of a record, by the names of the page.
const (
	attrPartition = "pk"
	attrSort      = "sk" // the page has no name for it; a table without a sort key has none
	attrVersion   = "v"
	attrState     = "st"
	attrOwner     = "own"
	attrFence     = "fence"
	attrLease     = "lease"
	attrPrev      = "prev"
	attrTook      = "took"
	attrTookAt    = "tookat"
	attrExp       = "exp"
	attrAttempts  = "att"
	attrBorn      = "born"
	attrDone      = "done"
	attrPrint     = "fp"
	attrResult    = "res"
	attrErr       = "err"
	attrTrace     = "trace"
	attrNT        = "nt"
	attrPtrace    = "ptrace"
	attrTx        = "tx"
	attrOutbox    = "outbox"
	attrEnds      = "ends"
	attrDue       = "due"
	attrDueNS     = "due_ns"
	attrOp        = "op"
	attrParked    = "parked"
	attrPart      = "part" // of a part of a result, which is no record
)

var attributes = []string{
	attrPartition, attrVersion, attrState, attrOwner, attrFence, attrLease, attrPrev, attrTook, attrTookAt, attrExp, attrAttempts, attrBorn,
	attrDone, attrPrint, attrResult, attrErr, attrTrace, attrNT, attrPtrace, attrTx, attrOutbox, attrEnds, attrDue, attrDueNS, attrOp,
	attrParked, attrPart,
}

// The states of a record.
const (
	inProgress = "INPROGRESS"
	completed  = "COMPLETED"
	failed     = "FAILED"
)

const far = 253402300799 // the end of the year 9999, in epoch seconds: the exp of a record with messages

// other begins the name of an attribute that is not the library's.
const other = "other attribute "

// item is an item with the names of the page. It is nil where there is no item.
type item map[string]value

// value is an attribute. Its zero value is an absent one.
type value struct {
	kind   string // S, N, B and so on, as DynamoDB writes types; empty if it is absent
	text   string // the type and the content: equal for equal values
	str    string // of a string
	number int64  // of a number
	isInt  bool   // the number is whole and has a place in an int64
	raw    types.AttributeValue
}

func (s *settings) read(attributes map[string]types.AttributeValue) item {
	if len(attributes) == 0 {
		return nil
	}

	it := make(item, len(attributes))

	for name, raw := range attributes {
		page, ours := s.pages[name]
		if !ours {
			page = other + name
		}

		it[page] = valueOf(raw)
	}

	return it
}

func (it item) has(name string) bool          { return it[name].kind != "" }
func (it item) number(name string) int64      { return it[name].number }
func (it item) str(name string) string        { return it[name].str }
func (it item) is(state string) bool          { return it.str(attrState) == state }
func (it item) hasMessages() bool             { return it.has(attrOutbox) || it.has(attrParked) }
func (v value) equal(that value) bool         { return v.text == that.text }
func (it item) same(that item, n string) bool { return it[n].equal(that[n]) }

// digest stands for an item where it is only compared. It is much smaller, and a Checker keeps one for each key.
type digest [sha256.Size]byte

// digest returns the zero digest where there is no item.
func (it item) digest() digest {
	if it == nil {
		return digest{}
	}

	text := make([]byte, 0, 1<<10) // room for most records

	for _, name := range slices.Sorted(maps.Keys(it)) {
		for _, part := range []string{name, it[name].text} {
			text = append(append(strconv.AppendInt(text, int64(len(part)), 10), ' '), part...)
		}
	}

	return sha256.Sum256(text)
}

// end is the end of the record as it would be without messages, in epoch seconds.
func (it item) end() int64 {
	if it.has(attrEnds) {
		return it.number(attrEnds)
	}

	return it.number(attrExp)
}

// changed returns the names of the attributes that differ, in order.
func changed(before, after item) []string {
	var names []string

	for name := range before {
		if !before.same(after, name) {
			names = append(names, name)
		}
	}

	for name := range after {
		if !before.has(name) {
			names = append(names, name)
		}
	}

	slices.Sort(names)

	return names
}

func valueOf(raw types.AttributeValue) value {
	v := value{raw: raw}
	v.kind, v.text = encode(raw)

	switch m := raw.(type) {
	case *types.AttributeValueMemberS:
		if m != nil {
			v.str = m.Value
		}
	case *types.AttributeValueMemberN:
		if m != nil {
			n, err := strconv.ParseInt(m.Value, 10, 64)
			v.number, v.isInt = n, err == nil
		}
	}

	return v
}

// encode returns the type of a value, and a text that is equal for equal values. A value that the SDK would not send has the type
// "?".
func encode(raw types.AttributeValue) (kind, text string) {
	switch m := raw.(type) {
	case *types.AttributeValueMemberS:
		if m != nil {
			return "S", "S" + strconv.Quote(m.Value)
		}
	case *types.AttributeValueMemberN:
		if m != nil {
			return "N", "N" + m.Value
		}
	case *types.AttributeValueMemberB:
		if m != nil {
			return "B", "B" + base64.StdEncoding.EncodeToString(m.Value)
		}
	case *types.AttributeValueMemberBOOL:
		if m != nil {
			return "BOOL", "BOOL" + strconv.FormatBool(m.Value)
		}
	case *types.AttributeValueMemberNULL:
		if m != nil {
			return "NULL", "NULL"
		}
	case *types.AttributeValueMemberM:
		if m != nil {
			return "M", "M{" + encodeMap(m.Value) + "}"
		}
	default:
		return encodeSeveral(raw)
	}

	return "?", "?"
}

func encodeSeveral(raw types.AttributeValue) (kind, text string) {
	var elements []string

	switch m := raw.(type) {
	case *types.AttributeValueMemberL:
		if m == nil {
			return "?", "?"
		}

		for _, element := range m.Value {
			_, text := encode(element)
			elements = append(elements, text)
		}

		return "L", "L[" + strings.Join(elements, ",") + "]"
	case *types.AttributeValueMemberSS:
		kind, elements = "SS", quoted(m != nil, func() []string { return m.Value })
	case *types.AttributeValueMemberNS:
		kind, elements = "NS", quoted(m != nil, func() []string { return m.Value })
	case *types.AttributeValueMemberBS:
		kind, elements = "BS", quoted(m != nil, func() []string { return texts(m.Value) })
	default:
		return "?", "?"
	}

	slices.Sort(elements) // a set has no order

	return kind, kind + "[" + strings.Join(elements, ",") + "]"
}

func encodeMap(m map[string]types.AttributeValue) string {
	members := make([]string, 0, len(m))

	for _, name := range slices.Sorted(maps.Keys(m)) {
		_, text := encode(m[name])
		members = append(members, strconv.Quote(name)+":"+text)
	}

	return strings.Join(members, ",")
}

func quoted(isThere bool, elements func() []string) []string {
	var all []string

	if isThere {
		for _, element := range elements() {
			all = append(all, strconv.Quote(element))
		}
	}

	return all
}

func texts(all [][]byte) []string {
	var s []string
	for _, b := range all {
		s = append(s, string(b))
	}

	return s
}

// shown returns a value as it may stand in an error or a log: a number and the library's own words as they are, and of all
// others, which can have data of customers, only the type and the size.
func (v value) shown(name string) string {
	switch v.kind {
	case "":
		return "absent"
	case "N":
		if m, ok := v.raw.(*types.AttributeValueMemberN); ok {
			return cut(m.Value)
		}
	case "S":
		if plain(name) {
			return strconv.Quote(cut(v.str))
		}

		return fmt.Sprintf("a string of %d bytes", len(v.str))
	case "B":
		if m, ok := v.raw.(*types.AttributeValueMemberB); ok {
			return fmt.Sprintf("%d bytes", len(m.Value))
		}
	}

	return "a value of type " + v.kind
}

func plain(name string) bool {
	switch name {
	case attrState, attrOwner, attrPrint, attrTx, attrDueNS, attrTrace, attrPtrace:
		return true
	default:
		return false
	}
}

func cut(s string) string {
	const most = 100
	if len(s) > most {
		return s[:most] + "…"
	}

	return s
}
