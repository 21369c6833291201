package lambdawrap_test

import (
	"fmt"
	"testing"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A restore has the sequencer of the object's creation, as S3 sends it, also when the object is restored again: the event of a later
// one, in another message of the queue, is other work. So it is with all that is neither created nor removed. A second message of an
// object that was created or removed, with one sequencer, is the same event.
func TestASecondRestoreOfAnObjectIsNotTakenForTheFirst(t *testing.T) {
	t.Parallel()

	for name, runs := range map[string]int{
		"ObjectCreated:Put": 1, "ObjectRemoved:Delete": 1, "ObjectRemoved:DeleteMarkerCreated": 1,
		"ObjectRestore:Post": 2, "ObjectRestore:Completed": 2, "LifecycleTransition": 2, "IntelligentTiering": 2, "ObjectAcl:Put": 2,
		"Replication:OperationFailedReplication": 2,
	} {
		each(t, name, oneHarness, func(h *harness) {
			h.opts.Envelope, h.opts.Key = lambdawrap.S3, nil
			function := h.handle(succeed)

			for number := range 2 {
				event := batch("m x")
				event.Records[0].MessageId = fmt.Sprint("m-", number)
				event.Records[0].Body = fmt.Sprintf(`{"Records":[{"eventSource":"aws:s3","eventName":%q,"eventTime":"2024-04-0%dT00:11:23.730Z",`+
					`"s3":{"bucket":{"name":"b"},"object":{"key":"a.zip","versionId":"v","sequencer":"00638792A45B638391"}}}]}`, name, number+1)

				for range 2 { // and once more, as a redelivery
					h.answered(function, event)
				}
			}

			if ran := len(h.runs.all()); ran != runs {
				h.Errorf("%d runs, want %d", ran, runs)
			}
		})
	}
}
