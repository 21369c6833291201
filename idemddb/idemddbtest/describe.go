package idemddbtest

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/expression"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
)

// describe returns a request as Requests lists it, without its answer.
func (db *DB) describe(in any) Request {
	r := Request{Operation: operation(in)}
	switch in := in.(type) {
	case *dynamodb.UpdateItemInput:
		db.describeItem(&r, in.TableName, in.Key, in.ConditionExpression)
		r.Update = aws.ToString(in.UpdateExpression)
	case *dynamodb.PutItemInput:
		db.describeItem(&r, in.TableName, db.keyIn(in.TableName, in.Item), in.ConditionExpression)
	case *dynamodb.DeleteItemInput:
		db.describeItem(&r, in.TableName, in.Key, in.ConditionExpression)
	case *dynamodb.GetItemInput:
		db.describeItem(&r, in.TableName, in.Key, nil)
	case *dynamodb.QueryInput:
		r.Table, r.Index, r.Condition = storage.TableName(in.TableName), aws.ToString(in.IndexName), aws.ToString(in.KeyConditionExpression)
	case *dynamodb.ScanInput:
		r.Table, r.Index, r.Condition = storage.TableName(in.TableName), aws.ToString(in.IndexName), aws.ToString(in.FilterExpression)
	case *dynamodb.CreateTableInput:
		r.Table = storage.TableName(in.TableName)
	case *dynamodb.DescribeTableInput:
		r.Table = storage.TableName(in.TableName)
	case *dynamodb.UpdateTimeToLiveInput:
		r.Table = storage.TableName(in.TableName)
	case *dynamodb.TransactWriteItemsInput:
		for _, part := range in.TransactItems {
			r.Items = append(r.Items, db.describePart(part))
		}
	case *dynamodb.BatchExecuteStatementInput:
		r.Items = make([]Request, len(in.Statements))
		for i, s := range in.Statements {
			r.Items[i] = db.describeStatement(s)
		}
	}

	return r
}

func (db *DB) describePart(part types.TransactWriteItem) (r Request) {
	switch {
	case part.Update != nil:
		r.Operation, r.Update = "Update", aws.ToString(part.Update.UpdateExpression)
		db.describeItem(&r, part.Update.TableName, part.Update.Key, part.Update.ConditionExpression)
	case part.Put != nil:
		r.Operation = "Put"
		db.describeItem(&r, part.Put.TableName, db.keyIn(part.Put.TableName, part.Put.Item), part.Put.ConditionExpression)
	case part.Delete != nil:
		r.Operation = "Delete"
		db.describeItem(&r, part.Delete.TableName, part.Delete.Key, part.Delete.ConditionExpression)
	case part.ConditionCheck != nil:
		r.Operation = "ConditionCheck"
		db.describeItem(&r, part.ConditionCheck.TableName, part.ConditionCheck.Key, part.ConditionCheck.ConditionExpression)
	}

	return r
}

func (db *DB) describeItem(r *Request, table *string, key attribute.Item, condition *string) {
	r.Table, r.Key, r.Condition = storage.TableName(table), attribute.CopyItem(key), aws.ToString(condition)
}

func (db *DB) keyIn(table *string, it attribute.Item) attribute.Item {
	t, err := db.tables.Find(table)
	if err != nil {
		return nil
	}

	return t.Key.Part(it)
}

// describeStatement returns a statement as Requests lists it.
func (db *DB) describeStatement(in types.BatchStatementRequest) Request {
	st := db.statements.Parse(aws.ToString(in.Statement))
	r := Request{Operation: st.Verb, Table: storage.TableName(&st.Table), Condition: st.Where, Update: st.Action}

	t, err := db.tables.Find(&st.Table)
	if err != nil || st.Err != nil || len(in.Parameters) < len(st.Parameters) {
		return r
	}

	values := st.ValueOf(in.Parameters)
	r.Key = make(attribute.Item, len(t.Key))

	for _, of := range [][]expression.Named{st.Attributes, st.Equalities} {
		for _, a := range of {
			if t.Key.Has(a.Name) && r.Key[a.Name] == nil {
				r.Key[a.Name] = attribute.CopyValue(values(a.Value))
			}
		}
	}

	return r
}
