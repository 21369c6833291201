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

// In a bubble no machine is too slow for a lease: the story is the same each time, to the last request.
func TestStory(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		var out strings.Builder

		if err := play(t, &page{out: &out}, pay); err != nil {
			t.Error(err)
		}

		golden := filepath.Join("testdata", "story.txt")
		if *update {
			if err := os.WriteFile(golden, []byte(out.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}

		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}

		if diff := cmp.Diff(strings.Split(string(want), "\n"), strings.Split(out.String(), "\n")); diff != "" {
			t.Errorf("the story has changed; go test ./localstack/demo -update writes it anew (-want +got):\n%s", diff)
		}

		for n, line := range strings.Split(out.String(), "\n") {
			if utf8.RuneCountInString(line) > pageWidth {
				t.Errorf("line %d is wider than %d columns: %s", n+1, pageWidth, line)
			}
		}
	})
}

// The same scenes on a real engine, each with its own checks, and the same story, but for what a slow machine may try twice.
func TestStoryOnDynamoDBLocal(t *testing.T) { // not parallel: it changes the folder, for the script that starts the engine
	t.Chdir("../..")

	var out strings.Builder

	if err := run(t.Context(), &out, "dynamodb-local"); err != nil {
		t.Errorf("%v\n%s", err, out.String())
	}

	want, err := os.ReadFile(filepath.Join("localstack", "demo", "testdata", "story.txt"))
	if err != nil {
		t.Fatal(err)
	}

	if diff := cmp.Diff(steady(string(want)), steady(out.String())); diff != "" {
		t.Errorf("the story is another one than in memory (-want +got):\n%s", diff)
	}
}

// steady leaves out the engine's name, the frozen worker, whose renewal a slow machine may try twice, and the sum.
func steady(story string) []string {
	_, story, _ = strings.Cut(story, "── 1 · ")
	before, story, _ := strings.Cut(story, "── 6 · ")
	_, story, _ = strings.Cut(story, "── 7 · ")
	after, _, _ := strings.Cut(story, "── All as it should be")

	return strings.Split(before+after, "\n")
}

// A payments function with a fault, and the line that the demo ends with.
func TestStoryEndsWhereSomethingIsWrong(t *testing.T) {
	t.Parallel()

	for name, test := range map[string]struct {
		work payment
		want string
	}{
		"every payment counts twice": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				return errors.Join(accounts.Pay(ctx, m), accounts.Pay(ctx, m))
			},
			"scene 1, First delivery: the ledger is wrong: account a-1 has 25.00 in 2 payments, it should have 12.50 in 1 payment",
		},
		"payments are lost": {
			func(context.Context, *ledger.Ledger, events.SQSMessage) error { return nil },
			"scene 1, First delivery: the ledger is wrong: account a-1 has 0.00 in 0 payments, it should have 12.50 in 1 payment",
		},
		"it pays, and says that it failed": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				return errors.Join(accounts.Pay(ctx, m), errors.New("no"))
			},
			`scene 1, First delivery: messages reported failed: got "m-1", want ""`,
		},
		"a failure is told as a success": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				_ = accounts.Pay(ctx, m)

				return nil
			},
			`scene 4, One of two messages fails: messages reported failed: got "", want "m-4"`,
		},
		"the context is not listened to": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				return accounts.Pay(context.WithoutCancel(ctx), m)
			},
			`scene 6, A frozen worker wakes up too late: messages reported failed: got "", want "m-7"`,
		},
		"one payment of ten counts twice": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				if m.MessageId == "m-15" {
					_ = accounts.Pay(ctx, m)
				}

				return accounts.Pay(ctx, m)
			},
			"scene 8, Ten messages in one batch: the ledger is wrong: " +
				"account a-1 has 126.00 in 17 payments, it should have 125.00 in 16 payments",
		},
		"the last payment of ten fails": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				if err := accounts.Pay(ctx, m); err != nil || m.MessageId != "m-20" {
					return err
				}

				return errors.New("no")
			},
			`scene 8, Ten messages in one batch: messages reported failed: got "m-20", want ""`,
		},
		"one payment of ten is lost": {
			func(ctx context.Context, accounts *ledger.Ledger, m events.SQSMessage) error {
				if m.MessageId == "m-15" {
					return nil
				}

				return accounts.Pay(ctx, m)
			},
			"scene 8, Ten messages in one batch: requests for records: got 4, want 3", // the slow one waits for it in vain
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			synctest.Test(t, func(t *testing.T) {
				err := play(t, &page{out: io.Discard}, test.work)
				if err == nil || err.Error() != test.want {
					t.Errorf("got  %v\nwant %s", err, test.want)
				}
			})
		})
	}
}

func TestUnknownEngine(t *testing.T) {
	t.Parallel()

	var out strings.Builder

	err := run(t.Context(), &out, "bogus")
	if want := `ENGINE: must be memory or dynamodb-local, is "bogus"`; err == nil || err.Error() != want || out.Len() > 0 {
		t.Errorf("got %v and %q, want %s and nothing", err, out.String(), want)
	}
}

func play(t *testing.T, p *page, work payment) error {
	t.Helper()

	e, err := open(t.Context(), "memory")
	if err != nil {
		t.Fatal(err)
	}

	return tell(t.Context(), e, p, work)
}
