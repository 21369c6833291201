package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// client answers each request, after a while, that everything was written. A request of one write is not ended by its context.
type client struct {
	delay time.Duration
	crash func() // of each shared request
	fails bool   // the first request of one write

	mu       sync.Mutex
	requests []int // the writes in each
}

func (c *client) UpdateItem(
	context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	c.note(1)
	<-time.After(c.delay)

	if c.fails && len(c.requests) == 1 {
		return nil, &types.InternalServerError{}
	}

	return &dynamodb.UpdateItemOutput{Attributes: protocol.Item{"a": &types.AttributeValueMemberS{}}}, nil
}

func (c *client) TransactWriteItems(
	context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	if c.fails {
		return nil, errors.New("no answer")
	}

	return &dynamodb.TransactWriteItemsOutput{ConsumedCapacity: make([]types.ConsumedCapacity, 1)}, nil
}

func (c *client) PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	return nil, errors.New("not in this test")
}

func (c *client) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	c.note(len(in.Statements))

	if c.crash != nil {
		c.crash()
	}

	select {
	case <-time.After(c.delay):
		return &dynamodb.BatchExecuteStatementOutput{Responses: make([]types.BatchStatementResponse, len(in.Statements))}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *client) note(writes int) {
	c.mu.Lock()
	defer c.mu.Unlock()

	c.requests = append(c.requests, writes)
}

// operation is one that is done when DynamoDB has answered. It is called with each outcome that is read.
type operation func(protocol.Outcome)

func (operation) Statement() types.BatchStatementRequest { return types.BatchStatementRequest{} }
func (operation) Request() protocol.Request {
	return protocol.Request{Update: &dynamodb.UpdateItemInput{}}
}

func (o operation) Read(a protocol.Answer) (protocol.Step, error) {
	if o(a.Outcome); a.Outcome == protocol.Applied {
		return protocol.Done, nil
	}

	return protocol.Again, a.Err
}

// caller sends the write of a record in a group.
type caller struct {
	engine *Engine
	group  *Group

	mu   sync.Mutex
	read map[string][]protocol.Outcome // by record
}

func (c *caller) send(ctx context.Context, record string) error {
	c.group.Arrive()
	defer c.group.Leave()

	return c.engine.Send(ctx, Write{
		Key: record, Record: record, Group: c.group, Policy: planner.Policy{End: time.Now().Add(time.Minute), Pause: time.Second},
		Operation: operation(func(o protocol.Outcome) {
			c.mu.Lock()
			defer c.mu.Unlock()

			c.read[record] = append(c.read[record], o)
		}),
	})
}

func newCaller(api *client) *caller {
	ignore := func(context.Context, string, error) {}

	e := New(Config{API: api, Transactor: api, Shared: api, Retried: ignore, Unshared: ignore})

	return &caller{engine: e, group: e.NewGroup(), read: map[string][]protocol.Outcome{}}
}

// textOfIdle is the text of a planner that has no write.
const textOfIdle = "T 5ms and 5ms, 0 times read first\n"

func (e *Engine) wantIdle(t *testing.T) {
	t.Helper()

	if got := e.planner.Text(time.Now()); got != textOfIdle {
		t.Errorf("the planner has\n%swant\n%s", got, textOfIdle)
	}
}

// The timer is late, and another event comes first. What the timer was set for happens then.
func TestAPauseEndsAlthoughItsTimerIsLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(&client{fails: true})
		ended := make(chan error)

		go func() { ended <- c.send(t.Context(), "a") }()

		synctest.Wait()

		c.engine.mu.Lock()
		c.engine.timer.Stop() // for so long that it does not fire in this test
		c.engine.mu.Unlock()

		<-time.After(time.Second) // longer than the pause

		if err := c.send(t.Context(), "b"); err != nil {
			t.Error(err)
		}

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// Clocks are set back.
func TestATimerThatFiresTooEarlyIsSetAgain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(&client{fails: true})
		ended := make(chan error)

		go func() { ended <- c.send(t.Context(), "a") }()

		synctest.Wait()
		c.engine.timer.Stop()
		c.engine.tick()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// It is an answer all the same. An error is none, and no further try is announced.
