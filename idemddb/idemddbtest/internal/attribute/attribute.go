// Package attribute is what DynamoDB knows about the values of attributes: which are valid and how they are stored, how they
// compare, how large they are, and exact numbers. It is written for package idemddbtest, and shares nothing with the code that
// idemddbtest helps to test.
package attribute

import "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

// Item is the attributes of an item, by name. It is never changed once it is stored or returned by Adopt: a write makes a new
// one. So it can be read without a lock.
type Item = map[string]types.AttributeValue
