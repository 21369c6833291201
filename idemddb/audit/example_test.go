package audit_test

import (
	"fmt"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/audit"
)

// A test of one's own hands the changes of a table's stream to a Checker. Here a second worker takes a key over, which is right,
// and the first one then writes its completion without any condition, as a program does that does not keep to docs/record.md.
func ExampleChecker() {
	checker, err := audit.NewChecker(audit.Options{Resolution: time.Second}) // as DynamoDB's streams have it
	if err != nil {
		fmt.Println(err)

		return
	}

	overwritten := but(takenOver(), attributes{"st": text("COMPLETED"), "own": owner("W1"), "done": num(start + 45*second), "err": nil})

	for _, change := range []audit.Change{
		{After: claimed(), Time: at(start)},
		{Before: claimed(), After: takenOver(), Time: at(start + 40*second)},
		{Before: takenOver(), After: overwritten, Time: at(start + 45*second)},
	} {
		for _, violation := range checker.Check(change).Violations {
			fmt.Println(violation.Rule, violation.Attribute)
		}
	}

	fmt.Println(checker.Report())
	// Output:
	// stays own
	// sets tookat
	// audit: 3 changes judged: 1 new claim, 1 takeover, 1 completion; 1 violations, 0 late, 0 gaps
}

// A function on the stream has no memory, so it judges each change by itself.
func ExampleJudge() {
	verdict := audit.Judge(audit.Change{Before: claimed(), After: takenOver(), Time: at(start + 20*second)}, audit.Options{})

	fmt.Println(verdict.Kind)

	for _, violation := range verdict.Violations {
		fmt.Println(violation.Rule+":", violation.Text)
	}
	// Output:
	// takeover
	// lease not over: The clock of the worker, by the end of the lease that was found, and ClockSkew, 1893456031001, was at least 11.001s ahead of the time of the change.
}

func ExampleChecker_Story() {
	checker, err := audit.NewChecker(audit.Options{})
	if err != nil {
		fmt.Println(err)

		return
	}

	checker.Check(audit.Change{After: claimed(), Time: at(start)})
	checker.Check(audit.Change{Before: claimed(), After: unsent(), Time: at(start + second)})
	checker.Check(audit.Change{Before: unsent(), After: parked(), Time: at(start + 2*second)})
	checker.Check(audit.Change{Before: parked(), Time: at(start + 3*second)})

	fmt.Print(checker.Story("payments#p-1"))
	// Output:
	// 2030-01-01 00:00:00.000Z: "request-W1/Q5B7ZK4X2M6R3T1V8Y9W0NHJW1" claims the key with fencing token 1893456000001, as attempt 1, until 2030-01-01 00:00:30.000Z.
	// 2030-01-01 00:00:01.000Z: "request-W1/Q5B7ZK4X2M6R3T1V8Y9W0NHJW1" completes the key (completion with effects); the record answers until 2030-01-08 00:00:01.000Z. Messages to send: 3.
	// 2030-01-01 00:00:02.000Z: A sender leaves 0 messages unsent and 1 parked (parking).
	// 2030-01-01 00:00:03.000Z: The record is deleted. VIOLATION (deletion): The record was deleted, and not by Time to Live. An operator who forgets a record first writes so into op, and op does not say it.
}

// The error of a report is for a test: it has the first violations and the story of each key.
func ExampleReport_Err() {
	checker, err := audit.NewChecker(audit.Options{})
	if err != nil {
		fmt.Println(err)

		return
	}

	checker.Check(audit.Change{Before: done(), After: but(done(), attributes{"res": blob("another result")}), Time: at(start + 9*second)})

	fmt.Println(checker.Report().Err())
	// Output:
	// audit: 1 of 1 changes are violations
	// change 1, the last one of this story of payments#sha256:He5uPsZ9yAM7:
	//   2030-01-01 00:00:09.000Z: res changed; the nearest transition is "stamp". VIOLATION (sets): In a change of the kind "stamp", "op" must be a new one that says what is done; it was absent and is absent. VIOLATION (stays): In a change of the kind "stamp", "res" must be as it was, because this write does not name it; it was 4 bytes and is 14 bytes.
}

// A table each has a Checker; the log has one line for all of them.
func ExampleReport_Plus() {
	one := audit.Report{Judged: 2, Kinds: map[audit.Kind]int{audit.NewClaim: 1, audit.Completion: 1}}
	other := audit.Report{Judged: 1, Kinds: map[audit.Kind]int{audit.NewClaim: 1}, Late: 1}

	fmt.Println(one.Plus(other))
	// Output: audit: 3 changes judged: 2 new claim, 1 completion; 0 violations, 1 late, 0 gaps
}

// A report of a test of one's own shows which transitions the test never made.
func ExampleKinds() {
	report := audit.Report{Judged: 2, Kinds: map[audit.Kind]int{audit.NewClaim: 1, audit.Completion: 1}}

	missing := 0

	for _, kind := range audit.Kinds() {
		if report.Kinds[kind] == 0 {
			missing++
		}
	}

	fmt.Println(missing, "of", len(audit.Kinds()), "kinds were not seen")
	// Output: 28 of 30 kinds were not seen
}
