package audit

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	longestErr   = 256
	longestTrace = 128
	tokenBytes   = 26
)

// form is what the page says about the type and the content of one attribute, whatever the state of the record.
type form struct {
	fits func(value) bool
	text string // completes "it must be"
}

// Where the page names an attribute and not its type, several are allowed.
var forms = map[string]form{
	attrVersion:  {exactly(1), "the number 1"},
	attrState:    {isState, "INPROGRESS, COMPLETED or FAILED"},
	attrOwner:    {isOwner, "26 characters of base32, after the request id and a slash or alone"},
	attrFence:    {atLeast(1), "a whole number above 0"},
	attrLease:    {atLeast(-1), "a whole number, at least -1"},
	attrPrev:     {atLeast(-1), "a whole number, at least -1"},
	attrTook:     {isWhole, "a whole number"},
	attrTookAt:   {atLeast(1), "a whole number above 0"},
	attrExp:      {isEnd, "a whole number above 0, at most the end of the year 9999"},
	attrAttempts: {atLeast(0), "a whole number, at least 0"},
	attrBorn:     {atLeast(1), "a whole number above 0"},
	attrDone:     {atLeast(1), "a whole number above 0"},
	attrPrint:    {isFingerprint, "the version of the algorithm, a colon and the digest, of 43 characters in version 1"},
	attrResult:   {isResult, "B, NULL, M with name, len and sum, or M with sealed, which is B or such an M"},
	attrErr:      {isText(longestErr), "a string of at most 256 bytes"},
	attrTrace:    {isText(longestTrace), "a string of at most 128 bytes"},
	attrPtrace:   {isText(longestTrace), "a string of at most 128 bytes"},
	attrNT:       {exactly(1), "the number 1"},
	attrTx:       {isToken, "26 characters of base32"},
	attrOutbox:   {isOutbox, "a list of at least one message: i, to, body, and where there are any group, attrs and seq"},
	attrParked:   {isParked, "a list of at least one message with its cause"},
	attrEnds:     {isLogicalEnd, "a whole number above 0, before the end of the year 9999"},
	attrDue:      {atLeast(1), "a whole number above 0"},
	attrDueNS:    {isText(longestKey + 3), "a string"},
	attrPart:     {func(value) bool { return false }, "absent from a record"},
	attrOp:       {func(v value) bool { _, ok := readOperation(v); return ok }, "JSON with what, by, why, at and id"},
}

func isWhole(v value) bool { return v.isInt }

func exactly(n int64) func(value) bool { return func(v value) bool { return v.isInt && v.number == n } }

func atLeast(n int64) func(value) bool { return func(v value) bool { return v.isInt && v.number >= n } }

func isEnd(v value) bool { return v.isInt && v.number > 0 && v.number <= far }

func isLogicalEnd(v value) bool { return isEnd(v) && v.number < far }

func isState(v value) bool { return v.str == inProgress || v.str == completed || v.str == failed }

func isText(longest int) func(value) bool {
	return func(v value) bool { return v.kind == "S" && len(v.str) <= longest }
}

// isToken takes all digits and capital letters: the page says base32, and its example has characters that RFC 4648 does not.
func isToken(v value) bool {
	return len(v.str) == tokenBytes && !strings.ContainsFunc(v.str, func(r rune) bool { return !isAlphanumeric(r) || r >= 'a' })
}

func isOwner(v value) bool {
	slash := strings.LastIndexByte(v.str, '/')

	return slash != 0 && isToken(value{str: v.str[slash+1:]})
}

func isFingerprint(v value) bool {
	version, digest, found := strings.Cut(v.str, ":")

	return found && version != "" && (version != "1" || isBase64(digest, digestBytes))
}

func isResult(v value) bool {
	if v.kind == "?" { // such as a nil pointer
		return false
	}

	switch m := v.raw.(type) {
	case *types.AttributeValueMemberB, *types.AttributeValueMemberNULL:
		return true
	case *types.AttributeValueMemberM:
		if len(m.Value) == 1 {
			sealed := valueOf(m.Value["sealed"])

			return sealed.kind == "B" || isKept(sealed)
		}

		return isKept(v)
	default:
		return false
	}
}

// isKept reports whether an attribute names a result that is kept elsewhere.
func isKept(v value) bool {
	m, isMap := v.raw.(*types.AttributeValueMemberM)

	return isMap && v.kind == "M" && len(m.Value) == 3 && valueOf(m.Value["name"]).kind == "S" && atLeast(0)(valueOf(m.Value["len"])) &&
		isSum(valueOf(m.Value["sum"]))
}

func isSum(v value) bool { return v.kind == "S" || v.kind == "B" }
