package idemddbtest

import (
	"context"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

// CreateTable makes a table with its global secondary indexes, which are ACTIVE at once. Local secondary indexes and provisioned
// capacity are accepted and ignored.
func (db *DB) CreateTable(ctx context.Context, in *dynamodb.CreateTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.CreateTableOutput, error) {
	return call[dynamodb.CreateTableOutput](ctx, db, in)
}

// UpdateTimeToLive sets the attribute by which [DB.Expire] deletes items.
func (db *DB) UpdateTimeToLive(ctx context.Context, in *dynamodb.UpdateTimeToLiveInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateTimeToLiveOutput, error) {
	return call[dynamodb.UpdateTimeToLiveOutput](ctx, db, in)
}

// table is a schema and the items, by the ids of their keys.
type table struct {
	db      *DB
	name    string
	key     []keyAttribute
	input   *dynamodb.CreateTableInput // a copy; only its schema is read
	created time.Time
	ttl     string // attribute, "" when off
	items   map[string]attribute.Item
	indexes []*index
	indexed map[string]attribute.Item // the items that the indexes show while they are held; nil: items
}

func (db *DB) table(name *string) (*table, error) {
	t, ok := db.tables[tableName(name)]
	if !ok {
		return nil, exception.TableNotFound()
	}

	return t, nil
}

func (db *DB) createTable(in *dynamodb.CreateTableInput) (*dynamodb.CreateTableOutput, error) {
	name := tableName(in.TableName)
	if !validName(name) {
		return nil, errName()
	}

	if db.tables[name] != nil {
		return nil, &types.ResourceInUseException{Message: new("Cannot create preexisting table")}
	}

	key, err := schema(in.AttributeDefinitions, in.KeySchema)
	if err != nil {
		return nil, err
	}

	indexes, err := indexesOf(in, key)
	if err != nil {
		return nil, err
	}

	if err := checkDefinitions(in, key, indexes); err != nil {
		return nil, err
	}

	copied := *in
	t := &table{
		db: db, name: name, key: key, input: &copied, created: db.now(), items: map[string]attribute.Item{}, indexes: indexes,
	}

	copied.KeySchema = slices.Clone(in.KeySchema)
	copied.AttributeDefinitions = slices.Clone(in.AttributeDefinitions)
	copied.GlobalSecondaryIndexes = slices.Clone(in.GlobalSecondaryIndexes)
	db.tables[name] = t

	return &dynamodb.CreateTableOutput{TableDescription: t.describe()}, nil
}

func validName(name string) bool { return len(name) >= 3 && len(name) <= 255 }

func errName() error {
	return exception.Validation("Invalid table/index name. Table/index names must be between 3 and 255 characters long")
}

// checkDefinitions refuses attributes that belong to no key. It does not check a table with local indexes, whose keys are not
// kept.
func checkDefinitions(in *dynamodb.CreateTableInput, key []keyAttribute, indexes []*index) error {
	used := map[string]bool{}
	for _, k := range key {
		used[k.name] = true
	}

	for _, ix := range indexes {
		for _, k := range ix.key {
			used[k.name] = true
		}
	}

	if len(used) != len(in.AttributeDefinitions) && in.LocalSecondaryIndexes == nil {
		return exception.Validation("The number of attributes in key schema must match the number of attributes defined in attribute definitions.")
	}

	return nil
}

// schema returns the key of a table or of an index.
func schema(attributes []types.AttributeDefinition, elements []types.KeySchemaElement) ([]keyAttribute, error) {
	defined := map[string]types.ScalarAttributeType{}
	for _, a := range attributes {
		defined[*a.AttributeName] = a.AttributeType
	}

	var key []keyAttribute

	for i, e := range elements {
		k := keyAttribute{name: *e.AttributeName, typ: string(defined[*e.AttributeName]), max: maxPartitionKey}

		want := types.KeyTypeHash
		if i == 1 {
			want, k.max = types.KeyTypeRange, maxSortKey
		}

		if e.KeyType != want || i > 1 || !slices.Contains([]string{"S", "N", "B"}, k.typ) {
			return nil, exception.Validation("One or more parameter values were invalid: the key schema is not valid")
		}

		key = append(key, k)
	}

	if len(key) == 0 || len(key) == 2 && key[0].name == key[1].name {
		return nil, exception.Validation("One or more parameter values were invalid: the key schema is not valid")
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
		size += attribute.ItemSize(it)
	}

	description := &types.TableDescription{
		TableName:            new(t.name),
		TableArn:             new(t.arn()),
		TableStatus:          types.TableStatusActive,
		KeySchema:            slices.Clone(t.input.KeySchema),
		AttributeDefinitions: slices.Clone(t.input.AttributeDefinitions),
		BillingModeSummary:   &types.BillingModeSummary{BillingMode: types.BillingModePayPerRequest},
		CreationDateTime:     new(t.created),
		ItemCount:            new(int64(len(t.items))),
		TableSizeBytes:       new(int64(size)),
	}

	for _, ix := range t.indexes {
		description.GlobalSecondaryIndexes = append(description.GlobalSecondaryIndexes, ix.describe(t))
	}

	return description
}

func (t *table) arn() string { return "arn:aws:dynamodb:us-east-1:000000000000:table/" + t.name }
