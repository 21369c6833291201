package dbitem

import (
	"bytes"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// WriteSize returns about how many bytes the items have in a request.
func WriteSize(items ...types.TransactWriteItem) int {
	size := 0

	for _, it := range items {
		for _, w := range writesOf(it) {
			size += sizeOf(*w.key)
		}

		if it.Update != nil {
			size += sizeOf(it.Update.ExpressionAttributeValues)
		}
	}

	return size
}

func sizeOf(it map[string]types.AttributeValue) int {
	size := 0
	for name, v := range it {
		size += len(name) + ValueSize(v)
	}

	return size
}

// ValueSize returns about how many bytes of an item a value takes.
func ValueSize(v types.AttributeValue) int {
	const container = 3 // bytes of a list or a map, and of each of its elements about 1

	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return len(v.Value)
	case *types.AttributeValueMemberN:
		return len(v.Value)/2 + 1 //nolint:mnd // two digits a byte
	case *types.AttributeValueMemberB:
		return len(v.Value)
	case *types.AttributeValueMemberM:
		return container + sizeOf(v.Value) + len(v.Value)
	case *types.AttributeValueMemberL:
		size := container
		for _, element := range v.Value {
			size += ValueSize(element) + 1
		}

		return size
	case *types.AttributeValueMemberSS:
		return len(strings.Join(v.Value, ""))
	case *types.AttributeValueMemberNS:
		return len(strings.Join(v.Value, ""))
	case *types.AttributeValueMemberBS:
		return len(bytes.Join(v.Value, nil))
	default:
		return 1
	}
}
