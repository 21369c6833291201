package main

import (
	"errors"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

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
