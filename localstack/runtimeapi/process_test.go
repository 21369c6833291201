package runtimeapi_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/idemddb/go-idemddb/localstack/runtimeapi"
)

// TestMain makes the test program the function, too, which the tests start.
func TestMain(m *testing.M) {
	if os.Getenv("AWS_LAMBDA_RUNTIME_API") != "" {
		lambda.Start(handle)
	}

	m.Run()
}

func handle(ctx context.Context, event string) (string, error) {
	switch event {
	case "fail":
		return "", errors.New("no such account")
	case "panic":
		panic("on purpose")
	case "hang":
		<-ctx.Done()
		select {} // as code does that does not look at its context
	case "exit":
		os.Exit(1)
	}

	return "did " + event, nil
}

func start(t *testing.T, env ...string) *runtimeapi.Process {
	t.Helper()

	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = env

	p, err := runtimeapi.Start(cmd)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { p.Kill() })

	return p
}

func invoke(p *runtimeapi.Process, event string, within time.Duration) (string, error) {
	body, err := p.Invoke(runtimeapi.Invocation{ID: "r-" + event, Event: fmt.Appendf(nil, "%q", event), Deadline: time.Now().Add(within)})

	return string(body), err
}

func TestAProcessAnswersUntilItEnds(t *testing.T) {
	t.Parallel()

	p := start(t)
	if got, err := invoke(p, "this", time.Minute); got != `"did this"` || err != nil {
		t.Errorf("got %s, error %v", got, err)
	}

	select {
	case <-p.Asked():
	default:
		t.Error("the process has answered, and has not asked for an invocation")
	}

	_, err := invoke(p, "fail", time.Minute)
	if failed, ok := errors.AsType[*runtimeapi.FunctionError](err); !ok || !strings.Contains(string(failed.Body), "no such account") {
		t.Errorf("an error of the function: got %v", err)
	}

	if got, err := invoke(p, "that", time.Minute); got != `"did that"` || err != nil {
		t.Errorf("after an error: got %s, error %v", got, err)
	}

	_, err = invoke(p, "panic", time.Minute)
	if _, ok := errors.AsType[*runtimeapi.FunctionError](err); !ok {
		t.Errorf("a panic of the function: got %v, want its answer", err)
	}

	<-p.Exited()

	if _, err := invoke(p, "that", time.Minute); !errors.Is(err, runtimeapi.ErrExited) {
		t.Errorf("after its end: got %v", err)
	}
}

func TestAProcessThatDoesNotAnswerIsNoticed(t *testing.T) {
	t.Parallel()

	p := start(t)
	<-p.Asked()

	if _, err := invoke(p, "hang", time.Millisecond); !errors.Is(err, runtimeapi.ErrTimeout) {
		t.Errorf("at work for longer than the invocation has: got %v", err)
	}

	if _, err := invoke(p, "this", time.Millisecond); !errors.Is(err, runtimeapi.ErrTimeout) {
		t.Errorf("at work on another one: got %v", err)
	}

	if _, err := invoke(start(t), "exit", time.Minute); !errors.Is(err, runtimeapi.ErrExited) {
		t.Errorf("a process that ends: got %v", err)
	}
}

func TestAProcessWorksOnSeveralInvocations(t *testing.T) {
	t.Parallel()

	const atATime = 8

	p := start(t, fmt.Sprint("AWS_LAMBDA_MAX_CONCURRENCY=", atATime))

	var all sync.WaitGroup
	for i := range 5 * atATime {
		all.Go(func() {
			if got, err := invoke(p, fmt.Sprint(i), time.Minute); got != fmt.Sprintf("%q", fmt.Sprint("did ", i)) || err != nil {
				t.Errorf("invocation %d: got %s, error %v", i, got, err)
			}
		})
	}

	all.Wait()
}

func TestWhatAProcessUses(t *testing.T) {
	t.Parallel()

	if _, err := os.Stat("/proc/self/stat"); err != nil {
		t.Skip("what a process uses is read from /proc, which this system does not have")
	}

	p := start(t)
	<-p.Asked()

	if got := p.PeakMemory(); got < 1<<20 || got > 1<<30 {
		t.Errorf("a memory of %d bytes", got)
	}

	used := p.ProcessorTime()

	state := p.Kill()
	if all := state.UserTime() + state.SystemTime(); used > all+20*time.Millisecond { // /proc counts in ticks of 10 ms
		t.Errorf("it has used %v of the processor, and %v when it had ended", used, all)
	}

	if got := p.ProcessorTime() + time.Duration(p.PeakMemory()); got != 0 {
		t.Errorf("a process that has ended uses %v", got)
	}
}

func TestAProgramThatIsMissingIsAnError(t *testing.T) {
	t.Parallel()

	if _, err := runtimeapi.Start(exec.CommandContext(t.Context(), t.TempDir()+"/none")); err == nil {
		t.Error("no error")
	}
}
