package main

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestParseDefaults(t *testing.T) {
	t.Parallel()

	got, err := parse(nil, io.Discard)
	if err != nil {
		t.Fatal(err)
	}

	want := &options{rounds: 7, latencies: []time.Duration{3 * time.Millisecond, 0}, starts: 15, check: true}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{})); diff != "" {
		t.Error(diff)
	}
}

func TestParseQuickGivesWayToOtherFlags(t *testing.T) {
	t.Parallel()

	got, err := parse([]string{"-quick", "-rounds", "9", "-check=false"}, io.Discard)
	if err != nil {
		t.Fatal(err)
	}

	want := &options{rounds: 9, latencies: []time.Duration{3 * time.Millisecond}, quick: true}
	if diff := cmp.Diff(want, got, cmp.AllowUnexported(options{})); diff != "" {
		t.Error(diff)
	}
}

func TestParseErrorsNameTheFlag(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ args, want string }{
		"no rounds":                      {"-rounds 0", "-rounds: must be from 1 to 1000, is 0"},
		"rounds that are no number":      {"-rounds many", "-rounds"},
		"a negative latency":             {"-latency -1ms", `-latency: must be times from 0s to 1s`},
		"a latency without a unit":       {"-latency 3", `has "3"`},
		"an empty part of the latencies": {"-latency 3ms,", `has ""`},
		"negative starts":                {"-starts -1", "-starts: must be from 0 to 1000, is -1"},
		"an unknown variant":             {"-variant e", `-variant: must be one of a, a-lean, a-http, b, c, c10, c-cache, d1, d10, is "e"`},
		"an unknown workload":            {"-workload e", `-workload: must be one of unique, first, again, mixed, hundred, is "e"`},
		"an unknown handler":             {"-handler e", `-handler: must be one of noop, 5ms, is "e"`},
		"a profile of everything":        {"-cpuprofile f", "-cpuprofile: needs -variant"},
		"what is never measured":         {"-variant a -workload hundred", "no such combination"},
		"an argument that is no flag":    {"quick", `"quick" is no flag`},
		"a flag that is not known":       {"-slow", "-slow"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			if _, err := parse(strings.Fields(c.args), io.Discard); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("parse(%s): %v, want it to hold %q", c.args, err, c.want)
			}
		})
	}
}
