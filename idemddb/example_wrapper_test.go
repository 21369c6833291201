package idemddb_test

import (
	"context"
	"errors"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
)

// job is what the broker of this example delivers, at least once.
type job struct {
	id    string
	times int // how often it was delivered
}

// wrap makes the handler of a broker's jobs idempotent. The answer says whether the broker may forget the job, or delivers it
// again.
func wrap(store *idemddb.Store, handler func(context.Context, job) error) func(context.Context, job) (forget bool) {
	return func(ctx context.Context, j job) bool {
		work, ending := store.Begin(ctx, j.id, nil)
		if work != nil {
			ending = workOn(ctx, work, func(ctx context.Context) error { return handler(ctx, j) })
		}

		if ending.Err != nil {
			fmt.Printf("%s: %s: %v\n", j.id, ending.Kind, ending.Err)
		}

		switch ending.Kind {
		case idemddb.KindFailed, idemddb.KindRefused, idemddb.KindMismatch: // no delivery can succeed, if that is known
			return !ending.Unknown && sendToDeadLetters(j)
		default:
			return ending.Done
		}
	}
}

// workOn runs the handler and settles its work, also if the handler panics or ends its goroutine.
func workOn(ctx context.Context, work *idemddb.Work, handler func(context.Context) error) idemddb.Ending {
	returned := false

	defer func() {
		if !returned {
			work.Settle(ctx, nil, errors.New("the handler did not return"))
		}
	}()

	err := handler(work.Context(ctx)) // with this context the handler stages effects
	returned = true

	return work.Settle(ctx, nil, err)
}

func sendToDeadLetters(j job) bool {
	fmt.Println(j.id, "goes to the dead letters")

	return true
}

// A wrapper for a trigger of one's own: Begin claims the key, Context is for the handler, Settle writes down how it ended, and
// Done says whether the job is finished.
func Example_wrapper() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	function := wrap(store, func(_ context.Context, j job) error {
		switch {
		case j.id == "job-2" && j.times == 1:
			return errors.New("the bank is closed")
		case j.id == "job-3":
			return closed{}
		default:
			fmt.Println(j.id, "is done")

			return nil
		}
	})

	for _, j := range []job{{"job-1", 1}, {"job-1", 2}, {"job-2", 1}, {"job-2", 2}, {"job-3", 1}} {
		fmt.Println("forget:", function(ctx, j))
	}
	// Output:
	// job-1 is done
	// forget: true
	// forget: true
	// job-2: released: the bank is closed
	// forget: false
	// job-2 is done
	// forget: true
	// job-3: failed: the account is closed
	// job-3 goes to the dead letters
	// forget: true
}

// There was no time left to begin the work: it is given back, and does not count as an attempt.
func ExampleWork_GiveBack() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	work, _ := store.Begin(ctx, "job-1", nil)
	fmt.Println(work.GiveBack(ctx))

	work, _ = store.Begin(ctx, "job-1", nil)
	fmt.Println("attempt", work.Claim().Attempt())
	// Output:
	// <nil>
	// attempt 1
}

// The handler has not returned in time, and may still run: nobody else begins its work until stop is called and its lease is
// over.
func ExampleWork_Abandon() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	work, _ := store.Begin(ctx, "job-1", nil)
	handler := work.Context(ctx)

	stop, err := work.Abandon(ctx)
	defer stop()

	_, ending := store.Begin(ctx, "job-1", nil)
	fmt.Println(err, ending.Kind)
	fmt.Println(errors.Is(idemddb.Stage(handler, idemddb.Effects{}), idemddb.ErrFenced))
	// Output:
	// <nil> in_progress
	// true
}

// A handler that ignores the error of Stage would lose its message. TakeStageErr lets a wrapper report that to its caller by
// itself.
func ExampleWork_TakeStageErr() {
	ctx := context.Background()
	store, _ := inMemory(nil)

	work, _ := store.Begin(ctx, "job-1", nil)
	refused := idemddb.Stage(work.Context(ctx), idemddb.Effects{Messages: []idemddb.Message{{To: "nobody", Body: "paid"}}})

	fmt.Println(errors.Is(refused, idemddb.ErrBadEffects), len(work.Staged().Messages), errors.Is(work.TakeStageErr(), idemddb.ErrNotStaged))
	// Output:
	// true 0 true
}