func TestAnAnswerThatComesAfterTheEndOfItsContext(t *testing.T) {
	t.Parallel()

	for fails, want := range map[bool]error{true: context.DeadlineExceeded, false: nil} {
		synctest.Test(t, func(t *testing.T) {
			c := newCaller(&client{delay: 40 * time.Millisecond, fails: fails})
			c.engine.Retried = func(context.Context, string, error) { t.Error("a further try is announced") }

			ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
			defer cancel()

			if err := c.send(ctx, "a"); !errors.Is(err, want) {
				t.Errorf("got %v, want %v", err, want)
			}

			text := c.engine.planner.Text(time.Now())
			if isCounted := strings.HasPrefix(text, "T 40ms"); isCounted == fails {
				t.Errorf("it fails: %t; the planner has\n%s", fails, text)
			}

			if got := gaveUp(ctx, ctx.Err()).Error(); got != ctx.Err().Error() {
				t.Errorf("got %q: the reason twice", got)
			}
		})
	}
}

// probe is an error or a context of the user, whose methods may use the Store: they must not be called with the mutex held.
type probe struct {
	context.Context

	err error
	in  string // the method in which the mutex was held; "" for none
	of  func() *Engine
}

func (p *probe) Error() string     { p.look("Error"); return p.err.Error() }
func (p *probe) Is(err error) bool { p.look("Is"); return errors.Is(p.err, err) }
func (p *probe) Err() error        { p.look("Err"); return p.Context.Err() }
func (p *probe) Value(key any) any { p.look("Value"); return p.Context.Value(key) }

func (p *probe) look(method string) {
	mu := &p.of().mu

	for range 1_000_000 { // others hold it for a moment, which is long on a busy machine
		if mu.TryLock() {
			mu.Unlock()

			return
		}

		runtime.Gosched()
	}

	p.in = method
}

// probing is a client that answers each request with this error.
type probing struct {
	*client

	err error
}

func (c probing) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return nil, c.err
}

func (c probing) BatchExecuteStatement(
	context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	return nil, c.err
}

func TestCodeOfTheUserIsNotCalledWithTheMutexHeld(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var c *caller

		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()

		p := &probe{Context: ctx, err: errors.New("no answer"), of: func() *Engine { return c.engine }}
		api := probing{&client{}, p}
		ignore := func(context.Context, string, error) {}
		e := New(Config{API: api, Shared: api, Retried: ignore, Unshared: ignore})
		c = &caller{engine: e, group: e.NewGroup(), read: map[string][]protocol.Outcome{}}

		var callers sync.WaitGroup

		c.group.Expect(2)

		for _, record := range []string{"a", "b"} {
			callers.Go(func() {
				if err := c.send(p, record); !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("got %v, want the end of its context", err)
				}
			})
		}

		callers.Wait()

		if p.in != "" {
			t.Errorf("%s was called with the mutex held", p.in)
		}
	})
}

func TestNothingIsSentForAContextThatHasEnded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &client{}
		c := newCaller(api)

		ctx, cancel := context.WithCancel(t.Context())
		cancel()

		if err := c.send(ctx, "a"); !errors.Is(err, context.Canceled) || len(api.requests) > 0 {
			t.Errorf("got %v, requests of %v writes", err, api.requests)
		}

		begun := time.Now()
		if err := c.send(t.Context(), "b"); err != nil || time.Since(begun) > 0 {
			t.Errorf("the next write of the group: got %v after %v, want no error at once", err, time.Since(begun))
		}
	})
}

// Its operation must not be used after Send has returned.
func TestACallerWaitsUntilItsOperationIsUsedNoMore(t *testing.T) {
	t.Parallel()

	for name, isOver := range map[string]bool{"it has its answer": true, "its context ends": false} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := context.WithCancel(t.Context())
			e := newCaller(&client{}).engine
			c := &Call{engine: e, isOver: isOver, busy: isOver}
			ended := make(chan error, 1)

			go func() { ended <- c.Wait(ctx) }()

			synctest.Wait()
			e.change(func() { c.busy = true })
			cancel()
			synctest.Wait()

			if len(ended) > 0 {
				t.Errorf("%s: it does not wait", name)
			}

			e.change(func() {
				c.busy, c.isOver = false, true
				e.unbusy.Broadcast()
			})

			if err := <-ended; err != nil {
				t.Errorf("%s: got %v, want the answer", name, err)
			}
		})
	}
}

