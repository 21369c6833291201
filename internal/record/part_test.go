package record_test

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/internal/record"
)

func TestPartsOfAName(t *testing.T) {
	t.Parallel()

	sum := sha256.Sum256([]byte("paid"))

	for length, want := range map[int]int{
		0: 1, 1: 1, record.PartSize: 1, record.PartSize + 1: 2, record.PartSize * record.MaxParts: record.MaxParts,
	} {
		name := record.NameInTable("payments#p-1", "request/TOKEN", sum, length)

		parts := record.Parts(name)
		if len(parts) != want || parts[want-1] != name {
			t.Errorf("%d bytes: %q of the name %q, want %d", length, parts, name, want)
		}

		for i, part := range parts {
			if !record.IsPart(part) || !strings.HasSuffix(part, fmt.Sprint("/", i+1)) {
				t.Errorf("%q", part)
			}
		}
	}

	known := record.NameInTable("payments#p-1", "TOKEN", sum, 1)
	known = known[:len(known)-1]

	for _, name := range []string{"", "payments/p-1/TOKEN-1", known, known + "0", known + "17", known + "-1", known + "x", known + "99999999999999999999"} {
		if parts := record.Parts(name); parts != nil {
			t.Errorf("%q has the parts %q", name, parts)
		}
	}
}

func TestNoRecordHasTheKeyOfAPart(t *testing.T) {
	t.Parallel()

	part := record.NameInTable("payments#p-1", "TOKEN", sha256.Sum256(nil), 1)
	_, key, _ := strings.Cut(part, "#")

	for _, key := range []string{
		key, "p-1", "a/b", record.DigestPrefix, record.DigestPrefix + strings.Repeat("a", 43),
		strings.Repeat("k/", 2_000), strings.Repeat("k", 43) + "/1",
	} {
		partition, err := record.Partition("payments", key, false)
		if err != nil || record.IsPart(partition) {
			t.Errorf("%.80q: %v", partition, err)
		}
	}

	if longer := "payments#" + record.DigestPrefix + strings.Repeat("a", 44); record.IsPart(longer) {
		t.Errorf("%q, which a foreign writer may have made, counts as a part", longer)
	}
}
