package idemddbtest

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// CreateTable makes a table, which is ACTIVE at once. Secondary indexes and provisioned capacity are accepted and ignored.
func (db *DB) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	return call[dynamodb.CreateTableOutput](ctx, db, in)
}

// UpdateTimeToLive sets the attribute by which [DB.Expire] deletes items.
func (db *DB) UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	return call[dynamodb.UpdateTimeToLiveOutput](ctx, db, in)
}

// table is a schema and the items, by the ids of their keys.
type table struct {
	name    string
	key     []keyAttribute
	input   *dynamodb.CreateTableInput // a copy; only its schema is read
	created time.Time
	ttl     string // attribute, "" when off
	items   map[string]item
}

func (db *DB) table(name *string) (*table, error) {
	t, ok := db.tables[tableName(name)]
	if !ok {
		return nil, errNoTable()
	}

	return t, nil
}

func (db *DB) createTable(in *dynamodb.CreateTableInput) (*dynamodb.CreateTableOutput, error) {
	name := tableName(in.TableName)
	if len(name) < 3 || len(name) > 255 {
		return nil, invalid("Invalid table/index name. Table/index names must be between 3 and 255 characters long")
	}

	if db.tables[name] != nil {
		return nil, &types.ResourceInUseException{Message: new("Cannot create preexisting table")}
	}

	key, err := schema(in)
	if err != nil {
		return nil, err
	}

	copied := *in
	t := &table{name: name, key: key, input: &copied, created: db.now(), items: map[string]item{}}

	copied.KeySchema = append([]types.KeySchemaElement(nil), in.KeySchema...)
	copied.AttributeDefinitions = append([]types.AttributeDefinition(nil), in.AttributeDefinitions...)
	db.tables[name] = t

	return &dynamodb.CreateTableOutput{TableDescription: t.describe()}, nil
}

func schema(in *dynamodb.CreateTableInput) ([]keyAttribute, error) {
	defined := map[string]types.ScalarAttributeType{}
	for _, a := range in.AttributeDefinitions {
		defined[*a.AttributeName] = a.AttributeType
	}

	var key []keyAttribute

	for i, e := range in.KeySchema {
		k := keyAttribute{name: *e.AttributeName, typ: string(defined[*e.AttributeName]), max: maxPartitionKey}

		want := types.KeyTypeHash
		if i == 1 {
			want, k.max = types.KeyTypeRange, maxSortKey
		}

		if e.KeyType != want || i > 1 || !oneOf(k.typ, "S N B") {
			return nil, invalid("One or more parameter values were invalid: the key schema is not valid")
		}

		key = append(key, k)
	}

	if len(key) == 0 || len(key) == 2 && key[0].name == key[1].name {
		return nil, invalid("One or more parameter values were invalid: the key schema is not valid")
	}

	return key, nil
}

func (db *DB) describeTable(in *dynamodb.DescribeTableInput) (*dynamodb.DescribeTableOutput, error) {
	t, err := db.table(in.TableName)
	if err != nil {
		return nil, err
	}

	return &dynamodb.DescribeTableOutput{Table: t.describe()}, nil
}

func (t *table) describe() *types.TableDescription {
	size := 0
	for _, it := range t.items {
		size += itemSize(it)
	}

	return &types.TableDescription{
		TableName:            new(t.name),
		TableArn:             new("arn:aws:dynamodb:us-east-1:000000000000:table/" + t.name),
		TableStatus:          types.TableStatusActive,
		KeySchema:            append([]types.KeySchemaElement(nil), t.input.KeySchema...),
		AttributeDefinitions: append([]types.AttributeDefinition(nil), t.input.AttributeDefinitions...),
		BillingModeSummary:   &types.BillingModeSummary{BillingMode: types.BillingModePayPerRequest},
		CreationDateTime:     new(t.created),
		ItemCount:            new(int64(len(t.items))),
		TableSizeBytes:       new(int64(size)),
	}
}