func TestAWriteWhoseHookPanicsIsTakenBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCaller(&client{fails: true})
		c.engine.Retried = func(context.Context, string, error) { panic("boom") }

		func() {
			defer func() {
				if v := recover(); v != "boom" {
					t.Errorf("got the panic %v", v)
				}
			}()

			t.Errorf("got %v, want a panic", c.send(t.Context(), "a"))
		}()

		if c.engine.wantIdle(t); c.engine.timer.Stop() {
			t.Error("the timer is set although no write waits")
		}
	})
}

func TestAMemberLeavesItsGroupWithItsLastWrite(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := newCaller(&client{}).engine.NewGroup()
		g.Join()
		g.Join()

		want := func(members int) {
			if g.plan.Members != members {
				t.Errorf("the group has %d members, want %d", g.plan.Members, members)
			}
		}

		for _, isLast := range []bool{false, true} {
			w := Write{Operation: operation(func(protocol.Outcome) {}), Group: g, IsLast: isLast}
			if err := g.engine.Send(t.Context(), w); err != nil {
				t.Error(err)
			}
		}

		want(1)
		g.Leave()
		want(0)
	})
}

// A large write must not delay others, and not each operation has a statement.
func TestAWriteThatTravelsAloneWaitsForNobody(t *testing.T) {
	t.Parallel()

	answered := operation(func(protocol.Outcome) {})

	for name, w := range map[string]Write{
		"it is large":            {Operation: answered, IsAlone: true},
		"it has no statement":    {Operation: struct{ Requester }{answered}},
		"it stands in no record": {Operation: joined{}, Joint: &planner.Joint{IsUnrecorded: true}, IsAlone: true},
	} {
		synctest.Test(t, func(t *testing.T) {
			g := newCaller(&client{}).engine.NewGroup()
			g.Expect(2)

			if w.Group = g; w.Joint != nil {
				w.Joint.Hold = time.Second
			}

			c := g.engine.Begin(t.Context(), w)
			if c.flight == nil {
				t.Errorf("%s: it waits", name)
			}

			g.engine.change(func() { g.engine.withdraw(c) })
		})
	}
}

func TestAnAnswerIsNotReadAfterItsCallerHasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &client{delay: 10 * time.Millisecond}
		c := newCaller(api)
		c.engine.planner.Deny(time.Now().Add(-6 * time.Minute)) // the request asks whether that still holds
		c.group.Expect(3)

		var all sync.WaitGroup

		for record, timeout := range map[string]time.Duration{"a": time.Second, "b": time.Millisecond, "c": time.Second} {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()

				if err, want := c.send(ctx, record), map[bool]error{true: context.DeadlineExceeded}[record == "b"]; !errors.Is(err, want) {
					t.Errorf("write %s: got %v, want %v", record, err, want)
				}
			})
		}

		all.Wait()

		if got, want := fmt.Sprint(c.read), "map[a:[0] c:[0]]"; got != want {
			t.Errorf("the answers %s were read, want %s", got, want)
		}

		if want := []int{3}; !slices.Equal(api.requests, want) {
			t.Errorf("requests of %v writes, want %v", api.requests, want)
		}

		if got, want := c.engine.planner.Text(time.Now()), strings.Replace(textOfIdle, "5ms", "10ms", 1); got != want {
			t.Errorf("the planner has\n%swant\n%s", got, want)
		}
	})
}

func TestNewsOfASharedRequestAreForCallersThatWait(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]func(*shared){
		"one of them":  func(s *shared) { s.reportOne(report{}) },
		"each of them": func(s *shared) { s.readLost(ErrExited) },
	} {
		over, waits := &Call{isOver: true}, &Call{}
		s := &shared{engine: newCaller(&client{}).engine, calls: []*Call{nil, over, waits}, answers: make([]planner.Answer, 3)}

		if c(s); len(over.reports) != 0 || len(waits.reports) != 1 {
			t.Errorf("%s: the one who has left has %d reports, the other one %d", name, len(over.reports), len(waits.reports))
		}
	}
}

