package main

import (
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Who turns a table's stream off and on has a new one, and what the old one had is not judged.
func TestAnAuditSaysThatItsStreamIsTooYoung(t *testing.T) {
	t.Parallel()

	n := streaming(t)
	n.complete("p-9")

	edited := n.item("p-9")
	edited["fence"] = number("1")
	n.put(edited)

	for _, stream := range []types.StreamSpecification{
		{StreamEnabled: new(false)}, {StreamEnabled: new(true), StreamViewType: types.StreamViewTypeNewAndOldImages},
	} {
		if _, err := n.client.UpdateTable(t.Context(), &dynamodb.UpdateTableInput{TableName: &n.table, StreamSpecification: &stream}); err != nil {
			t.Fatal(err)
		}
	}

	n.complete("p-8")

	n.idem("audit", "--since", "1ms")
	n.expect(exitDone)

	if strings.Contains(n.shown(), "younger") {
		t.Error("the stream is older than what was asked for")
	}

	n.idem("audit", "--since", "2h")
	n.expect(exitDone, "2 changes judged", "The stream is younger than --since: what was changed before it began is not in it.")
}
