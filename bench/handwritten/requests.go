package handwritten

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// requests builds the two requests of a message.
type requests struct {
	claim    func(table string, key map[string]types.AttributeValue, owner string, now time.Time) *dynamodb.UpdateItemInput
	complete func(table string, key map[string]types.AttributeValue, owner string, fence int64) *dynamodb.UpdateItemInput
}

// fullRequests writes the attributes that the library writes, under the same conditions.
var fullRequests = requests{
	claim: func(table string, key map[string]types.AttributeValue, owner string, now time.Time) *dynamodb.UpdateItemInput {
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
				":v": numberValue(1), ":inprogress": stringValue("INPROGRESS"), ":zero": numberValue(0), ":one": numberValue(1), ":mine": stringValue(owner),
				":nowms": numberValue(now.UnixMilli()), ":nowsec": numberValue(now.Unix()), ":dead": numberValue(now.Add(-clockSkew).UnixMilli()),
				":lease": numberValue(now.Add(lease).UnixMilli()), ":exp": numberValue(now.Add(retention).Unix()),
			},
			ReturnValues:                        types.ReturnValueAllOld,
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
	},
	complete: func(table string, key map[string]types.AttributeValue, owner string, fence int64) *dynamodb.UpdateItemInput {
		now := time.Now()

		return &dynamodb.UpdateItemInput{
			TableName:                &table,
			Key:                      key,
			ConditionExpression:      new("own = :mine AND fence = :fence AND st = :inprogress AND lease > :zero"),
			UpdateExpression:         new("SET st = :completed, done = :nowms, #exp = :exp REMOVE err"),
			ExpressionAttributeNames: map[string]string{"#exp": "exp"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":mine": stringValue(owner), ":fence": numberValue(fence), ":zero": numberValue(0), ":inprogress": stringValue("INPROGRESS"),
				":completed": stringValue("COMPLETED"), ":nowms": numberValue(now.UnixMilli()), ":exp": numberValue(now.Add(retention).Unix()),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
	},
}

// leanRequests writes the fewest attributes with which a lease is safe: only the owner token guards the completion.
var leanRequests = requests{
	claim: func(table string, key map[string]types.AttributeValue, owner string, now time.Time) *dynamodb.UpdateItemInput {
		return &dynamodb.UpdateItemInput{
			TableName:                &table,
			Key:                      key,
			ConditionExpression:      new("attribute_not_exists(pk) OR (st = :inprogress AND lease < :dead)"),
			UpdateExpression:         new("SET st = :inprogress, own = :mine, lease = :lease, #exp = :exp"),
			ExpressionAttributeNames: map[string]string{"#exp": "exp"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":inprogress": stringValue("INPROGRESS"), ":mine": stringValue(owner), ":dead": numberValue(now.Add(-clockSkew).UnixMilli()),
				":lease": numberValue(now.Add(lease).UnixMilli()), ":exp": numberValue(now.Add(retention).Unix()),
			},
			ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		}
	},
	complete: func(table string, key map[string]types.AttributeValue, owner string, _ int64) *dynamodb.UpdateItemInput {
		return &dynamodb.UpdateItemInput{
			TableName:                &table,
			Key:                      key,
			ConditionExpression:      new("own = :mine AND st = :inprogress"),
			UpdateExpression:         new("SET st = :completed, #exp = :exp"),
			ExpressionAttributeNames: map[string]string{"#exp": "exp"},
			ExpressionAttributeValues: map[string]types.AttributeValue{
				":mine": stringValue(owner), ":inprogress": stringValue("INPROGRESS"), ":completed": stringValue("COMPLETED"),
				":exp": numberValue(time.Now().Add(retention).Unix()),
			},
		}
	},
}
