package lambdawrap

import "testing"

func TestOnlyTheStateOfAnExecutionIsADurableInvocation(t *testing.T) {
	t.Parallel()

	for payload, want := range map[string]bool{
		`{"DurableExecutionArn":"arn","CheckpointToken":"t","InitialExecutionState":{"Operations":[]}}`: true,
		`{"DurableExecutionArn":"arn"}`: false, `{"CheckpointToken":"t"}`: false, `{"DurableExecutionArn":1,"CheckpointToken":"t"}`: false,
		`{}`: false, `[]`: false, `null`: false, ``: false, `{"DurableExecutionArn":"arn","CheckpointToken":"t"`: false,
	} {
		if got := isDurable([]byte(payload)); got != want {
			t.Errorf("%s: got %t", payload, got)
		}
	}
}