// Nothing that was counted before a denial counts against the request that asks whether it still holds.
func TestSharedRequestsAreDeniedAfterEachThirdWrongAnswerInARow(t *testing.T) {
	t.Parallel()

	s := &shared{engine: newCaller(&client{}).engine, flight: &planner.Flight{}, sent: make([]*Call, 1)}

	for i := 1; i <= 2*maxWrong; i++ {
		got := s.judge(&wire.Shared{Err: wire.ErrCount})[0].Outcome // the writes were perhaps applied
		if wrong := s.engine.wrong; got != protocol.Unknown || wrong != i%maxWrong {
			t.Errorf("the outcome of wrong answer %d is %v, and %d count", i, got, wrong)
		}
	}
}

// Otherwise the flight would count as one under way, and hold its records, without a request.
func TestAFlightOfOneWriteWhoseCallerHasLeftBeforeItWasSentLands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		e := newCaller(&client{}).engine

		var calls []*Call
		for range 2 {
			calls = append(calls, e.Begin(t.Context(), Write{Record: "a", Operation: operation(nil)}))
		}

		for i, c := range calls {
			if c.flight == nil {
				t.Errorf("write %d has no flight", i)
			}

			e.change(func() { e.withdraw(c) })
		}

		e.wantIdle(t)
	})
}

// Otherwise the flight would count as one under way, and hold its records, without a request.
func TestAFlightThatAllCallersHaveLeftBeforeItWasSentLands(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &client{}
		e := newCaller(api).engine
		group := e.NewGroup()
		group.Expect(1)

		var calls []*Call
		for _, record := range []string{"a", "b"} {
			calls = append(calls, newCall(&Write{
				Record: record, Group: group, Policy: planner.Policy{End: time.Now().Add(time.Minute)}, Operation: operation(nil),
			}))
		}

		e.change(func() { // the goroutine of the flight waits for the mutex
			for _, c := range calls {
				e.planner.Submit(time.Now(), &c.Write)
			}

			group.plan.Members, group.plan.Expected = 1, 0
			e.depart(time.Now())

			for _, c := range calls {
				if c.shared == nil {
					t.Error("the two writes do not travel together")
				}

				e.withdraw(c)
			}
		})
		synctest.Wait()

		e.wantIdle(t)

		if len(api.requests) > 0 {
			t.Errorf("a request of %v was sent", api.requests)
		}
	})
}

func TestAClientThatPanicsInASharedRequestIsTriedAloneByEachCaller(t *testing.T) {
	t.Parallel()

	for name, crash := range map[string]func(){"it panics": func() { panic("boom") }, "it ends the goroutine": runtime.Goexit} {
		synctest.Test(t, func(t *testing.T) {
			api := &client{crash: crash}
			c := newCaller(api)
			c.group.Expect(2)

			c.engine.Retried = func(_ context.Context, record string, err error) {
				if _, isPanic := errors.AsType[*panicerror.Error](err); !isPanic {
					t.Errorf("%s: write %s is tried again because of %v", name, record, err)
				}
			}

			var all sync.WaitGroup

			for _, record := range []string{"a", "b"} {
				all.Go(func() {
					if err := c.send(t.Context(), record); err != nil {
						t.Error(err)
					}
				})
			}

			all.Wait()

			if want := []int{2, 1, 1}; !slices.Equal(api.requests, want) {
				t.Errorf("%s: requests of %v writes, want %v", name, api.requests, want)
			}

			unknownThenApplied := []protocol.Outcome{protocol.Unknown, protocol.Applied}
			for record, got := range c.read {
				if !slices.Equal(got, unknownThenApplied) {
					t.Errorf("%s: write %s: outcomes %v, want %v", name, record, got, unknownThenApplied)
				}
			}
		})
	}
}

// unsayable is an operation whose statement cannot be built, because an item of the client panics when it is read.
type unsayable struct{ operation }

func (unsayable) Statement() types.BatchStatementRequest { panic("boom") }

// Nothing was sent, so that nothing of an unknown outcome is read.
func TestAPanicWhileASharedRequestIsMadeLetsItsWritesTravelAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &client{}
		g := newCaller(api).engine.NewGroup()
		g.Expect(2)

		var (
			begun []*Call
			read  []protocol.Outcome
		)

		op := operation(func(o protocol.Outcome) { read = append(read, o) })
		for i, o := range []Operation{unsayable{op}, op} {
			g.Arrive()

			begun = append(begun, g.engine.Begin(t.Context(), Write{
				Operation: o, Record: fmt.Sprint(i), Group: g, Policy: planner.Policy{End: time.Now().Add(time.Minute)},
			}))
		}

		for _, c := range begun {
			if err := c.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}

		if !slices.Equal(api.requests, []int{1, 1}) || !slices.Equal(read, []protocol.Outcome{protocol.Applied, protocol.Applied}) {
			t.Errorf("requests of %v writes, outcomes %v", api.requests, read)
		}
	})
}

