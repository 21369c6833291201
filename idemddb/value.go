package idemddb

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Values that all requests share: never written.
var (
	versionValue            = numberValue(formatVersion)
	zeroValue               = numberValue(0)
	noTraceValue            = stringValue("")
	oneValue                = numberValue(1)
	returnedValue           = numberValue(-1)
	inProgressValue         = stringValue(stateInProgress)
	completedValue          = stringValue(stateCompleted)
	failedValue             = stringValue(stateFailed)
	sortValue               = stringValue(sortKeyValue)
	omittedValue            = &types.AttributeValueMemberNULL{Value: true} // in place of a result that is not kept
	fingerprintVersionValue = stringValue(fingerprintVersion)
)

func stringValue(s string) *types.AttributeValueMemberS {
	return &types.AttributeValueMemberS{Value: s}
}

func numberValue(n int64) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// numberAt reads a whole number; ok is false if there is none under that name.
func numberAt(it item, name string) (n int64, ok bool) {
	value, ok := it[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, false
	}

	n, err := strconv.ParseInt(value.Value, 10, 64)

	return n, err == nil
}

func marshal(v any) types.AttributeValue {
	value, err := attributevalue.Marshal(v)
	if err != nil {
		panic(err) // never: texts and numbers
	}

	return value
}

// ownValues are those of condOwn.
func (c *Claim) ownValues() item {
	return item{":mine": stringValue(c.token), ":fence": numberValue(c.fence), ":inprogress": inProgressValue}
}

// heldValues are those of condHeld.
func (c *Claim) heldValues() item {
	values := c.ownValues()
	values[":zero"] = zeroValue

	return values
}
