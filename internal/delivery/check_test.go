package delivery_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/record"
)

// What a target refuses would be parked when it is sent, behind the completion of its key.
func TestAMessageThatNoTargetTakesIsRefused(t *testing.T) {
	t.Parallel()

	eight := map[string]string{}
	for i := range 8 {
		eight[fmt.Sprint("name-", i)] = "value"
	}

	nine := maps.Clone(eight)
	nine["name-8"] = "value"

	for name, c := range map[string]struct {
		content record.Content
		want    string // "" for none
	}{
		"the longest group":            {record.Content{To: "bank", Body: "b", Group: strings.Repeat("!~", 64)}, ""},
		"the most attributes":          {record.Content{To: "bank", Body: "b", Attributes: eight}, ""},
		"no target":                    {record.Content{Body: "b"}, "message 1: Message.To: "},
		"a target that is not UTF-8":   {record.Content{To: "\xff", Body: "b"}, "message 1: Message.To: "},
		"no body":                      {record.Content{To: "bank"}, "message 1: Message.Body: "},
		"a body that is not UTF-8":     {record.Content{To: "bank", Body: "\xff"}, "message 1: Message.Body: "},
		"a group that is too long":     {record.Content{To: "bank", Body: "b", Group: strings.Repeat("g", 129)}, "message 1: Message.Group: "},
		"a group with a space":         {record.Content{To: "bank", Body: "b", Group: "g h"}, "message 1: Message.Group: "},
		"a group with another letter":  {record.Content{To: "bank", Body: "b", Group: "gä"}, "message 1: Message.Group: "},
		"too many attributes":          {record.Content{To: "bank", Body: "b", Attributes: nine}, "message 1: Message.Attributes: "},
		"a name of the library":        {attribute("idemddb-id", "value"), "message 1: Message.Attributes: "},
		"an attribute without a name":  {attribute("", "value"), "message 1: Message.Attributes: "},
		"an attribute without a value": {attribute("name", ""), "message 1: Message.Attributes: "},
		"a name that is not UTF-8":     {attribute("\xff", "value"), "message 1: Message.Attributes: "},
		"a value that is not UTF-8":    {attribute("name", "\xff"), "message 1: Message.Attributes: "},
	} {
		messages := append(letters("", "before"), record.Message{Content: c.content})

		err := delivery.Check(messages, delivery.Size(messages))
		if (err == nil) != (c.want == "") || err != nil && !strings.HasPrefix(err.Error(), c.want) {
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func attribute(name, value string) record.Content {
	return record.Content{To: "bank", Body: "b", Attributes: map[string]string{name: value}}
}

func TestARecordHasRoomForItsMessagesAndForTheirCauses(t *testing.T) {
	t.Parallel()

	open := record.Message{Content: record.Content{To: "bank", Body: "body", Group: "group", Attributes: map[string]string{"name": "value"}}}
	sealed := record.Message{Content: record.Content{To: "bank"}, Sealed: []byte("sealed")}
	each := len("bank") + 64 + record.MaxCause

	size := each + len("body"+"group"+"name"+"value") + 1
	if got := delivery.Size([]record.Message{open, sealed}); got != size+each+len("sealed") {
		t.Errorf("both have %d bytes, want %d", got, size+each+len("sealed"))
	}

	for room, want := range map[int]bool{size: true, size - 1: false} {
		if err := delivery.Check([]record.Message{open}, room); (err == nil) != want {
			t.Errorf("room for %d bytes: got %v", room, err)
		}
	}
}
