package audit_test

import (
	"testing"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

func BenchmarkChecker_Check(b *testing.B) {
	checker, err := audit.NewChecker(audit.Options{})
	if err != nil {
		b.Fatal(err)
	}

	changes := []audit.Change{
		{After: claimed(), Time: at(start)},
		{Before: claimed(), After: takenOver(), Time: at(start + 40*second)},
		{Before: claimed(), After: unsent(), Time: at(start + second)},
		{Before: unsent(), After: parked(), Time: at(start + second)},
	}

	for b.Loop() {
		for _, c := range changes {
			checker.Check(c)
		}
	}
}
