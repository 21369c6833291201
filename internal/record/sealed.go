package record

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	memberSealed = "sealed" // of a result
	memberBody   = "body"   // of a message

	// SealedOverhead is how many bytes the mark of a sealed result takes, at most.
	SealedOverhead = 16
)

// SealedResult returns the attribute for a result that Options.Codec has sealed. value is what the attribute would be of the
// sealed bytes: they themselves, or the name under which Options.Results keeps them. A program that does not know the mark finds
// the record unreadable, and so never takes the sealed bytes for the result.
func SealedResult(value types.AttributeValue) types.AttributeValue {
	return &types.AttributeValueMemberM{Value: map[string]types.AttributeValue{memberSealed: value}}
}

// ResultIn returns the attribute of a result without the mark of a sealed one, and whether it had the mark.
func ResultIn(stored types.AttributeValue) (value types.AttributeValue, isSealed bool) {
	m, _ := stored.(*types.AttributeValueMemberM)
	if m == nil || len(m.Value) != 1 || m.Value[memberSealed] == nil {
		return stored, false
	}

	return m.Value[memberSealed], true
}

// IsResult reports whether an attribute can be that of a result.
func IsResult(stored types.AttributeValue) bool {
	value, isSealed := ResultIn(stored)

	switch value := value.(type) {
	case *types.AttributeValueMemberB:
		return value != nil
	case nil:
		return !isSealed
	case *types.AttributeValueMemberNULL:
		return !isSealed && value != nil
	default:
		_, ok := KeptResultOf(value)

		return ok
	}
}

// Plain returns what Options.Codec seals of a message.
func (c Content) Plain() []byte {
	plain, err := json.Marshal(c)
	if err != nil {
		panic(err) // never: texts and a number
	}

	return plain
}

// ContentOf is the inverse of Plain: it returns the Content of a message to target.
func ContentOf(target string, plain []byte) (Content, error) {
	c := Content{To: target}

	if json.Unmarshal(plain, &c) != nil || c.Body == "" {
		return Content{}, fmt.Errorf("%w: what was sealed is no message", ErrCorrupt) // the cause would show some of it
	}

	return c, nil
}

// openMessage is a message as it is stored without being sealed.
type openMessage Message

// MarshalDynamoDBAttributeValue returns the message as it is stored. Of a sealed one only the target and the number can be read.
// The type of its body is another one, so that a program that does not know it finds the record unreadable, and never sends a
// message that says nothing.
func (m Message) MarshalDynamoDBAttributeValue() (types.AttributeValue, error) {
	plain := openMessage(m)
	if m.Sealed != nil {
		plain.Content = Content{To: m.To}
	}

	entry, err := attributevalue.MarshalMap(plain)
	if m.Sealed != nil {
		entry[memberBody] = &types.AttributeValueMemberB{Value: m.Sealed}
	}

	return &types.AttributeValueMemberM{Value: entry}, err //nolint:wrapcheck // its caller says what it has encoded
}

// UnmarshalDynamoDBAttributeValue reads a stored message.
func (m *Message) UnmarshalDynamoDBAttributeValue(value types.AttributeValue) error {
	var sealed []byte

	if entry, _ := value.(*types.AttributeValueMemberM); entry != nil {
		if body, isSealed := entry.Value[memberBody].(*types.AttributeValueMemberB); isSealed {
			open := maps.Clone(entry.Value)
			delete(open, memberBody)

			value, sealed = &types.AttributeValueMemberM{Value: open}, body.Value
		}
	}

	var plain openMessage

	err := attributevalue.Unmarshal(value, &plain)
	*m = Message(plain)
	m.Sealed = sealed

	return err //nolint:wrapcheck // its caller says what it has decoded
}
