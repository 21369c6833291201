package delivery

import (
	"encoding/json"
	"strings"
)

// Where a message that was staged carries its id, which stays the same however often it is sent. Package outbox puts the id
// there, and the key functions of package lambdawrap read it.
const (
	IDAttribute = "idemddb-id" // the message attribute of SQS and SNS that has the id
	IDResource  = "idemddb:"   // what the id follows in one of the resources of an event of EventBridge
)

// IDInEnvelope returns the id in a text that is the envelope of SNS around a staged message, or an event of EventBridge; "" if
// there is none.
func IDInEnvelope(text string) string {
	var (
		envelope struct {
			Type              string                     `json:"Type"`
			MessageAttributes map[string]json.RawMessage `json:"MessageAttributes"`
			DetailType        string                     `json:"detail-type"`
			Resources         []string                   `json:"resources"`
		}
		attribute struct {
			Value string `json:"Value"`
		}
	)

	switch {
	case json.Unmarshal([]byte(text), &envelope) != nil:
		return ""
	case envelope.Type == "Notification" && json.Unmarshal(envelope.MessageAttributes[IDAttribute], &attribute) == nil:
		return attribute.Value
	case envelope.DetailType != "":
		return IDInResources(envelope.Resources)
	default:
		return ""
	}
}

// IDInResources returns the id in the resources of an event; "" if there is none.
func IDInResources(resources []string) string {
	for _, resource := range resources {
		if id, ok := strings.CutPrefix(resource, IDResource); ok {
			return id
		}
	}

	return ""
}
