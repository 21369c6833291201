package idemddbtest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"reflect"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/schemas"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"
	"github.com/aws/smithy-go/transport/http/protocol/awsjson"
)

// The SDK's own code reads and writes the JSON, with the roles changed: a request is read as a client reads a response.
var protocol = awsjson.New10(schemas.DynamoDB_20120810)

// inputs are the operations on the wire, each with the schema of its input and a function that makes one.
var inputs = map[string]struct {
	schema *smithy.Schema
	make   func() any
}{
	"UpdateItem":            {schemas.UpdateItemInput, func() any { return &dynamodb.UpdateItemInput{} }},
	"PutItem":               {schemas.PutItemInput, func() any { return &dynamodb.PutItemInput{} }},
	"TransactWriteItems":    {schemas.TransactWriteItemsInput, func() any { return &dynamodb.TransactWriteItemsInput{} }},
	"BatchExecuteStatement": {schemas.BatchExecuteStatementInput, func() any { return &dynamodb.BatchExecuteStatementInput{} }},
	"GetItem":               {schemas.GetItemInput, func() any { return &dynamodb.GetItemInput{} }},
	"DeleteItem":            {schemas.DeleteItemInput, func() any { return &dynamodb.DeleteItemInput{} }},
	"Query":                 {schemas.QueryInput, func() any { return &dynamodb.QueryInput{} }},
	"Scan":                  {schemas.ScanInput, func() any { return &dynamodb.ScanInput{} }},
	"CreateTable":           {schemas.CreateTableInput, func() any { return &dynamodb.CreateTableInput{} }},
	"DescribeTable":         {schemas.DescribeTableInput, func() any { return &dynamodb.DescribeTableInput{} }},
	"UpdateTimeToLive":      {schemas.UpdateTimeToLiveInput, func() any { return &dynamodb.UpdateTimeToLiveInput{} }},
}

func decodeInput(op string, body []byte) (any, error) {
	o, ok := inputs[op]
	if !ok {
		return nil, &smithy.GenericAPIError{Code: "UnknownOperationException", Message: "idemddbtest: unknown operation " + op}
	}

	in := o.make()
	response := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(bytes.NewReader(body))}}
	operation := smithy.NewOperationSchema(o.schema, o.schema, o.schema)

	err := protocol.DeserializeResponse(context.Background(), operation, nil, response, &reader{o.schema, reflect.ValueOf(in).Elem()})
	if err != nil {
		return nil, &smithy.GenericAPIError{Code: "SerializationException", Message: err.Error()}
	}

	return in, nil
}

// reader reads a value of any shape. Unlike outputs, inputs have no generated code for that.
type reader struct {
	schema *smithy.Schema
	into   reflect.Value
}

func (r *reader) Deserialize(d smithy.ShapeDeserializer) error { return read(d, r.schema, r.into) }

func read(d smithy.ShapeDeserializer, s *smithy.Schema, v reflect.Value) error {
	switch v.Kind() {
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))

		return read(d, s, v.Elem())
	case reflect.String:
		var text string

		err := d.ReadString(s, &text)
		v.SetString(text)

		return err
	case reflect.Bool:
		return d.ReadBool(s, v.Addr().Interface().(*bool))
	case reflect.Int32:
		return d.ReadInt32(s, v.Addr().Interface().(*int32))
	case reflect.Int64:
		return d.ReadInt64(s, v.Addr().Interface().(*int64))
	case reflect.Struct:
		fields := fieldsOf(v.Type())

		return smithy.ReadStruct(d, s, func(m *smithy.Schema) error {
			i, ok := fields[m.MemberName()]
			if !ok {
				return fmt.Errorf("unknown member %s", m.MemberName())
			}

			return read(d, m, v.Field(i))
		})
	case reflect.Slice:
		return readList(d, s, v)
	case reflect.Map:
		return readMap(d, s, v)
	case reflect.Interface:
		return readAttribute(d, s, v.Addr().Interface().(*types.AttributeValue))
	}

	return fmt.Errorf("unsupported member %s", s.MemberName())
}

