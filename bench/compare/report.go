package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// report is what a run has found. It is kept as JSON, and the page and its plot are made of nothing else.
type report struct {
	Date     string    `json:"date"`
	Machine  string    `json:"machine"`
	Versions string    `json:"versions"`
	Command  string    `json:"command"`
	Seed     uint64    `json:"seed"`
	Seconds  int       `json:"seconds"`
	Results  []verdict `json:"results"`
}

const versions = "Powertools for AWS Lambda (Python) 3.37.0 with boto3 1.44.8, (TypeScript) 2.35.0, DynamoDB Local 3.3.1"

func newReport(s settings, results []verdict, took time.Duration) report {
	command := "make compare"
	if s.quick {
		command += " FLAGS=-quick"
	}

	return report{
		Date: time.Now().UTC().Format(time.DateOnly), Machine: fmt.Sprintf("%s/%s, %d processors", runtime.GOOS, runtime.GOARCH, runtime.NumCPU()),
		Versions: versions + ", " + runtime.Version(), Command: command, Seed: s.seed, Seconds: int(took.Seconds()), Results: results,
	}
}

// keep prints the table and keeps the raw counts. With -page it replaces those of docs/comparison.md.
func (r report) keep(s settings, out io.Writer) error {
	raw, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("the raw counts: %w", err)
	}

	raw = append(raw, '\n')
	file := filepath.Join(s.out, "comparison.json")

	if err := os.WriteFile(file, raw, 0o600); err != nil {
		return fmt.Errorf("keep the raw counts: %w", err)
	}

	_, _ = fmt.Fprintf(out, "%s\nThe raw counts are in %s, the logs of the processes beside it.\n", r.tables(), file)

	if !s.page {
		return nil
	}

	return r.replacePage("docs", raw)
}

// The part of the page that is printed by this program stands between these lines.
const (
	firstLine = "<!-- make compare FLAGS=-page writes from here -->\n"
	lastLine  = "<!-- to here -->\n"
)

// The files in docs.
const (
	pageFile = "comparison.md"
	rawFile  = "comparison.json"
	plotFile = "comparison.svg"
)

func (r report) replacePage(docs string, raw []byte) error {
	old, err := os.ReadFile(filepath.Join(docs, pageFile)) //nolint:gosec // a page of this repository
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}

	before, rest, ok := strings.Cut(string(old), firstLine)
	_, after, okAfter := strings.Cut(rest, lastLine)

	if !ok || !okAfter {
		return errors.New("the page has no place for the tables")
	}

	for name, text := range map[string]string{
		pageFile: before + firstLine + r.tables() + lastLine + after, rawFile: string(raw), plotFile: r.plot(),
	} {
		if err := os.WriteFile(filepath.Join(docs, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("write the page: %w", err)
		}
	}

	return nil
}

// tables returns what the page shows.
func (r report) tables() string {
	var b strings.Builder

	fmt.Fprintf(&b, "%s on %s, seed %d, in %d s; %s, %s.\n\n", "`"+r.Command+"`", r.Date, r.Seed, r.Seconds, r.Versions, r.Machine)

	b.WriteString("| scenario | consumer | doubles that a record could prevent | other doubles | lost | stuck | came back | out of time | requests | write units |\n")
	b.WriteString("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|\n")

	for _, v := range r.Results {
		fmt.Fprintf(&b, "| %s, %d payments | %s | %d | %d | %d | %d | %d | %d | %.2f | %.2f |\n", v.Scenario, v.Payments, v.Contender,
			v.DoublesLayer, v.DoublesOthers, v.Lost, v.Stuck, v.CameBack, v.Timeouts, v.each(float64(v.Requests)), v.each(v.Units))
	}

	b.WriteString("\n| scenario | consumer | processor time, ms | wall time, ms | memory of a process, MB | process start, ms |\n")
	b.WriteString("|---|---|--:|--:|--:|--:|\n")

	for _, v := range r.Results {
		if (scenario{name: v.Scenario}).alone() {
			fmt.Fprintf(&b, "| %s | %s | %.2f | %.1f | %.0f | %.0f |\n", v.Scenario, v.Contender, v.each(v.CPU), v.each(v.Wall), v.Memory, v.Start)
		}
	}

	b.WriteString("\n")

	return b.String()
}

// each divides a sum by the number of payments.
func (v verdict) each(sum float64) float64 { return sum / float64(max(v.Payments, 1)) }

// judge demands what this library promises, and that the faults were real: the consumer that cannot survive a kill must not.
func (r report) judge() error {
	var errs []error

	for _, v := range r.Results {
		switch {
		case v.Contender == nameStaged && v.DoublesLayer+v.DoublesOthers+v.Lost+v.Stuck > 0,
			v.Contender == nameLibrary && v.DoublesLayer+v.Lost+v.Stuck > 0:
			errs = append(errs, fmt.Errorf("%s, %s: %s", v.Scenario, v.Contender, v))
		case v.Contender == nameConditional && v.Scenario == "kills" && v.Lost == 0:
			errs = append(errs, fmt.Errorf("%s, %s: no payment is lost, so no process was killed where it hurts: %s", v.Scenario, v.Contender, v))
		}
	}

	return errors.Join(errs...)
}
