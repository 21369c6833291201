package main

import (
	"context"
	"errors"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
)

var update = flag.Bool("update", false, "write testdata/story.txt anew")

// TestStory compares the whole text with testdata/story.txt. The checks of the steps hold for any version of the library; the text has its
// log lines and numbers of requests too. After a change of these, write the file anew and read the difference:
//
//	go test ./localstack/demo -run '^TestStory$' -update && git diff localstack/demo/testdata
//
// In a synctest bubble all requests that are ready at the same time share one, so that the text is the same each time.
func TestStory(t *testing.T) {
	t.Parallel()

	got, err := storyInMemory(t, pay)
	if err != nil {
		t.Error(err)
	}

	golden := filepath.Join("testdata", "story.txt")
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}

	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(got, "\n")); diff != "" {
		t.Errorf("the story has changed, see the comment of this test (-want +got):\n%s", diff)
	}

	for n, line := range strings.Split(got, "\n") {
		if utf8.RuneCountInString(line) > pageWidth {
			t.Errorf("line %d is wider than %d columns: %s", n+1, pageWidth, line)
		}
	}
}

func TestStoryBeginsAndEndsWithItsResult(t *testing.T) {
	t.Parallel()

	story, err := storyInMemory(t, pay)
	if err != nil {
		t.Fatal(err)
	}

	first, _, _ := strings.Cut(story, "\n")
	if !strings.HasSuffix(first, " 16 effects for 16 payments") || !strings.HasSuffix(story, "\n"+first+"\n") {
		t.Errorf("the result is not the first and the last line:\n%s", story)
	}
}

func TestStoryOnDynamoDBLocal(t *testing.T) { // not parallel: the script that starts the engine needs another working directory
	t.Chdir("../..")

	var out strings.Builder

	if err := run(t.Context(), &printer{out: &out}, "dynamodb-local"); err != nil {
		t.Fatalf("%v\n%s", err, out.String())
	}

	want, err := os.ReadFile(filepath.Join("localstack", "demo", "testdata", "story.txt"))
	if err != nil {
		t.Fatal(err)
	}

	wantResult, _, _ := strings.Cut(string(want), "\n")
	if got, _, _ := strings.Cut(out.String(), "\n"); got != wantResult {
		t.Errorf("result: got %q, want that of the story in memory, %q", got, wantResult)
	}
}

// TestStoryEndsWithAnErrorIfPaymentsAreWrong runs payments code with a fault. The error names the step and the balance.
func TestStoryEndsWithAnErrorIfPaymentsAreWrong(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		work          handler
		step, balance string
	}{
		"each payment is made twice": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				return errors.Join(accounts.Pay(ctx, m), accounts.Pay(ctx, m))
			},
			"step 1, First delivery: ", ": the account has 25.00 in 2 payments, it should have 12.50 in 1 payment",
		},
		"no payment is made": {
			func(context.Context, *ledger.Ledger, events.SQSMessage) error { return nil },
			"step 1, First delivery: ", ": the account has 0.00 in 0 payments, it should have 12.50 in 1 payment",
		},
		"a payment is made and reported failed": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				return errors.Join(accounts.Pay(ctx, m), errors.New("no"))
			},
			"step 1, First delivery: call-1 did {failed:m-1 ", ": the account has 12.50 in 1 payment, it should have 0.00 in 0 payments",
		},
		"a failure is reported as a success": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				_ = accounts.Pay(ctx, m)

				return nil
			},
			"step 4, One of two messages fails: call-4 did {failed: ", ": the account has 40.00 in 3 payments, it should have 32.50 in 2 payments",
		},
		"the end of the context is ignored": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				return accounts.Pay(context.WithoutCancel(ctx), m)
			},
			"step 6, A worker that was frozen wakes up too late: ", ": the account has 155.00 in 7 payments, it should have 115.00 in 6 payments",
		},
		"one payment of ten is made twice": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				if m.MessageId == "m-15" {
					_ = accounts.Pay(ctx, m)
				}

				return accounts.Pay(ctx, m)
			},
			"step 8, Ten messages share their requests: ", ": the account has 126.00 in 17 payments, it should have 125.00 in 16 payments",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			_, err := storyInMemory(t, test.work)
			if err == nil || !strings.HasPrefix(err.Error(), test.step) || !strings.HasSuffix(err.Error(), test.balance) {
				t.Errorf("got %v, want %s…%s", err, test.step, test.balance)
			}
		})
	}
}

func TestUnknownEngine(t *testing.T) {
	t.Parallel()

	err := run(t.Context(), &printer{out: io.Discard}, "bogus")
	if want := `ENGINE: must be memory or dynamodb-local, is "bogus"`; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// storyInMemory runs all steps in a synctest bubble.
func storyInMemory(t *testing.T, work handler) (story string, err error) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		e, errOpen := open(t.Context(), "memory")
		if errOpen != nil {
			t.Fatal(errOpen)
		}

		var out strings.Builder

		err = play(t.Context(), e, &printer{out: &out}, work)
		story = out.String()
	})

	return story, err
}
