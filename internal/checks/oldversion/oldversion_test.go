//go:build oldversion

package oldversion_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// step is a call that one of the two workers makes, and what it must return.
type step struct{ worker, call, want string }

// A story is told twice: the old library is that of the first worker in one, and that of the second in the other.
var stories = []struct {
	name    string
	steps   []step
	effects string // how often the effect of key k happened
}{
	{"a completed key is replayed", []step{
		{"first", "claim k input", "attempt 1"},
		{"second", "claim k input", "in progress"},
		{"first", "complete k paid", "ok"},
		{"second", "claim k input", "replay of paid, by first in attempt 1"},
		{"second", "claim k another input", "mismatch"},
	}, "0"},
	{"a result outside of the table is replayed", []step{
		{"first", "claim k", "attempt 1"},
		{"first", "complete k paid, with a long receipt", "ok"},
		{"second", "claim k", "replay of paid, with a long receipt, by first in attempt 1"},
	}, "0"},
	{"a released key is claimed again", []step{
		{"first", "claim k", "attempt 1"},
		{"first", "release k bank closed", "ok"},
		{"second", "claim k", "attempt 2"},
		{"second", "complete-with-effects k paid", "ok"},
		{"first", "claim k", "replay of paid, by second in attempt 2"},
	}, "1"},
	{"a failed key is refused until it is reopened", []step{
		{"first", "claim k", "attempt 1"},
		{"first", "fail k no such account", "ok"},
		{"second", "claim k", "failed: no such account"},
		{"second", "commit k paid", "failed: no such account"},
		{"second", "reopen k", "ok"},
		{"first", "claim k", "attempt 1"},
		{"second", "claim k", "in progress"},
	}, "0"},
	{"the claim of a killed worker is taken over", []step{
		{"first", "claim k", "attempt 1"},
		{"first", "kill", ""},
		{"second", "claim k", "in progress"},
		{"second", "clock k 2m", "ok"},
		{"second", "claim k", "attempt 2, taken from first"},
		{"second", "complete-with-effects k paid", "ok"},
	}, "1"},
	{"the completion of a worker whose claim was taken over is fenced", []step{
		{"first", "claim k", "attempt 1"},
		{"second", "clock k 2m", "ok"},
		{"second", "claim k", "attempt 2, taken from first"},
		{"first", "complete-with-effects k paid late", "fenced"},
		{"first", "complete k paid late", "fenced"},
		{"second", "complete-with-effects k paid", "ok"},
		{"first", "claim k", "replay of paid, by second in attempt 2"},
	}, "1"},
	{"a commit is refused by a claim and answered by a completed key", []step{
		{"first", "claim k", "attempt 1"},
		{"second", "commit k paid twice", "in progress"},
		{"first", "complete-with-effects k paid", "ok"},
		{"second", "commit k paid twice", "replay of paid, by first in attempt 1"},
	}, "1"},
	{"committed work is replayed, and its messages are sent once", []step{
		{"first", "commit k paid", "ok"},
		{"second", "commit k paid twice", "replay of paid, by first in attempt 1"},
		{"second", "clock k 2m", "ok"},
		{"second", "sweep", "sent [k of p-1 with map[currency:EUR] as version 7]"},
		{"first", "clock k 2m", "ok"},
		{"first", "sweep", "sent []"},
		{"first", "claim k", "replay of paid, by first in attempt 1"},
	}, "1"},
	{"the work of Do is replayed, and its messages are sent", []step{
		{"first", "do k", "done by first"},
		{"second", "do k", "done by first"},
		{"second", "clock k 2m", "ok"},
		{"second", "sweep", "sent [k of p-1 with map[currency:EUR] as version 7]"},
	}, "1"},
}

