package audit

import (
	"maps"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// messages are those of a record, by their numbers: what they say, without the cause for which they are parked.
type messages map[int64]string

const (
	memberNumber = "i"
	memberBody   = "body"
	memberCause  = "cause"
)

// messageMembers says which types the members of a message may have. The page names the members; the types are those that its
// words imply.
var messageMembers = map[string]string{
	memberNumber: "N", "to": "S", memberBody: "S", "group": "S", "attrs": "M", "seq": "N", memberCause: "S",
}

// ofSealed are the members that a sealed message has beside its body.
var ofSealed = map[string]bool{memberNumber: true, "to": true, memberCause: true}

func isOutbox(v value) bool { return isMessages(v, false) }
func isParked(v value) bool { return isMessages(v, true) }

func isMessages(v value, areParked bool) bool {
	l, isList := v.raw.(*types.AttributeValueMemberL)
	if !isList || v.kind != "L" || len(l.Value) == 0 {
		return false
	}

	for _, element := range l.Value {
		m, isMap := element.(*types.AttributeValueMemberM)
		if !isMap || m == nil || !isMessage(m.Value, areParked) {
			return false
		}
	}

	return len(read(v)) == len(l.Value) // no number twice
}

func isMessage(m map[string]types.AttributeValue, isParked bool) bool {
	isSealed := valueOf(m[memberBody]).kind == "B"

	for name, raw := range m {
		if isSealed && name == memberBody {
			continue
		}

		if v := valueOf(raw); isSealed && !ofSealed[name] || messageMembers[name] != v.kind || v.kind == "N" && !v.isInt {
			return false
		}
	}

	_, hasCause := m[memberCause]

	return hasCause == isParked && m["to"] != nil && m[memberBody] != nil && atLeast(0)(valueOf(m[memberNumber]))
}

// read returns the messages of a list. What is no message is left out.
func read(v value) messages {
	all := messages{}

	l, isList := v.raw.(*types.AttributeValueMemberL)
	if !isList || l == nil {
		return all
	}

	for _, element := range l.Value {
		if m, isMap := element.(*types.AttributeValueMemberM); isMap && m != nil {
			content := maps.Clone(m.Value)
			delete(content, memberCause)

			all[valueOf(m.Value[memberNumber]).number] = encodeMap(content)
		}
	}

	return all
}

// messages returns all messages of the record, sent from outbox or parked.
func (it item) messages() messages {
	all := read(it[attrOutbox])
	maps.Copy(all, read(it[attrParked]))

	return all
}

// isDueNS reports whether due_ns is the namespace of the partition key, '#', and one or two of 0 to f. The page does not say
// which characters of the digest count, so any is allowed here; a record keeps the one that it has.
func (it item) isDueNS() bool {
	namespace, _, _ := strings.Cut(it.str(attrPartition), "#")
	shard, isOurs := strings.CutPrefix(it.str(attrDueNS), namespace+"#")

	const digits = "0123456789abcdef"

	return isOurs && (len(shard) == 1 || len(shard) == 2) && strings.Trim(shard, digits) == ""
}
