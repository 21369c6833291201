// Package ledger writes what handlers of other packages have it write.
package ledger

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

type table interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// Ledger is a table of payments.
type Ledger struct{ table table }

// Book writes a payment.
func (l *Ledger) Book(ctx context.Context, id string) error {
	return l.put(ctx, &dynamodb.PutItemInput{TableName: &id})
}

func (l *Ledger) put(ctx context.Context, in *dynamodb.PutItemInput) error {
	_, err := l.table.PutItem(ctx, in)

	return err
}

// BookNew writes a payment that is not there.
func (l *Ledger) BookNew(ctx context.Context, id string) error {
	condition := "attribute_not_exists(pk)"

	_, err := l.table.PutItem(ctx, &dynamodb.PutItemInput{TableName: &id, ConditionExpression: &condition})

	return err
}

// Look reads a payment.
func (l *Ledger) Look(ctx context.Context, _ string) error {
	_, err := l.table.GetItem(ctx, &dynamodb.GetItemInput{})

	return err
}

// Mark notes that a message is worked on, and reports whether it was not before.
func (l *Ledger) Mark(ctx context.Context, id string) (bool, error) {
	return true, l.BookNew(ctx, id)
}
