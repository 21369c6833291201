package idemddbtest_test

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The requests of the library, with few values, so that conditions are often true.
const (
	claimCondition = "attribute_not_exists(pk) OR (v = :v AND st = :inprogress AND lease < :before AND #exp > :nowsec AND own <> :mine" +
		" AND (attribute_not_exists(fp) OR fp = :fp OR NOT begins_with(fp, :fpver)) AND att < :max)"
	claimUpdate = "SET v = :v, st = :inprogress, own = :mine, fence = if_not_exists(fence, :now) + :one, lease = :until, #exp = :exp," +
		" att = if_not_exists(att, :zero) + :one, born = if_not_exists(born, :now), fp = :fp REMOVE res, err"
	settleCondition  = "own = :mine AND fence = :fence AND st = :inprogress AND lease > :zero"
	completeUpdate   = "SET st = :completed, res = :res, #exp = :exp, lease = :zero REMOVE err"
	releaseCondition = "own = :mine AND fence = :fence AND st = :inprogress"
	releaseUpdate    = "SET lease = :zero, err = :err ADD att :minus"
)

// record adds the attributes of a record of idemddb.
func (g *generator) record(it attributes) {
	it["v"] = n("1")
	it["st"] = s(g.pick("st", "INPROGRESS", "INPROGRESS", "COMPLETED", "FAILED"))
	it["own"] = g.owner()
	it["fence"] = n(g.pick("fence", "1", "1700000000000"))
	it["lease"] = n(g.pick("lease", "0", "1000", "3000"))
	it["exp"] = n(g.pick("exp", "5", "50"))

	it["att"] = n(g.pick("att", "1", "2"))
	if g.chance(50, "fp") {
		it["fp"] = s(g.pick("fp", "1:a", "1:b", "2:a"))
	}
}

func (g *generator) owner() types.AttributeValue { return s(g.pick("own", "me", "other")) }

func (g *generator) idemddb(k itemKey) any {
	in := &dynamodb.UpdateItemInput{
		TableName: &k.table, Key: k.key, ReturnValues: types.ReturnValue(g.pick("returns", "ALL_OLD", "ALL_NEW", "UPDATED_NEW")),
		ReturnConsumedCapacity:              types.ReturnConsumedCapacityTotal,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
		ExpressionAttributeNames:            map[string]string{"#exp": "exp"},
	}

	mine := g.owner()
	switch g.pick("request", "claim", "complete", "release") {
	case "claim":
		in.ConditionExpression, in.UpdateExpression = new(claimCondition), new(claimUpdate)
		in.ExpressionAttributeValues = attributes{
			":v": n("1"), ":inprogress": s("INPROGRESS"), ":before": n("2000"), ":nowsec": n("10"), ":mine": mine, ":fp": s(g.pick("fp", "1:a", "1:b")), ":fpver": s("1:"),
			":max": n("2"), ":now": n("1700000000000"), ":one": n("1"), ":until": n("4000"), ":exp": n("60"), ":zero": n("0"),
		}
	case "complete":
		in.ConditionExpression, in.UpdateExpression = new(settleCondition), new(completeUpdate)
		in.ExpressionAttributeValues = attributes{
			":mine": mine, ":fence": n(g.pick("fence", "1", "1700000000000", "1700000000001")), ":inprogress": s("INPROGRESS"), ":zero": n("0"),
			":completed": s("COMPLETED"), ":res": &types.AttributeValueMemberB{Value: []byte("{}")}, ":exp": n("70"),
		}
	default:
		in.ConditionExpression, in.UpdateExpression, in.ExpressionAttributeNames = new(releaseCondition), new(releaseUpdate), nil
		in.ExpressionAttributeValues = attributes{
			":mine": mine, ":fence": n(g.pick("fence", "1", "1700000000000", "1700000000001")), ":inprogress": s("INPROGRESS"), ":zero": n("0"),
			":err": s("boom"), ":minus": n("-1"),
		}
	}

	return in
}

func s(text string) types.AttributeValue   { return &types.AttributeValueMemberS{Value: text} }
func n(number string) types.AttributeValue { return &types.AttributeValueMemberN{Value: number} }
