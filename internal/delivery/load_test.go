package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/record"
)

// office counts the calls of a Sender, and what each of them carries.
type office struct {
	delivery.Targets

	mu    sync.Mutex
	loads [][]string // bodies
	ctxs  []context.Context
}

func newOffice(send func(ctx context.Context, ms []delivery.Message) []error) *office {
	o := &office{}
	o.Now = time.Now
	o.Sender = func(ctx context.Context, _ string, ms []delivery.Message) []error {
		var bodies []string
		for _, m := range ms {
			bodies = append(bodies, m.Body)
		}

		o.mu.Lock()
		o.loads, o.ctxs = append(o.loads, bodies), append(o.ctxs, ctx)
		o.mu.Unlock()

		return send(ctx, ms)
	}

	return o
}

func (o *office) sizes() (sizes []int) {
	for _, l := range o.loads {
		sizes = append(sizes, len(l))
	}

	slices.Sort(sizes)

	return sizes
}

func letters(group string, bodies ...string) (ms []record.Message) {
	for i, body := range bodies {
		ms = append(ms, record.Message{Index: i, Content: record.Content{To: "bank", Body: body, Group: group}})
	}

	return ms
}

// accept answers each message after 5 ms; it refuses one whose body is "bad".
func accept(_ context.Context, ms []delivery.Message) []error {
	<-time.After(5 * time.Millisecond)

	answers := make([]error, len(ms))
	for i, m := range ms {
		if m.Body == "bad" {
			answers[i] = errBad
		}
	}

	return answers
}

var errBad = errors.New("bad")

// sendAll announces the messages of records and sends them, each record in a goroutine.
func (o *office) sendAll(ctx context.Context, records ...[]record.Message) (answers [][]error, took time.Duration) {
	begun := time.Now()

	for _, ms := range records {
		o.Expect(ms)
	}

	answers = make([][]error, len(records))

	var all sync.WaitGroup
	for i, ms := range records {
		all.Go(func() { answers[i] = o.Send(ctx, fmt.Sprint("tx", i), ms) })
	}

	all.Wait()

	return answers, time.Since(begun)
}

func TestMessagesOfRecordsThatAreCompletedTogetherTravelTogether(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		records [][]record.Message
		want    []int // messages of each call of the Sender
		took    time.Duration
	}{
		"one":                       {[][]record.Message{letters("", "a")}, []int{1}, 5 * time.Millisecond},
		"two":                       {[][]record.Message{letters("", "a"), letters("", "b")}, []int{2}, 5 * time.Millisecond},
		"ten":                       {slices.Repeat([][]record.Message{letters("", "a")}, 10), []int{10}, 5 * time.Millisecond},
		"twenty-five":               {slices.Repeat([][]record.Message{letters("", "a")}, 25), []int{5, 10, 10}, 10 * time.Millisecond},
		"twenty":                    {slices.Repeat([][]record.Message{letters("", "a")}, 20), []int{10, 10}, 5 * time.Millisecond},
		"four of three":             {slices.Repeat([][]record.Message{letters("", "a", "b", "c")}, 4), []int{3, 9}, 10 * time.Millisecond},
		"one of twelve":             {[][]record.Message{letters("", slices.Repeat([]string{"a"}, 12)...)}, []int{12}, 5 * time.Millisecond},
		"one message group, thrice": {slices.Repeat([][]record.Message{letters("g", "a")}, 3), []int{1, 1, 1}, 10 * time.Millisecond},
		"three message groups":      {[][]record.Message{letters("g", "a", "b"), letters("h", "a"), letters("i", "a")}, []int{4}, 5 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(accept)

				answers, took := o.sendAll(t.Context(), c.records...)
				if err := errors.Join(slices.Concat(answers...)...); err != nil {
					t.Error(err)
				}

				if got := o.sizes(); !slices.Equal(got, c.want) || took != c.took {
					t.Errorf("got %v after %v, want %v after %v", got, took, c.want, c.took)
				}
			})
		})
	}
}

func TestEachMessageOfALoadHasItsOwnAnswer(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(accept)
		answers, _ := o.sendAll(t.Context(), letters("", "a", "bad"), letters("", "bad", "b"), letters("", "c"))

		if want := [][]error{{nil, errBad}, {errBad, nil}, {nil}}; !slices.EqualFunc(answers, want, slices.Equal) || len(o.loads) != 1 {
			t.Errorf("got %v in %v", answers, o.loads)
		}
	})
}

// What comes while a load is under way leaves together when that is answered, but does not wait for long.
func TestMessagesThatComeWhileOthersAreUnderWayTravelTogether(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct{ answered, want time.Duration }{
		"the answer comes": {5 * time.Millisecond, 10 * time.Millisecond},
		"it is late":       {time.Second, time.Second + 11*time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				o := newOffice(func(_ context.Context, ms []delivery.Message) []error {
					<-time.After(c.answered)

					return make([]error, len(ms))
				})

				begun := time.Now()

				var all sync.WaitGroup

				all.Go(func() { _ = o.Send(t.Context(), "tx", letters("", "a")) })
				<-time.After(time.Millisecond)

				for range 5 {
					all.Go(func() { _ = o.Send(t.Context(), "tx", letters("", "b")) })
				}

				all.Wait()

				if got, took := o.sizes(), time.Since(begun); !slices.Equal(got, []int{1, 5}) || took != c.want {
					t.Errorf("got %v after %v, want one and five after %v", got, took, c.want)
				}
			})
		})
	}
}

