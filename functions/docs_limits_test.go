package functions_test

import (
	"regexp"
	"strings"
	"testing"
)

// Each limit of the page is a constant of the code.
func TestLimitsPageHasTheConstantsOfTheCode(t *testing.T) {
	t.Parallel()

	page := readRoot(t, "docs/limits.md")

	for _, limit := range []struct{ file, constant, value, row string }{
		{"idemddb/store.go", "maxNamespace", "255", "| a namespace | 255 bytes"},
		{"internal/record/record.go", "maxKey", "1024", "above 1,024 bytes"},
		{"idemddb/options.go", "maxName", "255", "| an attribute's name in `Options` | 255 bytes"},
		{"internal/dbitem/write.go", "MaxSize", "400 << 10", "its messages | 400 KB"},
		{"idemddb/options.go", "defaultInlineResult", "32 << 10", "| 32 KB (`InlineResult`)"},
		{"idemddb/options.go", "maxInlineResult", "350 << 10", "at most 350 KB"},
		{"internal/record/part.go", "PartSize", "390 << 10", "parts of 390 KB"},
		{"internal/record/part.go", "MaxParts", "16", "6,389,760 bytes, 16 parts"},
		{"internal/record/bound.go", "MaxCause", "256", "in a record | 256 bytes"},
		{"idemddb/operate/change.go", "MaxBy", "64", "| 64 and 200 bytes"},
		{"idemddb/operate/change.go", "MaxWhy", "200", "| 64 and 200 bytes"},
		{"idemddb/effects.go", "maxEffects", "99", "| staged items | 99,"},
		{"idemddb/effects.go", "maxTransaction", "4 << 20", "one transaction writes | 4 MB"},
		{"idemddb/effects.go", "plainRecord", "8 << 10", "| 392 KB together"},
		{"internal/delivery/check.go", "maxGroup", "128", "| 128 visible"},
		{"internal/delivery/check.go", "maxMessageAttributes", "8", "8 attributes"},
		{"internal/idemhttp/request.go", "maxKey", "255", "`Idempotency-Key` | 255 characters"},
		{"lambdawrap/envelope.go", "defaultEnvelopeBytes", "10 << 20", "| 10 MB (`EnvelopeLimits.Bytes`)"},
		{"lambdawrap/envelope.go", "defaultEnvelopeDepth", "4", "4 inside of each other"},
		{"lambdawrap/http.go", "defaultMaxBody", "1 << 20", "| 1 MiB (`MaxBody`)"},
		{"internal/idemhttp/stored_answer.go", "maxKeptHeader", "8 << 10", "a replay has | 8 KB"},
		{"lambdawrap/log.go", "maxErrorText", "4 << 10", "| 4 KB and 32 KB"},
		{"lambdawrap/log.go", "maxStack", "32 << 10", "| 4 KB and 32 KB"},
		{"idemddb/operate/selection.go", "defaultBudget", "10_000", "| 10,000 (`--budget`)"},
		{"idemddb/options.go", "defaultLease", "30 * time.Second", "| a lease | 30 s"},
		{"idemddb/options.go", "defaultRetention", "7 * 24 * time.Hour", "| a record | 7 days"},
		{"idemddb/options.go", "defaultClaimPatience", "5 * time.Second", "| 5 s (`ClaimPatience`)"},
		{"lambdawrap/http_exchange.go", "commitTime", "5 * time.Second", "behind `HTTP` without an answer | 5 s"},
		{"internal/planner/write.go", "Size", "25", "in one request | 25, and eight shared"},
		{"internal/planner/write.go", "Size", "25", "in one transaction | 25, with 100 items"},
		{"internal/planner/write.go", "maxFlights", "8", "25, and eight shared requests"},
		{"internal/delivery/targets.go", "targetTime", "2 * time.Second", "| 2 s a target"},
		{"internal/delivery/targets.go", "targetPause", "10 * time.Second", "a target without an answer | 10 s"},
		{"internal/delivery/sending.go", "maxUnsent", "7 * 24 * time.Hour", "stays unsent | 7 days"},
	} {
		is := regexp.MustCompile(`(?m)^(?:const |\t)` + limit.constant + ` *= ` + regexp.QuoteMeta(limit.value) + `(?: *//.*)?$`)
		if !is.MatchString(readRoot(t, limit.file)) {
			t.Errorf("%s: %s is not %s any more, as docs/limits.md has it", limit.file, limit.constant, limit.value)
		}

		if !strings.Contains(page, limit.row) {
			t.Errorf("docs/limits.md lacks %q, for %s", limit.row, limit.constant)
		}
	}
}
