package byhand

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// words are the two requests of a message.
type words struct {
	claim    func(table string, key map[string]types.AttributeValue, token string, now time.Time) *dynamodb.UpdateItemInput
	complete func(table string, key map[string]types.AttributeValue, token string, fence int64) *dynamodb.UpdateItemInput
}

// full keeps what the library keeps, under the same conditions.
var full = words{
	claim: func(table string, key map[string]types.AttributeValue, token string, now time.Time) *dynamodb.UpdateItemInput {
		return &dynamodb.UpdateItemInput{
			TableName: &table,
			Key:       key,
			ConditionExpression: new("attribute_not_exists(pk) OR (v = :v AND st = :inprogress AND lease < :dead AND #exp > :nowsec" +
				" AND own <> :mine)"),
			UpdateExpression: new("SET v = :v, st = :inprogress, own = :mine, fence = if_not_exists(fence, :nowms) + :one," +
				" prev = if_not_exists(lease, :zero), lease = :lease, #exp = :exp, att = if_not_exists(att, :zero) + :one," +
				" born = if_not_exists(born, :nowms)"),
			ExpressionAttributeNames: map[string]string{"#exp": "exp"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":v": number(1), ":inprogress": text("INPROGRESS"), ":zero": number(0), ":one": number(1), ":mine": text(token),
				":nowms": number(now.UnixMilli()), ":nowsec": number(now.Unix()), ":dead": number(now.Add(-skew).UnixMilli()),
				":lease": number(now.Add(lease).UnixMilli()), ":exp": number(now.Add(retention).Unix()),
			},
			ReturnValues:                        types.ReturnValueAllOld,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
	},
	complete: func(table string, key map[string]types.AttributeValue, token string, fence int64) *dynamodb.UpdateItemInput {
		now := time.Now()

		return &dynamodb.UpdateItemInput{
			TableName:                &table,
			Key:                      key,
			ConditionExpression:      new("own = :mine AND fence = :fence AND st = :inprogress AND lease > :zero"),
			UpdateExpression:         new("SET st = :completed, done = :nowms, #exp = :exp REMOVE err"),
			ExpressionAttributeNames: map[string]string{"#exp": "exp"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":mine": text(token), ":fence": number(fence), ":zero": number(0), ":inprogress": text("INPROGRESS"),
				":completed": text("COMPLETED"), ":nowms": number(now.UnixMilli()), ":exp": number(now.Add(retention).Unix()),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
	},
}

// lean keeps as little as a fenced lease needs.
var lean = words{
	claim: func(table string, key map[string]types.AttributeValue, token string, now time.Time) *dynamodb.UpdateItemInput {
		return &dynamodb.UpdateItemInput{
			TableName:                &table,
			Key:                      key,
			ConditionExpression:      new("attribute_not_exists(pk) OR (st = :inprogress AND lease < :dead)"),
			UpdateExpression:         new("SET st = :inprogress, own = :mine, lease = :lease, #exp = :exp"),
			ExpressionAttributeNames: map[string]string{"#exp": "exp"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":inprogress": text("INPROGRESS"), ":mine": text(token), ":dead": number(now.Add(-skew).UnixMilli()),
				":lease": number(now.Add(lease).UnixMilli()), ":exp": number(now.Add(retention).Unix()),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
	},
	complete: func(table string, key map[string]types.AttributeValue, token string, _ int64) *dynamodb.UpdateItemInput {
		return &dynamodb.UpdateItemInput{
			TableName:                &table,
			Key:                      key,
			ConditionExpression:      new("own = :mine AND st = :inprogress"),
			UpdateExpression:         new("SET st = :completed, #exp = :exp"),
			ExpressionAttributeNames: map[string]string{"#exp": "exp"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":mine": text(token), ":inprogress": text("INPROGRESS"), ":completed": text("COMPLETED"),
				":exp": number(time.Now().Add(retention).Unix()),
			},
		}
	},
}