func readList(d smithy.ShapeDeserializer, s *smithy.Schema, v reflect.Value) error {
	v.Set(reflect.MakeSlice(v.Type(), 0, 0))

	return smithy.ReadList(d, s, func() error {
		e := reflect.New(v.Type().Elem()).Elem()
		err := read(d, s.ListMember(), e)
		v.Set(reflect.Append(v, e))

		return err
	})
}

func readMap(d smithy.ShapeDeserializer, s *smithy.Schema, v reflect.Value) error {
	if m, ok := reflect.TypeAssert[*map[string]types.AttributeValue](v.Addr()); ok { // most maps are items
		*m = map[string]types.AttributeValue{}

		return smithy.ReadMap(d, s, func(key string) error {
			var a types.AttributeValue

			err := readAttribute(d, s.MapValue(), &a)
			(*m)[key] = a

			return err
		})
	}

	v.Set(reflect.MakeMap(v.Type()))

	return smithy.ReadMap(d, s, func(key string) error {
		e := reflect.New(v.Type().Elem()).Elem()
		err := read(d, s.MapValue(), e)
		v.SetMapIndex(reflect.ValueOf(key), e)

		return err
	})
}

func readAttribute(d smithy.ShapeDeserializer, s *smithy.Schema, v *types.AttributeValue) error {
	return smithy.ReadUnion(d, s, func(m *smithy.Schema) error {
		member := attributeMember(m)
		if member == nil {
			return fmt.Errorf("unknown attribute type %s", m.MemberName())
		}

		*v = member

		return member.(smithy.Deserializable).Deserialize(d)
	})
}

func attributeMember(m *smithy.Schema) types.AttributeValue {
	switch m {
	case schemas.AttributeValue_S:
		return &types.AttributeValueMemberS{}
	case schemas.AttributeValue_N:
		return &types.AttributeValueMemberN{}
	case schemas.AttributeValue_B:
		return &types.AttributeValueMemberB{}
	case schemas.AttributeValue_BOOL:
		return &types.AttributeValueMemberBOOL{}
	case schemas.AttributeValue_NULL:
		return &types.AttributeValueMemberNULL{}
	case schemas.AttributeValue_SS:
		return &types.AttributeValueMemberSS{}
	case schemas.AttributeValue_NS:
		return &types.AttributeValueMemberNS{}
	case schemas.AttributeValue_BS:
		return &types.AttributeValueMemberBS{}
	case schemas.AttributeValue_L:
		return &types.AttributeValueMemberL{}
	case schemas.AttributeValue_M:
		return &types.AttributeValueMemberM{}
	}

	return nil
}

var fieldCache sync.Map // reflect.Type to map[string]int

func fieldsOf(t reflect.Type) map[string]int {
	if f, ok := fieldCache.Load(t); ok {
		return f.(map[string]int)
	}

	f := map[string]int{}

	for i := range t.NumField() {
		if t.Field(i).IsExported() {
			f[t.Field(i).Name] = i
		}
	}

	fieldCache.Store(t, f)

	return f
}

// encode returns the JSON of an output or of an error that has a type in the SDK.
func encode(v smithy.Serializable) ([]byte, error) {
	request := smithyhttp.NewStackRequest().(*smithyhttp.Request)

	operation := smithy.NewOperationSchema(schemas.UpdateItem, schemas.UpdateItemInput, nil) // every operation fits, because it only sets a header
	if err := protocol.SerializeRequest(context.Background(), operation, v, request); err != nil {
		return nil, err
	}

	return io.ReadAll(request.GetStream())
}

// encodeError returns the JSON of an error, with the member that names it.
func encodeError(err error) ([]byte, error) {
	api, ok := errors.AsType[smithy.APIError](err)
	if !ok {
		return nil, err
	}

	if v, ok := err.(smithy.Serializable); ok {
		body, err := encode(v)
		if err != nil {
			return nil, err
		}

		start := `{"__type":"com.amazonaws.dynamodb.v20120810#` + api.ErrorCode() + `"`
		if !bytes.Equal(body, []byte("{}")) {
			start += ","
		}

		return append([]byte(start), body[1:]...), nil
	}

	return json.Marshal(map[string]string{"__type": "com.amazon.coral.validate#" + api.ErrorCode(), "message": api.ErrorMessage()})
}