// The caller of an expected message may have left before it sends.
func TestAnExpectedMessageThatDoesNotComeDelaysTheOthersOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(accept)
		o.Expect(letters("", "never"))

		for _, want := range []time.Duration{15 * time.Millisecond, 5 * time.Millisecond} {
			if _, took := o.sendAll(t.Context(), letters("", "a")); took != want {
				t.Errorf("it took %v, want %v", took, want)
			}
		}
	})
}

// More calls come than were expected, or they come when nobody expects them any more: none of them waits for another one.
func TestACallThatNobodyExpectsLeavesAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(accept)

		for expected, pause := range []time.Duration{0, 0, time.Second} {
			for range expected {
				o.Expect(letters("", "a"))
			}

			<-time.After(pause)

			for range 2 {
				begun := time.Now()
				if _ = o.Send(t.Context(), "tx", letters("", "a")); time.Since(begun) != 5*time.Millisecond {
					t.Errorf("%d expected, %v before: it took %v, want 5 ms", expected, pause, time.Since(begun))
				}
			}
		}
	})
}

// A load has landed, and one of the two calls that were announced meanwhile is still to come.
func TestALoadThatLandsDoesNotSendOffTheNextBeforeItIsFull(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(accept)

		var all sync.WaitGroup

		send := func() { _ = o.Send(t.Context(), "tx", letters("", "a")) }

		all.Go(send)
		<-time.After(time.Millisecond)
		o.Expect(letters("", "a"))
		o.Expect(letters("", "a"))
		all.Go(send)
		<-time.After(5 * time.Millisecond)
		all.Go(send)
		all.Wait()

		if got := o.sizes(); !slices.Equal(got, []int{1, 2}) {
			t.Errorf("got %v, want one, and then two", got)
		}
	})
}

type key struct{}

// What the context of a call carries, as its tenant, is for its own messages only; and its end is not that of the others.
func TestALoadOfSeveralCallsHasTheContextOfNoneOfThem(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(accept)
		ctx := context.WithValue(t.Context(), key{}, "tenant")

		o.sendAll(ctx, letters("", "a"))
		o.sendAll(ctx, letters("", "a"), letters("", "b"))

		if o.ctxs[0].Value(key{}) != "tenant" || o.ctxs[1].Value(key{}) != nil {
			t.Errorf("the contexts have %v and %v", o.ctxs[0].Value(key{}), o.ctxs[1].Value(key{}))
		}
	})
}

func TestACallLeavesALoadWithItsContextAndTheOthersAreSent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		o := newOffice(func(ctx context.Context, ms []delivery.Message) []error {
			select {
			case <-time.After(time.Second):
			case <-ctx.Done():
			}

			return slices.Repeat([]error{ctx.Err()}, len(ms))
		})

		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()

		messages := letters("", "a")
		for range 2 {
			o.Expect(messages)
		}

		var all sync.WaitGroup

		all.Go(func() {
			begun := time.Now()
			if err := o.Send(short, "tx", messages)[0]; !errors.Is(err, context.DeadlineExceeded) || time.Since(begun) != 100*time.Millisecond {
				t.Errorf("the short one got %v after %v", err, time.Since(begun))
			}
		})
		synctest.Wait()

		if err := o.Send(t.Context(), "tx", messages)[0]; err != nil {
			t.Errorf("the other got %v", err)
		}

		all.Wait()
	})
}

// AWS Lambda freezes what is still under way when the answer of the invocation is sent.
func TestTheLastCallThatLeavesALoadEndsIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ended := time.Time{}
		o := newOffice(func(ctx context.Context, ms []delivery.Message) []error {
			<-ctx.Done()
			<-time.After(time.Millisecond)

			ended = time.Now()

			return slices.Repeat([]error{ctx.Err()}, len(ms))
		})

		short, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer cancel()

		begun := time.Now()
		if _, took := o.sendAll(short, letters("", "a"), letters("", "b")); ended.Sub(begun) != 101*time.Millisecond || took != 101*time.Millisecond {
			t.Errorf("the Sender ended after %v and the calls after %v, want 101 ms", ended.Sub(begun), took)
		}
	})
}

func TestALoadWhoseSenderFailsIsLeft(t *testing.T) {
	t.Parallel()

	for name, send := range map[string]func(context.Context, []delivery.Message) []error{
		"it panics":             func(context.Context, []delivery.Message) []error { panic("boom") },
		"it ends its goroutine": func(context.Context, []delivery.Message) []error { runtime.Goexit(); return nil },
		"it gives one answer":   func(context.Context, []delivery.Message) []error { return []error{nil} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				answers, _ := newOffice(send).sendAll(t.Context(), letters("", "a"), letters("", "b"))
				for _, answer := range slices.Concat(answers...) {
					if answer == nil {
						t.Errorf("got %v", answers)
					}
				}
			})
		})
	}
}
