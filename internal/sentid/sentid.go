// Package sentid says where a message that was staged carries its id, which stays the same however often it is sent. Package outbox puts the
// id there, and the key functions of package lambdawrap read it.
package sentid

import (
	"encoding/json"
	"strings"
)

// Where the id is.
const (
	Attribute = "idemddb-id" // the message attribute of SQS and SNS that has the id
	Resource  = "idemddb:"   // what the id follows in one of the resources of an event of EventBridge
)

// InEnvelope returns the id in a text that is the envelope of SNS around a staged message, or an event of EventBridge; "" if there is none.
func InEnvelope(text string) string {
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
	case envelope.Type == "Notification" && json.Unmarshal(envelope.MessageAttributes[Attribute], &attribute) == nil && attribute.Value != "":
		return attribute.Value
	case envelope.DetailType != "":
		return InResources(envelope.Resources)
	default:
		return ""
	}
}

// InResources returns the id in the resources of an event; "" if there is none.
func InResources(resources []string) string {
	for _, resource := range resources {
		if id, ok := strings.CutPrefix(resource, Resource); ok {
			return id
		}
	}

	return ""
}
