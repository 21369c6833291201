package contract

import (
	"bytes"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// FirstFailure returns the name of the first case that fails on an engine, "" if none does. It is for tests of the contract
// itself: of wrong engines, and of requests that are changed on their way. The cases run one by one, the costly ones last, on a
// table with a simple key and with the time of a testing/synctest bubble, so that no pause takes any time. The engine must have
// no sockets.
//
// Of the cases only those of batches are run if batch is true, and only the others if it is false.
func FirstFailure(t *testing.T, batch bool, open func(t *testing.T, schema *dynamodb.CreateTableInput) Engine) (name string) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		tab := tables()[0]
		engine := open(t, tab.schema)

		for _, c := range cheapFirst() {
			if strings.HasPrefix(c.name, batchPrefix) != batch {
				continue
			}

			if failures := c.run(t, engine, tab); len(failures) > 0 {
				name = c.name

				return
			}
		}
	})

	return name
}

// batchPrefix begins the names of the cases of batches.
const batchPrefix = "batch: "

func cheapFirst() []testCase {
	sorted := slices.Clone(cases)
	slices.SortStableFunc(sorted, func(a, b testCase) int {
		switch {
		case a.costly == b.costly:
			return 0
		case b.costly:
			return -1
		default:
			return 1
		}
	})

	return sorted
}

// run runs a case on a goroutine of its own, and returns what it reported.
func (c testCase) run(t *testing.T, engine Engine, tab table) []string {
	t.Helper()

	r := &recorder{TB: t}
	done := make(chan struct{})

	go func() {
		defer close(done)

		r.home = goroutine()
		c.check(newHarness(r, engine, tab))
	}()

	<-done

	return r.failures
}

// recorder stands in for the *testing.T of one case. It records what the case reports, so that a failure is not one of the test.
type recorder struct {
	testing.TB // of the test

	home []byte // the goroutine of the case

	mu       sync.Mutex
	failures []string
}

func (r *recorder) Error(args ...any)            { r.record(fmt.Sprint(args...)) }
func (r *recorder) Errorf(f string, args ...any) { r.record(fmt.Sprintf(f, args...)) }
func (r *recorder) Fatal(args ...any)            { r.Error(args...); r.FailNow() }
func (r *recorder) Fatalf(f string, args ...any) { r.Errorf(f, args...); r.FailNow() }

// FailNow ends the case. The package testing allows that only on the goroutine of the test.
func (r *recorder) FailNow() {
	if !bytes.Equal(goroutine(), r.home) {
		r.TB.Errorf("a case was ended from another goroutine than its own: %s", r.failures)
	}

	runtime.Goexit()
}

func (r *recorder) record(failure string) {
	r.mu.Lock()
	defer r.mu.Unlock()

	r.failures = append(r.failures, failure)
}

// goroutine names this goroutine: "goroutine" and its number, with which its stack begins.
func goroutine() []byte {
	stack := make([]byte, 64)
	stack = stack[:runtime.Stack(stack, false)]

	return bytes.Join(bytes.Fields(stack)[:2], nil)
}
