package idemddbtest

import (
	"reflect"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
)

// copyInput copies the input of a request deeply, so that it can be used after the call has returned.
func copyInput(in any) any { return copyAny(reflect.ValueOf(in)).Interface() }

// copyAny copies whatever an input of the SDK is made of.
func copyAny(from reflect.Value) reflect.Value {
	if from.IsZero() {
		return from
	}

	if v, isValue := reflect.TypeAssert[types.AttributeValue](from); isValue {
		return reflect.ValueOf(attribute.CopyValue(v))
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
