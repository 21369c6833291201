package lambdawrap_test

import (
	"strings"
	"testing"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

func TestNegativeOptionsAreAnErrorOfEveryInvocation(t *testing.T) {
	t.Parallel()

	for field, opts := range map[string]*lambdawrap.Options{
		"Options.Reserve": {Reserve: -1}, "Options.Workers": {Workers: -1}, "Options.Timeout": {Timeout: -1}, "Options.Wait": {Wait: -1},
	} {
		for _, wrap := range []func(*harness, lambdawrap.Handler) wrapped{(*harness).handle, (*harness).whole} {
			h := newHarness(t, nil)
			h.opts = opts

			_, err := wrap(h, succeed)(t.Context(), batch("m1 k1"))
			if err == nil || !strings.Contains(err.Error(), field+": must not be negative") || len(h.runs.all()) != 0 {
				t.Errorf("got %v, want an error that names %s", err, field)
			}
		}
	}
}

func TestNilIsRefusedAtStartUp(t *testing.T) {
	t.Parallel()

	h := newHarness(t, nil)
	for name, wrap := range map[string]func(){
		"store of SQS":     func() { lambdawrap.SQS(nil, succeed, nil) },
		"handler of SQS":   func() { lambdawrap.SQS(h.store, nil, nil) },
		"store of Batch":   func() { lambdawrap.Batch(nil, reporting(), nil) },
		"handler of Batch": func() { lambdawrap.Batch(h.store, nil, nil) },
		"handler of Whole": func() { lambdawrap.Whole(nil) },
		"handler of JSON":  func() { lambdawrap.JSON[int](nil) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", name)
				}
			}()
			wrap()
		}()
	}
}
