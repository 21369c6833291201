// Package unstaged ignores errors of Stage.
package unstaged

import (
	"context"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

var effects = idemddb.Effects{Items: []types.TransactWriteItem{{}}}

func ignored(ctx context.Context, _ events.SQSMessage) error {
	idemddb.Stage(ctx, effects) // want `the error of Stage is thrown away`

	return nil
}

func blank(ctx context.Context, _ events.SQSMessage) error {
	_ = idemddb.Stage(ctx, effects) // want `the error of Stage is thrown away`

	return nil
}

func deferred(ctx context.Context, _ events.SQSMessage) error {
	defer idemddb.Stage(ctx, effects) // want `Stage is deferred`

	return nil
}

func beside(ctx context.Context, _ events.SQSMessage) error {
	go idemddb.Stage(ctx, effects) // want `Stage is called in a goroutine`

	return nil
}
