package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"time"
)

// function is a Lambda function to be built and started.
type function struct {
	label string
	path  string // of its package, in this module
	env   []string

	file string
	wall []float64 // ms, from exec to the first answer
	cpu  []float64 // ms, the same
}

const modulePath = "github.com/idemddb/go-idemddb"

// functions builds the functions, starts them in turns, and prints what was found.
func functions(ctx context.Context, e *engine, o *options, out io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "idemddb-bench-")
	if err != nil {
		return fmt.Errorf("a folder for the functions: %w", err)
	}

	defer os.RemoveAll(dir) //nolint:errcheck // a rest in the temporary folder

	all := []*function{
		{label: "by hand, one by one", path: "byhand", env: []string{"WORKERS=1"}},
		{label: "by hand, ten at a time", path: "byhand", env: []string{"WORKERS=10"}},
		{label: "library", path: "library"},
	}
	for _, f := range all {
		if err := f.build(ctx, dir); err != nil {
			return err
		}
	}

	for round := range o.starts {
		for i := range all {
			if err := all[(round+i)%len(all)].start(ctx, e, o.latencies[0]); err != nil {
				return err
			}
		}
	}

	fmt.Fprintf(out, "\nCold start: from exec to the answer to the first batch of 10, %v a request, medians of %d; binary as for Lambda\n\n",
		o.latencies[0], o.starts)

	return renderFunctions(out, all)
}

// build makes the binary as the Makefile does for Lambda, for this machine.
func (f *function) build(ctx context.Context, dir string) error {
	f.file = filepath.Join(dir, f.path)
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-tags", "lambda.norpc", "-ldflags=-s -w", //nolint:gosec // constants
		"-o", f.file, modulePath+"/bench/coldstart/"+f.path)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")

	if output, err := command.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s (in the module's folder?): %w\n%s", f.path, err, output)
	}

	return nil
}

// start runs the function until it has answered one batch.
func (f *function) start(ctx context.Context, e *engine, latency time.Duration) error {
	url, err := e.fresh(latency)
	if err != nil {
		return err
	}

	batch := workload{size: 10}

	api, err := openLambda(ctx, batch.batch(0))
	if err != nil {
		return err
	}

	defer api.close()

	command := exec.CommandContext(ctx, f.file) //nolint:gosec // built above
	command.Stderr = os.Stderr
	command.Env = append([]string{
		"AWS_LAMBDA_RUNTIME_API=" + api.address, "AWS_REGION=us-east-1", "AWS_ACCESS_KEY_ID=AKID", "AWS_SECRET_ACCESS_KEY=SECRET",
		"AWS_ENDPOINT_URL_DYNAMODB=" + url, "TABLE_NAME=" + recordsTable,
	}, f.env...)

	began := time.Now()

	if err := command.Start(); err != nil {
		return fmt.Errorf("start %s: %w", f.path, err)
	}

	answered, err := api.answer(ctx)

	_ = command.Process.Kill() // it asks for the next batch; a function that ended by itself did not answer, and err says so
	_ = command.Wait()

	if err != nil {
		return fmt.Errorf("%s: %w", f.label, err)
	}

	f.wall = append(f.wall, millis(answered.Sub(began)))
	f.cpu = append(f.cpu, millis(command.ProcessState.UserTime()+command.ProcessState.SystemTime()))

	return nil
}

func millis(d time.Duration) float64 { return d.Seconds() * 1e3 }

func renderFunctions(out io.Writer, all []*function) error {
	rows := [][]string{{"", "wall ms", "CPU ms", "× wall", "× CPU", "binary MB", "× binary"}}

	var first float64

	for _, f := range all {
		info, err := os.Stat(f.file)
		if err != nil {
			return fmt.Errorf("the binary: %w", err)
		}

		size := float64(info.Size()) / 1e6
		if first == 0 {
			first = size
		}

		rows = append(rows, []string{
			f.label, number(median(f.wall), 1), number(median(f.cpu), 1), number(ratio(f.wall, all[0].wall), 2),
			number(ratio(f.cpu, all[0].cpu), 2), number(size, 2), number(size/first, 3),
		})
	}

	render(out, rows, 1)
	fmt.Fprintf(out, "(%s/%s; for another processor the sizes differ)\n", runtime.GOOS, runtime.GOARCH)

	return nil
}
