package idemddbtest

import "github.com/aws/aws-sdk-go-v2/service/dynamodb"

func (db *DB) createTable(in *dynamodb.CreateTableInput) (*dynamodb.CreateTableOutput, error) {
	t, err := db.tables.Create(in, db.now())
	if err != nil {
		return nil, err
	}

	return &dynamodb.CreateTableOutput{TableDescription: t.Describe()}, nil
}

func (db *DB) describeTable(in *dynamodb.DescribeTableInput) (*dynamodb.DescribeTableOutput, error) {
	t, err := db.tables.Find(in.TableName)
	if err != nil {
		return nil, err
	}

	return &dynamodb.DescribeTableOutput{Table: t.Describe()}, nil
}
