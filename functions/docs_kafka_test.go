package functions_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A mapping in the mode Queue (share groups) has no order, and nobody has read up what it does with the offsets of an answer. So
// lambdawrap.Kafka is not for it, and no template and no page of ours may ask for it.
func TestNoTemplateReadsKafkaByShareGroups(t *testing.T) {
	t.Parallel()

	checked := 0

	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".yaml") && !strings.HasSuffix(path, ".md") {
			return err
		}

		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}

		checked++

		for n, line := range strings.Split(string(text), "\n") {
			if name, value, isSet := strings.Cut(strings.ReplaceAll(strings.Trim(line, " -\"'"), " ", ""), ":"); isSet &&
				strings.HasSuffix(name, "ConsumptionMode") && strings.Trim(value, `"'`) == "Queue" {
				t.Errorf("%s:%d: ConsumptionMode: Queue has no order; lambdawrap.Kafka needs the mode Stream", path, n+1)
			}
		}

		return nil
	})
	if err != nil || checked < 10 {
		t.Fatalf("%d templates and pages checked: %v", checked, err)
	}
}
