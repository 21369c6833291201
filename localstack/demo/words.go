package main

import (
	"errors"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// purpose names what a request is for, by the values that only such a request has: nothing else on the wire says it.
func purpose(in *dynamodb.UpdateItemInput) string {
	for _, has := range []struct{ value, purpose string }{
		{":amount", "pay"}, {":completed", "complete"}, {":failed", "fail"}, {":v", "claim"}, {":lease", "extend"},
	} {
		if _, ok := in.ExpressionAttributeValues[has.value]; ok {
			return has.purpose
		}
	}

	return "release"
}

// written says of a claim also what it found.
func written(r request, old item) string {
	switch {
	case r.purpose == "pay":
		return "applied"
	case r.purpose != "claim":
		return "written"
	case len(old) == 0:
		return "won: a new key"
	case text(old["lease"]) == "0":
		return "won: it was released"
	default:
		return "won: takeover from " + claimant(old)
	}
}

// refused says why a request was not applied.
func refused(err error) string {
	if e, ok := errors.AsType[*types.ConditionalCheckFailedException](err); ok {
		return refusedBy(e.Item)
	}

	return "no answer, or an error"
}

// refusedBy says what stood in the way.
func refusedBy(it item) string {
	if it == nil {
		return "refused: no record"
	}

	return "refused: " + text(it["st"]) + " by " + claimant(it)
}

// claimant is the request id of the claim that a record had last; the randomness behind it is not for people.
func claimant(it item) string {
	id, _, _ := strings.Cut(text(it["own"]), "/")

	return id
}

// text is the value of a string or number, "" if there is none.
func text(value types.AttributeValue) string {
	switch value := value.(type) {
	case *types.AttributeValueMemberS:
		return value.Value
	case *types.AttributeValueMemberN:
		return value.Value
	default:
		return ""
	}
}
