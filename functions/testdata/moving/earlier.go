package main

import (
	"context"
	"crypto/md5" //nolint:gosec // names a record, guards nothing
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// reader is the part of the DynamoDB API that asks the earlier function's table.
type reader interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// earlier are the records of the function that worked on the queue before, with Powertools for AWS Lambda.
type earlier struct {
	api   reader
	table string
	keyOf func(id string) string
	now   func() time.Time
}

var errAtWork = errors.New("the earlier function may still work on it")

// done reports whether the earlier function has completed the work of an id. It is an error if that function may still be at work, or if
// its record cannot be read: the message then comes back.
func (e earlier) done(ctx context.Context, id string) (bool, error) {
	if !isPlain(id) {
		return false, fmt.Errorf("id %q: the earlier key is known for visible ASCII only", id)
	}

	out, err := e.api.GetItem(ctx, &dynamodb.GetItemInput{
		TableName: &e.table, ConsistentRead: new(true),
		Key: map[string]types.AttributeValue{"id": &types.AttributeValueMemberS{Value: e.keyOf(id)}},
	})
	if err != nil {
		return false, fmt.Errorf("earlier record: %w", err)
	}

	var found struct {
		Status     string `dynamodbav:"status"`
		Expiration int64  `dynamodbav:"expiration"`             // seconds
		InProgress int64  `dynamodbav:"in_progress_expiration"` // milliseconds
	}
	if err := attributevalue.UnmarshalMap(out.Item, &found); err != nil {
		return false, fmt.Errorf("earlier record: %w", err)
	}

	now := e.now()
	isAlive := now.Before(time.Unix(found.Expiration, 0))

	if found.Status == "INPROGRESS" && isAlive && now.Before(time.UnixMilli(found.InProgress)) {
		return false, errAtWork
	}

	return found.Status == "COMPLETED" && isAlive, nil
}

// pythonKey returns the function that makes the key of Powertools for Python: prefix is the name of the Lambda function, a dot, and the
// module and the qualified name of the decorated function, as in "payments.app.pay".
func pythonKey(prefix string) func(id string) string {
	return func(id string) string {
		sum := md5.Sum([]byte(strconv.Quote(id))) //nolint:gosec // as the earlier function has it

		return prefix + "#" + hex.EncodeToString(sum[:])
	}
}

// typescriptKey returns the function that makes the key of Powertools for TypeScript: prefix is the name of the Lambda function, and for a
// decorated method a dot and its name.
func typescriptKey(prefix string) func(id string) string {
	return func(id string) string {
		sum := md5.Sum([]byte(strconv.Quote(id))) //nolint:gosec // as the earlier function has it

		return prefix + "#" + base64.StdEncoding.EncodeToString(sum[:])
	}
}

// isPlain reports whether an id is visible ASCII: for such a text Python, JavaScript and strconv.Quote write the same JSON.
func isPlain(id string) bool {
	for _, r := range id {
		if r < '!' || r > '~' {
			return false
		}
	}

	return id != ""
}
