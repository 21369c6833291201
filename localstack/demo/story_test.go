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
	"github.com/idemddb/go-idemddb/idemddb"
)

var update = flag.Bool("update", false, "write testdata/story.txt anew")

// TestStory compares the whole text with testdata/story.txt. The checks of the steps hold for any version of the library; the
// text has its log lines and numbers of requests too. After a change of these, write the file anew and read the difference:
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
	if !strings.HasSuffix(first, " 17 effects for 17 payments") || !strings.HasSuffix(story, "\n"+first+"\n") {
		t.Errorf("the result is not the first and the last line:\n%s", story)
	}
}

func TestStoryOnDynamoDBLocal(t *testing.T) { // it is not parallel, because the script that starts the engine needs another working directory
	if testing.Short() && os.Getenv("DYNAMODB_LOCAL_ENDPOINT") == "" {
		t.Skip("-short starts no DynamoDB Local: set DYNAMODB_LOCAL_ENDPOINT, or leave -short out")
	}

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
		"each payment is staged twice, which a transaction cannot write": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				return errors.Join(accounts.Pay(ctx, m), accounts.Pay(ctx, m))
			},
			"step 1, First delivery: call-1 did {failed:m-1 ", ": the accounts have 0.00 in 0 payments, they should have 0.00 in 0 payments",
		},
		"no payment is staged": {
			func(context.Context, *ledger.Ledger, events.SQSMessage) error { return nil },
			"step 1, First delivery: call-1 did {failed:m-1 ", ": the accounts have 0.00 in 0 payments, they should have 0.00 in 0 payments",
		},
		"nothing is staged, knowingly": {
			func(ctx context.Context, _ *ledger.Ledger, _ events.SQSMessage) error {
				return idemddb.Stage(ctx, idemddb.Effects{})
			},
			"step 1, First delivery: ", ": the accounts have 0.00 in 0 payments, they should have 12.50 in 1 payment",
		},
		"a payment is staged and reported failed": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				return errors.Join(accounts.Pay(ctx, m), errors.New("no"))
			},
			"step 1, First delivery: call-1 did {failed:m-1 ", ": the accounts have 0.00 in 0 payments, they should have 0.00 in 0 payments",
		},
		"one payment of ten is another's": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				if m.MessageId == "m-15" {
					m.Body = strings.Replace(m.Body, `"amount":100`, `"amount":101`, 1)
				}

				return accounts.Pay(ctx, m)
			},
			"step 8, Ten messages share their requests: ", ": the accounts have 125.01 in 16 payments, they should have 125.00 in 16 payments",
		},
		"one payment of ten is made twice": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				if m.MessageId != "m-15" {
					return accounts.Pay(ctx, m)
				}

				again := m
				again.Body = strings.NewReplacer("p-15", "p-15-again", "a-15", "a-15-again").Replace(m.Body)

				return errors.Join(accounts.Pay(ctx, m), accounts.Pay(ctx, again))
			},
			"step 8, Ten messages share their requests: ", ": the accounts have 126.00 in 17 payments, they should have 125.00 in 16 payments",
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