func TestTwoLibrariesShareATable(t *testing.T) {
	b := newBench(t)

	for old, names := range map[string][2]string{"the first is old": {"OLD_WORKER", "NEW_WORKER"}, "the second is old": {"NEW_WORKER", "OLD_WORKER"}} {
		for i, story := range stories {
			t.Run(story.name+"; "+old, func(t *testing.T) {
				t.Parallel()

				namespace := fmt.Sprint(names[0], i)
				workers := b.start(t, namespace, names)

				for _, s := range story.steps {
					if got := workers[s.worker].ask(t, s.call); got != s.want {
						t.Fatalf("%s: %s: got %q, want %q", s.worker, s.call, got, s.want)
					}
				}

				if got := b.effects(t, namespace, "k"); got != story.effects {
					t.Errorf("the effect happened %s times, want %s", got, story.effects)
				}
			})
		}
	}
}

// Both workers run Do for each key at the same time.
func TestEachEffectHappensOnce(t *testing.T) {
	b := newBench(t)
	workers := b.start(t, "race", [2]string{"OLD_WORKER", "NEW_WORKER"})

	for i := range 100 {
		key := "k" + strconv.Itoa(i)
		answer := make(chan string, 1)

		go func() { answer <- workers["first"].ask(t, "do "+key) }()

		second := workers["second"].ask(t, "do "+key)
		if first := <-answer; first != second || first != "done by first" && first != "done by second" {
			t.Fatalf("%s: the old worker returned %q, the new one %q, want the same worker's name", key, first, second)
		}

		if got := b.effects(t, "race", key); got != "1" {
			t.Fatalf("%s: the effect happened %s times, want once", key, got)
		}
	}
}

// bench is a table, and a folder for results, that workers share.
type bench struct {
	api            *dynamodb.Client
	table, results string
}

func newBench(t *testing.T) *bench {
	t.Helper()

	b := &bench{
		table: t.Name() + strconv.Itoa(os.Getpid()), results: t.TempDir(),
		api: dynamodb.New(dynamodb.Options{
			Region: "us-east-1", BaseEndpoint: aws.String(setting(t, "DYNAMODB_LOCAL_ENDPOINT")),
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		}),
	}
	if _, err := b.api.CreateTable(t.Context(), idemddbtest.CreateTable(b.table, "unsent")); err != nil {
		t.Fatal(err)
	}

	return b
}

// effects returns how often the effect of a key happened.
func (b *bench) effects(t *testing.T, namespace, key string) string {
	t.Helper()

	out, err := b.api.GetItem(t.Context(), &dynamodb.GetItemInput{
		TableName: &b.table, ConsistentRead: new(true),
		Key: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: namespace + " " + key}},
	})
	if err != nil {
		t.Fatal(err)
	}

	if n, ok := out.Item["n"].(*types.AttributeValueMemberN); ok {
		return n.Value
	}

	return "0"
}

// worker is a process of the program in the folder worker.
type worker struct {
	process *os.Process
	calls   io.Writer
	answers *bufio.Scanner
}

// start starts the first and the second worker. The environment names their programs.
func (b *bench) start(t *testing.T, namespace string, programs [2]string) map[string]*worker {
	t.Helper()

	workers := map[string]*worker{}

	for i, name := range []string{"first", "second"} {
		cmd := exec.CommandContext(t.Context(), setting(t, programs[i]), name, b.table, namespace, b.results)
		cmd.Stderr = os.Stderr
		calls, _ := cmd.StdinPipe()
		answers, _ := cmd.StdoutPipe()

		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}

		t.Cleanup(func() { _ = cmd.Wait() }) // it ends with the test's context

		workers[name] = &worker{cmd.Process, calls, bufio.NewScanner(answers)}
	}

	return workers
}

// ask makes a call of the worker and returns what it answers. The call "kill" kills it.
func (w *worker) ask(t *testing.T, call string) string {
	t.Helper()

	if call == "kill" {
		if err := w.process.Kill(); err != nil {
			t.Error(err)
		}

		return ""
	}

	fmt.Fprintln(w.calls, call)

	if !w.answers.Scan() {
		t.Errorf("%s: the worker has ended", call)
	}

	return w.answers.Text()
}

func setting(t *testing.T, name string) string {
	t.Helper()

	value := os.Getenv(name)
	if value == "" {
		t.Fatalf("%s is not set: run .ci/old-version", name)
	}

	return value
}
