package main

import (
	"crypto/rand"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/realengine"
	"github.com/idemddb/go-idemddb/internal/tablestream"
	"github.com/idemddb/go-idemddb/localstack/auditing"
)

func TestMain(m *testing.M) { os.Exit(realengine.Main(m)) }

// The stream is one of DynamoDB Local, which its authors built after DynamoDB's. A person's edit becomes a violation in the
// metrics.
func TestTheStreamOfARealEngineIsJudged(t *testing.T) {
	t.Parallel()

	s := newStream(t, audit.Options{Namespaces: []string{"payments"}})
	s.handler.options.Resolution = time.Minute // as the variables of a function on LocalStack say
	client, table := realengine.Client(t), "records-"+rand.Text()

	_, err := client.CreateTable(t.Context(), idemddbtest.CreateTable(table, ""))
	s.must(errors.Join(err, auditing.Enable(t.Context(), client, table)))

	store, err := idemddb.New(client, table, "payments", nil)
	s.must(err)

	for _, key := range []string{"p-8", "p-9"} {
		s.must(s.claim(store, key).Complete(t.Context(), []byte(`"receipt"`)))
	}

	_, err = client.UpdateItem(t.Context(), &dynamodb.UpdateItemInput{
		TableName: &table, Key: map[string]types.AttributeValue{"pk": text("payments#p-9")},
		UpdateExpression:          new("SET st = :st"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":st": text("INPROGRESS")},
	})
	s.must(err)

	// The end of a stream that is disabled is known, however slow the machine is.
	_, err = client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{
		TableName: &table, StreamSpecification: &types.StreamSpecification{StreamEnabled: new(false)},
	})
	s.must(err)

	arn, err := tablestream.Find(t.Context(), client, table)
	s.must(err)

	o := client.Options()
	streams := dynamodbstreams.New(dynamodbstreams.Options{Region: o.Region, BaseEndpoint: o.BaseEndpoint, Credentials: o.Credentials})

	_, err = tablestream.Read(t.Context(), streams, arn, nil, func(c tablestream.Change) error {
		s.changes = append(s.changes, audit.Change(c))

		return nil
	})
	s.must(err)

	metrics, lines := s.invoke()
	if diff := cmp.Diff(map[string]int{judged: 5, violations: 1}, metrics); diff != "" || len(lines) == 0 {
		t.Errorf("the lines are %v, the metrics (-want +got):\n%s", lines, diff)
	}
}
