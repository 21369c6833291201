// Compare runs the same consumer of payments, written in six ways, under the same faults, and counts what becomes of the payments
// and what they cost.
//
//	make compare                        everything, about six minutes; the table is on standard output, the raw counts in a file
//	make compare FLAGS=-quick           few payments, counts only
//	make compare FLAGS='-scenario kills -contender Powertools'
//	make compare FLAGS=-page            docs/comparison.md, its plot and its raw counts are replaced by what this run has found
//
// All consumers work against one DynamoDB Local, each process behind a proxy of its own that makes the faults. scenario.go says
// what happens to them, workers/ and worker.go have the consumers, and world.go says how a double is counted.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// workArgument makes this program a worker process.
const workArgument = "work"

type settings struct {
	quick, page         bool
	tools, workers      string
	out                 string
	scenario, contender string
	seed                uint64
	endpoint            string
	client              *dynamodb.Client
	http                *http.Client
	self                string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)

	err := run(ctx, os.Args[1:], os.Stdout)

	stop()

	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	if len(args) == 2 && args[0] == workArgument {
		return work(ctx, args[1])
	}

	s, err := parse(args)
	if err != nil {
		return err
	}

	began := time.Now()

	results, err := s.all(ctx)
	if err != nil {
		return err
	}

	r := newReport(s, results, time.Since(began))
	if err := r.keep(s, out); err != nil {
		return err
	}

	return r.judge()
}

func parse(args []string) (s settings, err error) {
	flags := flag.NewFlagSet("compare", flag.ContinueOnError)
	flags.BoolVar(&s.quick, "quick", false, "few payments: counts only")
	flags.BoolVar(&s.page, "page", false, "replace the table, the plot and the raw counts of docs/comparison.md")
	flags.StringVar(&s.tools, "tools", "", "where Powertools is installed")
	flags.StringVar(&s.workers, "workers", "bench/compare/workers", "the consumers in Python and JavaScript")
	flags.StringVar(&s.out, "out", "", "the folder for the raw counts and the logs of all processes; empty: a new one")
	flags.StringVar(&s.scenario, "scenario", "", "only the scenarios whose names contain this")
	flags.StringVar(&s.contender, "contender", "", "only the contenders whose names contain this")
	flags.Uint64Var(&s.seed, "seed", 1, "the seed of the faults")

	if err := flags.Parse(args); err != nil {
		return s, fmt.Errorf("arguments: %w", err)
	}

	s.endpoint = os.Getenv("DYNAMODB_LOCAL_ENDPOINT")
	if s.endpoint == "" || s.tools == "" {
		return s, errors.New("run it by make compare, which starts DynamoDB Local and installs Powertools")
	}

	if s.page && (s.quick || s.scenario != "" || s.contender != "") {
		return s, errors.New("-page needs the whole comparison")
	}

	if s.out == "" {
		if s.out, err = os.MkdirTemp("", "idemddb-compare."); err != nil {
			return s, fmt.Errorf("a folder for the results: %w", err)
		}
	}

	if err := os.MkdirAll(s.out, 0o700); err != nil {
		return s, fmt.Errorf("a folder for the results: %w", err)
	}

	if s.self, err = os.Executable(); err != nil {
		return s, fmt.Errorf("find this program: %w", err)
	}

	s.http = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 200}}
	s.client = dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &s.endpoint,
		Credentials: credentials(),
	})

	return s, nil
}

// matches says whether a name was asked for.
func matches(name, part string) bool {
	return strings.Contains(strings.ToLower(name), strings.ToLower(part))
}
