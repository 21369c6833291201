package main

import (
	"encoding/json"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// With --json each line of each command is an object.
func TestTTLPrintsAnObject(t *testing.T) {
	t.Parallel()

	n := newNight(t, ttlEngine(t, &types.TimeToLiveDescription{TimeToLiveStatus: types.TimeToLiveStatusEnabled, AttributeName: new("exp")}))
	n.idem("ttl", "--json")
	n.expect(exitDone)

	var got struct {
		Attribute string
		IsOn      bool `json:"is_on"`
	}
	if err := json.Unmarshal([]byte(n.lastOut), &got); err != nil || got.Attribute != "exp" || !got.IsOn {
		t.Errorf("%q: got %+v, %v", n.lastOut, got, err)
	}
}
