package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestEachSideStartsAndAnswers(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("building and linking programs costs more than all else of this package")
	}

	var out strings.Builder

	if err := run(t.Context(), &out, settings{starts: 1, size: 10, latency: time.Millisecond}); err != nil {
		t.Fatal(err)
	}

	for _, s := range sides {
		if !strings.Contains(out.String(), "\n"+s.name+" ") {
			t.Errorf("no row for %s:\n%s", s.name, out.String())
		}
	}
}

// A program has only what it uses: each of these prefixes of symbols would be memory and time of every start.
func TestAFunctionHasOnlyWhatItUses(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("building and linking programs costs more than all else of this package")
	}

	program := filepath.Join(t.TempDir(), "library")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-tags", "lambda.norpc", "-o", program, "./library").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}

	out, err := exec.CommandContext(t.Context(), "go", "tool", "nm", program).Output()
	if err != nil {
		t.Fatal(err)
	}

	symbols := string(out)
	if !strings.Contains(symbols, " github.com/idemddb/go-idemddb/lambdawrap.SQS") {
		t.Fatal("lambdawrap.SQS is no symbol: nothing could be found here")
	}

	const library, sdk = "github.com/idemddb/go-idemddb/", "github.com/aws/aws-sdk-go-v2/service/"

	for _, unused := range []string{
		library + "idemddb/outbox.", library + "idemddb/operate.", library + "idemddb/audit.", library + "idemddb/results.",
		library + "idemddb/idemddbtest.", library + "lambdawrap.Kinesis", library + "lambdawrap.DynamoDBStream", library + "lambdawrap.HTTP",
		library + "lambdawrap.DeadLetterQueue", library + "lambdawrap.S3Pointer", library + "internal/kpl.", library + "internal/tablestream.",
		sdk + "sqs.(*Client)", sdk + "s3.(*Client)", sdk + "sns.", sdk + "eventbridge.", sdk + "dynamodbstreams.(*Client)",
		"net/rpc.", "html/template.", "text/template.", "testing.",
	} {
		if strings.Contains(symbols, " "+unused) {
			t.Errorf("the program has symbols of %s", unused)
		}
	}
}
