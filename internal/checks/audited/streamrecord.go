package audited

import (
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// StreamRecord is a change as a stream of DynamoDB with both images hands it to a Lambda function: its time is in whole seconds.
func StreamRecord(c audit.Change) events.DynamoDBEventRecord {
	r := events.DynamoDBEventRecord{
		EventID: "1", EventName: "MODIFY", EventSource: "aws:dynamodb", EventVersion: "1.1", AWSRegion: "eu-west-1",
		EventSourceArn: "arn:aws:dynamodb:eu-west-1:111122223333:table/records/stream/2026-01-02T03:00:00.000",
		Change: events.DynamoDBStreamRecord{
			ApproximateCreationDateTime: events.SecondsEpochTime{Time: c.Time.Truncate(time.Second)},
			OldImage:                    imageOf(c.Before), NewImage: imageOf(c.After), SequenceNumber: "1", StreamViewType: "NEW_AND_OLD_IMAGES",
		},
	}

	switch {
	case c.Before == nil:
		r.EventName = "INSERT"
	case c.After == nil:
		r.EventName = "REMOVE"
	}

	if c.ByTimeToLive {
		r.UserIdentity = &events.DynamoDBUserIdentity{Type: "Service", PrincipalID: "dynamodb.amazonaws.com"}
	}

	return r
}

func imageOf(item map[string]types.AttributeValue) map[string]events.DynamoDBAttributeValue {
	if item == nil {
		return nil
	}

	image := make(map[string]events.DynamoDBAttributeValue, len(item))
	for name, value := range item {
		image[name] = streamValue(value)
	}

	return image
}

func streamValue(value types.AttributeValue) events.DynamoDBAttributeValue {
	switch v := value.(type) {
	case *types.AttributeValueMemberB:
		return events.NewBinaryAttribute(v.Value)
	case *types.AttributeValueMemberBOOL:
		return events.NewBooleanAttribute(v.Value)
	case *types.AttributeValueMemberBS:
		return events.NewBinarySetAttribute(v.Value)
	case *types.AttributeValueMemberL:
		list := make([]events.DynamoDBAttributeValue, len(v.Value))
		for i, element := range v.Value {
			list[i] = streamValue(element)
		}

		return events.NewListAttribute(list)
	case *types.AttributeValueMemberM:
		return events.NewMapAttribute(imageOf(v.Value))
	case *types.AttributeValueMemberN:
		return events.NewNumberAttribute(v.Value)
	case *types.AttributeValueMemberNS:
		return events.NewNumberSetAttribute(v.Value)
	case *types.AttributeValueMemberS:
		return events.NewStringAttribute(v.Value)
	case *types.AttributeValueMemberSS:
		return events.NewStringSetAttribute(v.Value)
	default:
		return events.NewNullAttribute()
	}
}
