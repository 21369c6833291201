package main

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const writeUnit = 1024 // bytes

// writeUnits is the price of writing an item: a unit for each KB of its names and values, at least one.
func writeUnits(it item) float64 {
	size := 0
	for name, value := range it {
		size += len(name) + valueSize(value)
	}

	return float64(max(1, (size+writeUnit-1)/writeUnit))
}

// valueSize knows the types that a record has.
func valueSize(value types.AttributeValue) int {
	switch value := value.(type) {
	case *types.AttributeValueMemberS:
		return len(value.Value)
	case *types.AttributeValueMemberB:
		return len(value.Value)
	case *types.AttributeValueMemberN:
		return (len(strings.TrimRight(value.Value, "0"))+1)/2 + 1
	default:
		return 1
	}
}
