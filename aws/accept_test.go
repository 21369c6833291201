// Package aws_test tries accept.py in an account that is a file: it must refuse what was not asked for, and leave nothing that it
// made.
package aws_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

const (
	accountID = "111122223333"
	bystander = "idemddb-of-somebody-else"
)

// account is the file, and the programs that accept.py calls: the Go command makes the tables of the contract, and sam makes the
// stack's.
type account struct {
	file, tools string
	env         []string
}

// newAccount returns an account whose Go command and sam run these lines of a shell.
func newAccount(t *testing.T, goCommand, sam string) *account {
	t.Helper()

	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}

	dir := t.TempDir()
	a := &account{file: filepath.Join(dir, "account"), tools: dir}

	for name, text := range map[string]string{"go": "#!/bin/sh\n" + goCommand + "\n", "sam": "#!/bin/sh\n" + sam + "\n", "account": accountID + "\n" + bystander + "\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}

	a.env = append(os.Environ(), "PYTHONPATH="+here, "PYTHONDONTWRITEBYTECODE=1", "FAKE_ACCOUNT="+a.file, "PATH="+dir+":"+os.Getenv("PATH"), "SAM="+filepath.Join(dir, "sam"),
		"IDEMDDB_AWS_ACCOUNT="+accountID, "AWS_REGION=eu-west-1", "AWS_ENDPOINT_URL=http://127.0.0.1:1", "IDEMDDB_TRANSCRIPTS="+dir)

	return a
}

// start starts accept.py, in a process group of its own.
func (a *account) start(t *testing.T, more []string, arguments ...string) (*exec.Cmd, *strings.Builder) {
	t.Helper()

	var out strings.Builder

	cmd := exec.CommandContext(t.Context(), "python3", append([]string{"accept.py"}, arguments...)...)
	cmd.Env, cmd.Stdout, cmd.Stderr, cmd.SysProcAttr = slices.Concat(a.env, more), &out, &out, &syscall.SysProcAttr{Setpgid: true}

	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}

	return cmd, &out
}

// tables are those of the account.
func (a *account) tables(t *testing.T) []string {
	t.Helper()

	content, err := os.ReadFile(a.file)
	if err != nil {
		t.Fatal(err)
	}

	return slices.Compact(strings.Fields(string(content))[1:])
}

const (
	makesTable = `[ "$1" = test ] && printf '\n%s-table\n' "$IDEMDDB_ACCEPTANCE" >> "$FAKE_ACCOUNT"; exit 0`
	failsAfter = `[ "$1" = test ] && printf '\n%s-table\n' "$IDEMDDB_ACCEPTANCE" >> "$FAKE_ACCOUNT"; echo broken; exit 1`
	isSticky   = `[ "$1" = test ] && printf '\n%s-sticky\n' "$IDEMDDB_ACCEPTANCE" >> "$FAKE_ACCOUNT"; exit 0`
)

func TestAcceptRefusesWhatWasNotAskedFor(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("it starts the whole script many times")
	}

	for name, test := range map[string]struct {
		env       []string
		arguments []string
		want      string
	}{
		"no arguments":         {nil, nil, "below $0.10"},
		"no account":           {[]string{"IDEMDDB_AWS_ACCOUNT="}, []string{"run"}, "IDEMDDB_AWS_ACCOUNT='': set it"},
		"no account's id":      {[]string{"IDEMDDB_AWS_ACCOUNT=1111"}, []string{"run"}, "IDEMDDB_AWS_ACCOUNT='1111': set it"},
		"no Region":            {[]string{"AWS_REGION="}, []string{"run"}, "AWS_REGION is not set"},
		"another account":      {[]string{"IDEMDDB_AWS_ACCOUNT=999999999999"}, []string{"run"}, "the credentials are of 111122223333: nothing is done"},
		"a name of none of it": {nil, []string{"clean", "idemddb-"}, "idemddb-? It is run, or clean and a name"},
		"cleaning elsewhere":   {[]string{"IDEMDDB_AWS_ACCOUNT=999999999999"}, []string{"clean", "idemddb-accept-01234567"}, "nothing is done"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := newAccount(t, makesTable, "exit 0")

			cmd, out := a.start(t, test.env, test.arguments...)
			if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), test.want) {
				t.Errorf("%v, want %q:\n%s", err, test.want, out)
			}

			if got := a.tables(t); len(got) != 1 {
				t.Errorf("tables %v", got)
			}
		})
	}
}

func TestAcceptLeavesNothing(t *testing.T) {
	t.Parallel()

	if testing.Short() {
		t.Skip("it starts the whole script many times")
	}

	for name, test := range map[string]struct {
		goCommand, sam string
		passes         bool
		tables         int // afterwards
		want           string
	}{
		"all passes":                 {makesTable, "exit 0", true, 1, "nothing of this name is left"},
		"a test fails":               {failsAfter, "exit 0", false, 1, "broken"},
		"the deployment fails":       {makesTable, `[ "$1" != deploy ]`, false, 1, "sam deploy: FAILED"},
		"something cannot be undone": {isSticky, "exit 0", false, 2, "LEFT: table idemddb-accept-"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			a := newAccount(t, test.goCommand, test.sam)
			cmd, out := a.start(t, nil, "run")

			if err := cmd.Wait(); (err == nil) != test.passes || !strings.Contains(out.String(), test.want) {
				t.Errorf("%v, want it to pass: %v, and %q:\n%s", err, test.passes, test.want, out)
			}

			if got := a.tables(t); len(got) != test.tables || got[0] != bystander {
				t.Errorf("tables %v, want %d, and that of somebody else", got, test.tables)
			}

			transcripts, err := filepath.Glob(filepath.Join(a.tools, "transcript-idemddb-accept-*.txt"))
			if err != nil || len(transcripts) != 1 {
				t.Fatalf("transcripts %v, %v", transcripts, err)
			}

			transcript, err := os.ReadFile(transcripts[0])
			if err != nil || string(transcript) != out.String() || strings.Contains(out.String(), accountID) {
				t.Errorf("%v: the transcript is not what was said, or has the account's id:\n%s", err, transcript)
			}
		})
	}
}

func TestAcceptLeavesNothingWhenItIsInterrupted(t *testing.T) {
	t.Parallel()

	a := newAccount(t, makesTable, `[ "$1" = deploy ] && touch "$FAKE_ACCOUNT.deploying" && exec sleep 600`)
	cmd, out := a.start(t, nil, "run")

	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()

	for _, err := os.Stat(a.file + ".deploying"); err != nil; _, err = os.Stat(a.file + ".deploying") {
		select {
		case <-tick.C:
		case <-t.Context().Done():
			t.Fatal("it never deploys")
		}
	}

	if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}

	if err := cmd.Wait(); err == nil || !strings.Contains(out.String(), "interrupted") || !strings.Contains(out.String(), "nothing of this name is left") {
		t.Errorf("%v\n%s", err, out)
	}

	if got := a.tables(t); len(got) != 1 {
		t.Errorf("tables %v are left", got)
	}
}
