package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
	"time"
)

// options are the flags, checked and with the defaults filled in.
type options struct {
	rounds    int
	latencies []time.Duration
	starts    int
	quick     bool
	check     bool

	profile  string
	variant  string
	workload string
	handler  string
}

const (
	defaultRounds  = 7
	defaultLatency = "3ms,0s"
	defaultStarts  = 15

	quickRounds  = 3
	quickLatency = "3ms"

	maxRounds  = 1000
	maxLatency = time.Second
)

// filtered tells whether variants or the like were picked, so that there is nothing to judge.
func (o *options) filtered() bool { return o.variant+o.workload+o.handler != "" }

// parse reads the flags. Its errors name the flag.
func parse(args []string, complaints io.Writer) (*options, error) {
	var (
		o         options
		latencies string
	)

	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(complaints)
	flags.IntVar(&o.rounds, "rounds", defaultRounds, "how often each variant runs; batches of 100 at most three times")
	flags.StringVar(&latencies, "latency", defaultLatency, "how long the server holds a request; several with commas")
	flags.IntVar(&o.starts, "starts", defaultStarts, "cold starts of each function; 0: none, and no binary sizes")
	flags.BoolVar(&o.quick, "quick", false, "less than a minute: what the targets need, 3 short rounds, 3 ms alone, no cold starts; other flags win")
	flags.BoolVar(&o.check, "check", true, "exit status 1 if requests, write units or connections miss their target")
	flags.StringVar(&o.profile, "cpuprofile", "", "file for a CPU profile; goes with -variant")
	flags.StringVar(&o.variant, "variant", "", "measure this one alone: "+strings.Join(variantNames(), ", "))
	flags.StringVar(&o.workload, "workload", "", "measure this one alone: "+strings.Join(workloadNames(), ", "))
	flags.StringVar(&o.handler, "handler", "", "measure this one alone: "+strings.Join(handlerNames(), ", "))

	if err := flags.Parse(args); err != nil {
		return nil, err //nolint:wrapcheck // it names the flag, and may be flag.ErrHelp
	}

	if flags.NArg() > 0 {
		return nil, fmt.Errorf("%q is no flag; see -help", flags.Arg(0))
	}

	if o.quick {
		given := map[string]bool{}
		flags.Visit(func(f *flag.Flag) { given[f.Name] = true })
		o.hurry(given, &latencies)
	}

	var err error

	o.latencies, err = parseLatencies(latencies)
	if err := errors.Join(err, o.validate()); err != nil {
		return nil, err
	}

	return &o, nil
}

// hurry makes the run short where the user did not say otherwise.
func (o *options) hurry(given map[string]bool, latencies *string) {
	if !given["rounds"] {
		o.rounds = quickRounds
	}

	if !given["latency"] {
		*latencies = quickLatency
	}

	if !given["starts"] {
		o.starts = 0
	}
}

func (o *options) validate() error {
	var errs []error

	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}

	check(o.rounds >= 1 && o.rounds <= maxRounds, "-rounds: must be from 1 to %d, is %d", maxRounds, o.rounds)
	check(o.starts >= 0 && o.starts <= maxRounds, "-starts: must be from 0 to %d, is %d", maxRounds, o.starts)
	check(o.profile == "" || o.variant != "", "-cpuprofile: needs -variant; a profile of all variants at once says nothing")

	for _, choice := range []struct {
		flag, value string
		known       []string
	}{
		{"-variant", o.variant, variantNames()},
		{"-workload", o.workload, workloadNames()},
		{"-handler", o.handler, handlerNames()},
	} {
		known := choice.value == ""
		for _, name := range choice.known {
			known = known || name == choice.value
		}

		check(known, "%s: must be one of %s, is %q", choice.flag, strings.Join(choice.known, ", "), choice.value)
	}

	if len(errs) == 0 && o.filtered() && len(o.plan()) == 0 {
		errs = append(errs, errors.New("-variant, -workload, -handler: no such combination is measured"))
	}

	return errors.Join(errs...)
}

func parseLatencies(list string) ([]time.Duration, error) {
	var latencies []time.Duration

	for text := range strings.SplitSeq(list, ",") {
		latency, err := time.ParseDuration(strings.TrimSpace(text))
		if err != nil || latency < 0 || latency > maxLatency {
			return nil, fmt.Errorf("-latency: must be times from 0s to %v with commas between them, such as 3ms,0s; has %q", maxLatency, text)
		}

		latencies = append(latencies, latency)
	}

	return latencies, nil
}
