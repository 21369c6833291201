package record

import (
	"bytes"
	"crypto/sha256"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// KeptResult is what a record holds of a result that is kept beside it.
type KeptResult struct {
	Name   string `dynamodbav:"name"`
	Length int    `dynamodbav:"len"`
	Sum    []byte `dynamodbav:"sum"`
}

// Value returns the attribute that holds it.
func (k KeptResult) Value() types.AttributeValue {
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{
		"name": Text(k.Name), "len": Number(int64(k.Length)), "sum": &types.AttributeValueMemberB{Value: k.Sum},
	}}
}

// IsOf reports whether k has the SHA-256 of this result.
func (k KeptResult) IsOf(result []byte) bool {
	sum := sha256.Sum256(result)

	return bytes.Equal(k.Sum, sum[:])
}

// KeptResultOf returns which result beside the record the attribute names. It returns false if the attribute is anything else: a
// result that stands in the record, the mark of one that was omitted, or nil.
func KeptResultOf(result types.AttributeValue) (KeptResult, bool) {
	m, _ := result.(*types.AttributeValueMemberM)
	if m == nil { // a fake of a client may hold a nil pointer
		return KeptResult{}, false
	}

	var k KeptResult

	err := attributevalue.UnmarshalMap(m.Value, &k)

	return k, err == nil && k.Name != "" && len(k.Sum) == sha256.Size
}
