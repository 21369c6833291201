package audit

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// A result above Options.InlineResult is kept beside its record, in parts: items of their own, which the page describes under "A
// large result".

const (
	longestPart  = 390 << 10 // bytes
	mostParts    = 16
	partOutlives = 8 * day // its record
	sumBytes     = 16      // of the digest of the result, in the key of a part
)

// ofParts are the attributes of a part.
var ofParts = []string{attrPartition, attrSort, attrExp, attrPart}

// isPart reports whether an item is a part of a result: see [Options.Namespaces].
func (s *settings) isPart(it item) bool {
	namespace, key, _ := strings.Cut(it.str(attrPartition), "#")
	digest, isDigest := strings.CutPrefix(key, hashed)

	switch {
	case !isDigest, len(digest) <= digestBytes, digest[digestBytes] != '/', s.SortKey != "" && it.str(attrSort) != sortValue:
		return false
	case len(s.Namespaces) > 0:
		return slices.Contains(s.Namespaces, namespace)
	default:
		return it.has(attrPart) || isPartKey(it.str(attrPartition))
	}
}

// part judges a change of a part.
func (j *judgement) part(byTimeToLive bool) {
	v := &j.verdict

	switch {
	case byTimeToLive && j.after == nil:
		v.Kind, v.Violations = TimeToLive, j.expired()
	case j.after == nil:
		v.Kind = ResultDeletion // by an operator, after the record that named it, which is another item
	case len(j.changed) == 0:
		v.Kind = NoChange
	case j.before != nil && onlyOthers(j.changed):
		v.Kind = OtherAttributes
	default:
		v.Kind, v.Violations = ResultPut, j.putFlaws()
	}
}

// putFlaws: a part is put once, or again with the same bytes.
func (p *pair) putFlaws() []Violation {
	var all []Violation

	demand := func(ok bool, rule Rule, name, text string) {
		if !ok {
			all = append(all, Violation{rule, name, text})
		}
	}

	it := p.after
	demand(p.before == nil || p.before.same(it, attrPartition), RuleKey, attrPartition, "The two images of the change are of different items.")
	demand(isPartKey(it.str(attrPartition)), RuleKey, attrPartition,
		"The key of a part is the namespace, #sha256:, a digest, and, each after a slash, an owner token, 16 characters of a digest and a number of 1 to 16.")
	demand(isEnd(it[attrExp]) && it.number(attrExp) < far, RuleForm, attrExp,
		fmt.Sprintf("The end of a part is a number of seconds, and is %s.", it[attrExp].shown(attrExp)))
	demand(isPartOfResult(it[attrPart]), RuleForm, attrPart,
		fmt.Sprintf("A part has at most 390 KB of binary, and is %s.", it[attrPart].shown(attrPart)))
	demand(p.before == nil || p.before.same(it, attrPart), RuleStays, attrPart, "A part never changes, because its key has the digest of the result.")

	for _, name := range slices.Sorted(maps.Keys(it)) {
		demand(slices.Contains(ofParts, name), RuleState, name, "A part has a key, an end and the bytes, and nothing else.")
	}

	return append(all, p.putTimes()...)
}

// putTimes compares the end of a part with the time of its put: it is the retention and 8 days later, by the clock of the worker.
func (p *pair) putTimes() []Violation {
	if !p.isTimed() || !p.after[attrExp].isInt {
		return nil
	}

	ahead := time.Unix(p.after.number(attrExp), 0).Add(-partOutlives - p.Retention).Sub(p.at)

	switch {
	case p.Retention > 0 && ahead > p.tolerance()+time.Second:
		return []Violation{{RuleAhead, attrExp, fmt.Sprintf("The part was put %v before its end begins to count.", ahead.Round(time.Second))}}
	case ahead < -p.Lifetime-p.Resolution:
		return []Violation{{RuleTooLate, attrExp, fmt.Sprintf(
			"A part outlives its record by 8 days, and this one ends %v too early.", (-ahead).Round(time.Second),
		)}}
	default:
		return nil
	}
}

func isPartKey(partition string) bool {
	_, key, _ := strings.Cut(partition, "#")
	segments := strings.Split(strings.TrimPrefix(key, hashed), "/")

	if len(segments) < 4 { // digest, token, digest of the result and number; a token may have a slash
		return false
	}

	last := len(segments) - 1
	n, err := strconv.Atoi(segments[last])

	return isBase64(segments[0], digestBytes) && isOwner(value{str: strings.Join(segments[1:last-1], "/")}) &&
		isBase64(segments[last-1], sumBytes) && err == nil && n >= 1 && n <= mostParts
}

func isPartOfResult(v value) bool {
	b, isBinary := v.raw.(*types.AttributeValueMemberB)

	return isBinary && b != nil && len(b.Value) <= longestPart
}
