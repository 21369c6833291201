package idemddbtest

import (
	"reflect"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The engine copies items by itself, as it does everything else: an engine that shared this with the code that it tests could not
// show its errors.

// copyItem copies an item, so that the copy shares nothing with the caller's item. Nil stays nil.
func copyItem(from item) item {
	if from == nil {
		return nil
	}

	to := make(item, len(from))
	for name, v := range from {
		to[name] = copyValue(v)
	}

	return to
}

// copyValue copies a value. It returns a value of a type that the SDK does not have as it is.
func copyValue(v types.AttributeValue) types.AttributeValue {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return new(*v)
	case *types.AttributeValueMemberN:
		return new(*v)
	case *types.AttributeValueMemberBOOL:
		return new(*v)
	case *types.AttributeValueMemberNULL:
		return new(*v)
	case *types.AttributeValueMemberB:
		return &types.AttributeValueMemberB{Value: copyBytes(v.Value)}
	case *types.AttributeValueMemberSS:
		return &types.AttributeValueMemberSS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberNS:
		return &types.AttributeValueMemberNS{Value: slices.Clone(v.Value)}
	case *types.AttributeValueMemberBS:
		return &types.AttributeValueMemberBS{Value: copyEach(v.Value, copyBytes)}
	case *types.AttributeValueMemberL:
		return &types.AttributeValueMemberL{Value: copyEach(v.Value, copyValue)}
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: copyItem(v.Value)}
	default:
		return v
	}
}

// copyBytes copies bytes. It never returns nil, because an empty binary value is not a missing one.
func copyBytes(b []byte) []byte { return append(make([]byte, 0, len(b)), b...) }

// copyEach copies a list and the values in it. Nil stays nil.
func copyEach[T any](from []T, copied func(T) T) []T {
	to := slices.Clone(from)
	for i, v := range to {
		to[i] = copied(v)
	}

	return to
}

// copyInput copies the input of a request deeply, so that it can be used after the call has returned.
func copyInput(in any) any { return copyAny(reflect.ValueOf(in)).Interface() }

// copyAny copies whatever an input of the SDK is made of.
func copyAny(from reflect.Value) reflect.Value {
	if from.IsZero() {
		return from
	}

	if v, isValue := reflect.TypeAssert[types.AttributeValue](from); isValue {
		return reflect.ValueOf(copyValue(v))
	}

	to := reflect.New(from.Type()).Elem()
	to.Set(from)

	switch from.Kind() {
	case reflect.Pointer:
		to.Set(reflect.New(from.Type().Elem()))
		to.Elem().Set(copyAny(from.Elem()))
	case reflect.Struct:
		for i := range to.NumField() {
			if to.Field(i).CanSet() {
				to.Field(i).Set(copyAny(from.Field(i)))
			}
		}
	case reflect.Slice:
		to.Set(reflect.MakeSlice(from.Type(), from.Len(), from.Len()))

		for i := range from.Len() {
			to.Index(i).Set(copyAny(from.Index(i)))
		}
	case reflect.Map:
		to.Set(reflect.MakeMapWithSize(from.Type(), from.Len()))

		for key, v := range from.Seq2() {
			to.SetMapIndex(key, copyAny(v))
		}
	default:
	}

	return to
}
