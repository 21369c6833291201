//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/idemddb/go-idemddb/localstack/pipeline"
)

// build is what `sam build` made of the module; deploy takes it to LocalStack.
type build struct{ sam, folder, bucket string }

var built build

func TestMain(m *testing.M) {
	status, err := run(m)
	if err != nil {
		fmt.Fprintln(os.Stderr, "e2e:", err)
		os.Exit(1)
	}

	os.Exit(status)
}

func run(m *testing.M) (int, error) {
	endpoint := os.Getenv("AWS_ENDPOINT_URL")
	if !strings.HasPrefix(endpoint, "http://127.0.0.1:") {
		return 0, fmt.Errorf("AWS_ENDPOINT_URL is %q, want a LocalStack on loopback: make e2e", endpoint)
	}

	folder, err := os.MkdirTemp("", "e2e")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(folder)

	built = build{sam: os.Getenv("SAM"), folder: folder, bucket: "idemddb-deployments"}

	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()

	if err := errors.Join(built.build(ctx), built.buildIdem(ctx)); err != nil {
		return 0, err
	}

	// without the managed bucket of samconfig.toml, whose stack sam waits 15 s for
	if out, err := exec.CommandContext(ctx, "curl", "-sSf", "-m", "20", "-X", "PUT", endpoint+"/"+built.bucket).CombinedOutput(); err != nil {
		return 0, fmt.Errorf("bucket for deployments: %w: %s", err, out)
	}

	return m.Run(), nil
}

func (b build) build(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "../package.sh", "--build-dir", b.folder, "--parameter-overrides", architecture())
	cmd.Env = append(os.Environ(), "SAM="+b.sam)

	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("sam build: %w: %s", err, out)
	}

	return nil
}

// buildIdem builds the operator's tool.
func (b build) buildIdem(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-o", filepath.Join(b.folder, "idem"), ".")
	cmd.Dir = filepath.Join("..", "..", "cmd", "idem")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")

	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build idem: %w: %s", err, out)
	}

	return nil
}

func architecture() string {
	if runtime.GOARCH == "arm64" {
		return "Architecture=arm64"
	}

	return "Architecture=x86_64"
}

// deploy deploys template.yaml as a stack with these parameters. Its records are audited in the end.
func deploy(t *testing.T, stack string, parameters ...string) *pipeline.Pipeline {
	t.Helper()

	p := deployTemplate(t, filepath.Join(built.folder, "template.yaml"), stack, parameters...)
	watch(t, p.DynamoDB, p.RecordTableName)

	return p
}

func deployTemplate(t *testing.T, template, stack string, parameters ...string) *pipeline.Pipeline {
	t.Helper()

	config, err := filepath.Abs(filepath.Join("..", "..", "samconfig.toml"))
	if err != nil {
		t.Fatal(err)
	}

	overrides := append([]string{architecture()}, parameters...)
	args := []string{"--template-file", template, "--config-file", config, "--no-resolve-s3", "--parameter-overrides"}
	stack = built.deploy(t, stack, append(args, overrides...)...)

	p, err := pipeline.Open(t.Context(), built.sam, stack)
	if err != nil {
		t.Fatal(err)
	}

	return p
}

// deploy deploys a stack by `sam deploy`, and returns its name. LocalStack has once stopped in the middle of a deployment, at the
// creation of its function, while it deployed four others. So a deployment that does not end in time is followed by one more, of
// a stack with another name: the first one keeps its own.
func (b build) deploy(t *testing.T, stack string, args ...string) string {
	t.Helper()

	for _, name := range []string{stack, stack + "-again"} {
		ctx, cancel := context.WithTimeout(t.Context(), 150*time.Second)
		defer cancel()

		began := time.Now()
		command := append([]string{"deploy", "--stack-name", name, "--s3-bucket", b.bucket, "--no-progressbar"}, args...)
		out, err := exec.CommandContext(ctx, b.sam, command...).CombinedOutput()
		t.Logf("sam deploy of %s %v in %v", name, args, time.Since(began).Round(time.Second))

		switch {
		case err == nil:
			return name
		case ctx.Err() == nil || name != stack:
			t.Fatalf("sam deploy of %s: %v\n%s", name, err, out)
		default:
			t.Logf("%s is deployed again under another name; so far sam said:\n%s", name, out)
		}
	}

	return ""
}

// processes are the function's execution environments: processes of this machine.
func processes(t *testing.T, function string) (pids map[string]string) {
	t.Helper()

	out, err := exec.CommandContext(t.Context(), "ps", "-ww", "-eo", "pid=,stat=,args=").Output()
	if err != nil {
		t.Fatal(err)
	}

	ours := regexp.MustCompile(`^` + regexp.QuoteMeta(os.Getenv("IDEMDDB_LOCALSTACK_FOLDER")) + `/.*/` + regexp.QuoteMeta(function) + `-[^/]*/code/bootstrap$`)
	pids = map[string]string{}

	for line := range bytes.Lines(out) {
		fields := strings.Fields(string(line))
		if len(fields) == 3 && ours.MatchString(fields[2]) && !strings.HasPrefix(fields[1], "Z") {
			pids[fields[0]] = fields[1]
		}
	}

	return pids
}

func allStopped(states map[string]string) bool {
	return !slices.ContainsFunc(slices.Collect(maps.Values(states)), func(state string) bool { return !strings.HasPrefix(state, "T") })
}

// signal sends a signal to every process of the function, and returns how many that were.
func signal(t *testing.T, p *pipeline.Pipeline, number syscall.Signal) int {
	t.Helper()

	pids := processes(t, p.FunctionName)
	for pid := range pids {
		sendSignal(t, pid, number)
	}

	t.Logf("%v to %d processes at %v", number, len(pids), time.Now().Format(time.TimeOnly))

	return len(pids)
}

// sendSignal sends a signal to a process, by its id.
func sendSignal(t *testing.T, pid string, number syscall.Signal) {
	t.Helper()

	id, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}

	if err := syscall.Kill(id, number); err != nil && !errors.Is(err, syscall.ESRCH) { // it may have ended by itself
		t.Errorf("%v to process %s: %v", number, pid, err)
	}
}
