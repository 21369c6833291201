package main

import (
	"strings"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

const tableARN = "arn:aws-cn:dynamodb:cn-north-1:111122223333:table/records"

// The table of another account is given by its ARN, which is then the resource.
func TestThePolicyOfATableThatIsGivenByItsARN(t *testing.T) {
	t.Parallel()

	n := newNight(t, idemddbtest.New(nil).Handler())
	n.idem("policy", "show", "list", "audit", "--table", tableARN)
	n.expect(exitDone, `"Resource":["`+tableARN+`"]`, `"`+tableARN+`/index/*"`, `"`+tableARN+`/stream/*"`)

	if strings.Contains(n.lastOut, "*:*") || strings.Contains(n.lastOut, "table/arn:") {
		t.Errorf("the policy has another table:\n%s", n.lastOut)
	}
}

// No statement of PartiQL takes an ARN, so that a check by it would never end with 0.
func TestACheckOfATableThatIsGivenByItsARN(t *testing.T) {
	t.Parallel()

	n := onDynamoDBLocal(t)
	n.payments()
	n.idem("check", "--table", "arn:aws:dynamodb:us-east-1:000000000000:table/"+n.table, "--function", "payments", "--retention", "720h")
	n.expect(exitDone, "note   PartiQL: not checked, because no statement takes the table's ARN", "ok     dynamodb:PutItem", "ok     dynamodb:GetItem")
}

func TestCloudWatchIsAskedForTheNameOfATableThatIsGivenByItsARN(t *testing.T) {
	t.Parallel()

	api := &metrics{}
	if _, err := consumed(t.Context(), api, tableARN, time.Now()); err != nil {
		t.Fatal(err)
	}

	for _, query := range api.asked[0].MetricDataQueries {
		if got := *query.MetricStat.Metric.Dimensions[0].Value; got != "records" {
			t.Errorf("asked for the table %q", got)
		}
	}
}
