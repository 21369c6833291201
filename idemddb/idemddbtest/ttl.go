package idemddbtest

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
)

// Expire deletes the items that DynamoDB may have deleted by now, in all tables with Time to Live: those whose attribute is a
// number of seconds since 1970 in the past, by at most five years. DynamoDB deletes them up to days late, so until Expire is
// called an expired item can be read and written as any other. Expire returns how many items it deleted.
func (db *DB) Expire() int {
	db.mu.Lock()
	defer db.mu.Unlock()

	now := db.now()
	latest := strconv.FormatInt(now.Unix(), 10)
	earliest := strconv.FormatInt(now.AddDate(-5, 0, 0).Unix(), 10)
	n := 0

	for _, t := range db.tables {
		if t.TTL == "" {
			continue
		}

		for id, it := range t.Items {
			exp, ok := it[t.TTL].(*types.AttributeValueMemberN)
			if ok && !db.holds(t, id) && attribute.CompareNumbers(exp.Value, latest) < 0 && attribute.CompareNumbers(exp.Value, earliest) >= 0 {
				db.store(t, id, nil, true)

				n++
			}
		}
	}

	return n
}

// updateTimeToLive sets the attribute, or none. Unlike the service it also accepts a second change at once and a change to the
// same.
func (db *DB) updateTimeToLive(in *dynamodb.UpdateTimeToLiveInput) (*dynamodb.UpdateTimeToLiveOutput, error) {
	t, err := db.tables.Find(in.TableName)
	if err != nil {
		return nil, err
	}

	spec := in.TimeToLiveSpecification
	if spec == nil || spec.AttributeName == nil || spec.Enabled == nil || *spec.AttributeName == "" {
		return nil, exception.Validation("TimeToLiveSpecification must not be null")
	}

	t.TTL = ""
	if *spec.Enabled {
		t.TTL = *spec.AttributeName
	}

	return &dynamodb.UpdateTimeToLiveOutput{TimeToLiveSpecification: &types.TimeToLiveSpecification{
		AttributeName: new(*spec.AttributeName), Enabled: new(*spec.Enabled),
	}}, nil
}