// joined is a write that travels in a transaction.
type joined struct{}

func (joined) Part() protocol.Part {
	return protocol.Part{Record: &types.TransactWriteItem{}}
}

func (joined) Look() (none types.BatchStatementRequest) { return none }
func (joined) HasEnded(protocol.Item) bool              { return false }

func (joined) Read(a protocol.Answer) (protocol.Step, error) { return protocol.Again, a.Err }

func TestATransactionCountsForTIfItIsAnswered(t *testing.T) {
	t.Parallel()

	for _, fails := range []bool{false, true} {
		f := &planner.Flight{}
		newTransaction([]*Call{newCall(&Write{Operation: joined{}, Joint: &planner.Joint{}})}).send(
			t.Context(), New(Config{Transactor: &client{fails: fails}}), f)

		if f.IsAnswered == fails {
			t.Errorf("it fails: %t, and is answered: %t", fails, f.IsAnswered)
		}
	}
}

// The caller leaves between the moment at which its transaction is to be sent once more and the moment at which it is.
func TestATransactionIsNotSentOnceMoreWithoutOneOfItsCallers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ignore := func(context.Context, string, error) {}
		e := New(Config{API: &client{}, Retried: ignore, Conflict: ignore, Unshared: ignore})

		var calls []*Call

		group := e.NewGroup()

		for i := range 3 {
			w := Write{
				Operation: joined{}, Record: fmt.Sprint(i), Group: group, Joint: &planner.Joint{Hold: time.Second},
				Policy: planner.Policy{End: time.Now().Add(time.Minute), Pause: time.Second},
			}
			calls = append(calls, newCall(&w))
			e.planner.Submit(time.Now(), &calls[i].Write)
		}

		group.plan.Flush()

		ready := e.planner.Ready(time.Now())
		if len(ready.Flights) != 1 || len(ready.Flights[0].Writes) != 3 {
			t.Fatal("the three do not leave together")
		}

		f := ready.Flights[0]

		s := &shared{
			engine: e, flight: f, calls: slices.Clone(calls), answers: make([]planner.Answer, 3), transaction: newTransaction(calls),
		}

		if s.board(); len(s.sent) != 3 {
			t.Fatalf("%d writes are sent once more, want all three", len(s.sent))
		}

		if s.take(); !calls[1].busy {
			t.Error("a caller may leave while its request is made")
		}

		e.change(s.setFree)
		e.change(func() { e.withdraw(calls[1]) })
		s.take()
		e.change(s.setFree)

		if s.board(); len(s.sent) != 0 || !slices.Equal(s.answers, slices.Repeat([]planner.Answer{planner.AtOnce}, 3)) {
			t.Errorf("%d writes are sent, and what follows is %v", len(s.sent), s.answers)
		}
	})
}

// An item of the client can panic when it is read. In a shared request that is no answer: the write is tried alone, and the
// others have theirs.
func TestAPanicWhileASharedAnswerIsReadLetsItsWriteTravelAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		api := &client{}
		c := newCaller(api)
		c.group.Expect(2)

		var all sync.WaitGroup

		reads := 0
		all.Go(func() {
			c.group.Arrive()
			defer c.group.Leave()

			err := c.engine.Send(t.Context(), Write{
				Key: "a", Record: "a", Group: c.group, Policy: planner.Policy{End: time.Now().Add(time.Minute), Pause: time.Second},
				Operation: operation(func(protocol.Outcome) {
					if reads++; reads == 1 {
						panic("boom")
					}
				}),
			})
			if err != nil {
				t.Error(err)
			}
		})
		all.Go(func() {
			if err := c.send(t.Context(), "b"); err != nil {
				t.Error(err)
			}
		})
		all.Wait()

		if want := []int{2, 1}; !slices.Equal(api.requests, want) || reads != 2 {
			t.Errorf("requests of %v writes, want %v; %d answers read", api.requests, want, reads)
		}
	})
}
