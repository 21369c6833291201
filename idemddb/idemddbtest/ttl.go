package idemddbtest

import (
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Expire deletes, in all tables with Time to Live, what DynamoDB would delete by now: items whose attribute is a Number of seconds
// since 1970 that lies in the past, by at most five years. DynamoDB deletes late, by up to days, so nothing goes before Expire is
// called: until then an expired item can be read and written as any other. It answers how many items it deleted.
func (db *DB) Expire() int {
	db.mu.Lock()
	defer db.mu.Unlock()
	now := db.now()
	latest := strconv.FormatInt(now.Unix(), 10)
	earliest := strconv.FormatInt(now.AddDate(-5, 0, 0).Unix(), 10)
	n := 0
	for _, t := range db.tables {
		if t.ttl == "" {
			continue
		}
		for id, it := range t.items {
			exp, ok := it[t.ttl].(*types.AttributeValueMemberN)
			if ok && !db.holds(t, id) && compareNumbers(exp.Value, latest) < 0 && compareNumbers(exp.Value, earliest) >= 0 {
				delete(t.items, id)
				n++
			}
		}
	}
	return n
}

// updateTimeToLive sets the attribute, or none. Unlike the service it takes a second change at once, and one that changes nothing.
func (db *DB) updateTimeToLive(in *dynamodb.UpdateTimeToLiveInput) (*dynamodb.UpdateTimeToLiveOutput, error) {
	t, err := db.table(in.TableName)
	if err != nil {
		return nil, err
	}

	spec := in.TimeToLiveSpecification
	if spec == nil || spec.AttributeName == nil || spec.Enabled == nil || *spec.AttributeName == "" {
		return nil, invalid("TimeToLiveSpecification must not be null")
	}

	t.ttl = ""
	if *spec.Enabled {
		t.ttl = *spec.AttributeName
	}

	return &dynamodb.UpdateTimeToLiveOutput{TimeToLiveSpecification: &types.TimeToLiveSpecification{
		AttributeName: new(*spec.AttributeName), Enabled: new(*spec.Enabled),
	}}, nil
}
