package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/streamrecord"
)

// readRecords takes an event apart. The records stay as they are, so that one that cannot be read does not hide the others.
func readRecords(event json.RawMessage) ([]json.RawMessage, error) {
	var in struct {
		Records []json.RawMessage `json:"Records"`
	}

	if err := json.Unmarshal(event, &in); err != nil {
		return nil, fmt.Errorf("the event is not one of a stream: %w", err)
	}

	if len(in.Records) == 0 {
		return nil, errors.New("the event is not one of a stream: it has no Records")
	}

	return in.Records, nil
}

// readChange reads the change of a record. No error has anything of the item in it.
func readChange(record json.RawMessage) (audit.Change, error) {
	var r events.DynamoDBEventRecord
	if err := json.Unmarshal(record, &r); err != nil {
		return audit.Change{}, fmt.Errorf("the record is malformed: %w", err)
	}

	if view := r.Change.StreamViewType; view != string(events.DynamoDBStreamViewTypeNewAndOldImages) {
		return audit.Change{}, fmt.Errorf("the stream's view type is %q: disable the stream, and then set it to NEW_AND_OLD_IMAGES", view)
	}

	change := audit.Change{
		Before: streamrecord.Image(r.Change.OldImage), After: streamrecord.Image(r.Change.NewImage),
		Time: r.Change.ApproximateCreationDateTime.Time, ByTimeToLive: isTimeToLive(r.UserIdentity),
	}

	has := [2]bool{len(change.Before) > 0, len(change.After) > 0}
	if want, known := images[events.DynamoDBOperationType(r.EventName)]; !known || has != want {
		return audit.Change{}, fmt.Errorf("the record is of the kind %q, has an item before the change: %t, and after it: %t", r.EventName, has[0], has[1])
	}

	return change, nil
}

// images says whether a change of each kind has an item before it and after it.
var images = map[events.DynamoDBOperationType][2]bool{
	events.DynamoDBOperationTypeInsert: {false, true},
	events.DynamoDBOperationTypeModify: {true, true},
	events.DynamoDBOperationTypeRemove: {true, false},
}

// isTimeToLive reports whether DynamoDB itself deleted the item. Developer Guide, "DynamoDB Streams and Time to Live".
func isTimeToLive(who *events.DynamoDBUserIdentity) bool {
	return who != nil && who.Type == "Service" && who.PrincipalID == "dynamodb.amazonaws.com"
}

// takeoverOf is the metric of a change that took a key over from an earlier claim, or "". The lease that the change found is the
// cause: it was over, or −1, because an operator released the claim or a worker gave a takeover back.
func takeoverOf(change audit.Change, kind audit.Kind) string {
	switch kind {
	case audit.Takeover, audit.Commit, audit.Rejection: // the last two claim and end a key in one write
	default:
		return ""
	}

	lease, _ := change.Before["lease"].(*types.AttributeValueMemberN)

	switch {
	case lease == nil || lease.Value == "0": // there was no claim, or its worker has released it
		return ""
	case strings.HasPrefix(lease.Value, "-"):
		return takeoverReleased
	default:
		return takeoverExpired
	}
}
