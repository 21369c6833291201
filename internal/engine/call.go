package engine

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/planner"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/sleep"
)

// Operation takes the answers to the tries of a write. It is also a Requester, a Sharer or a Joiner, which makes its requests.
// Only one goroutine at a time calls its methods, and none after Send has returned.
type Operation interface {
	// Read takes the answer to the last try and keeps what follows from it. The error, if any, is the reason of the step.
	Read(answer protocol.Answer) (protocol.Step, error)
}

// Requester is a write that travels by a request of its own.
type Requester interface {
	Operation

	// Request returns the next try.
	Request() protocol.Request
}

// Joiner is a write that travels in a transaction, of its own or with others. Its record can be read before.
type Joiner interface {
	Operation

	// Part returns the next try.
	Part() protocol.Part

	// Look returns the statement that reads the record. It begins a try, so the clock is read before the read is sent.
	Look() types.BatchStatementRequest

	// HasEnded reports whether the record, as the last try found it, answers the write for good.
	HasEnded(found protocol.Item) bool
}

// Sharer is a Requester that can also travel in a request of several writes.
type Sharer interface {
	Requester

	// Statement returns the next try as a statement of a shared request.
	Statement() types.BatchStatementRequest
}

// Write is one conditional write of one record, with all of its tries.
type Write struct {
	planner.Policy

	Operation Operation

	Key       string         // of the record, in events
	Record    string         // the partition key
	Group     *Group         // nil for a write that belongs to nothing else
	Joint     *planner.Joint // of a Joiner
	IsAlone   bool           // it travels alone, although it could share a request
	IsExtend  bool           // it extends a lease
	IsUrgent  bool           // the lease that it extends is almost over
	IsRemoval bool           // it removes messages that are sent
	IsLast    bool           // with its end, a member leaves the Group: as by Leave

	// Retried is called in the goroutine of the write's caller, after that of Config. Nil for nothing to do.
	Retried func(ctx context.Context)
}

// errNoTime is the answer to a write whose time was over before it had one.
var errNoTime = errors.New("no answer came in time")

// Call is a write that was begun, and whose end is waited for by Wait. The mutex of the Engine guards what changes.
type Call struct {
	planner.Write

	engine    *Engine
	key       string
	op        Operation // the interfaces below hold it, too, where it implements them
	requester Requester
	joiner    Joiner
	sharer    Sharer
	own       planner.Group
	isLast    bool // its group loses a member when it ends
	retried   func(ctx context.Context)
	signal    chan struct{} // has a value when the caller must look at what follows; nil until it waits

	flight  *planner.Flight // of this write alone: the caller sends it
	shared  *shared         // the shared flight in which the write travels
	busy    bool            // its operation is used by the goroutine of a shared flight
	reports []report        // that the caller has not passed on
	isOver  bool            // err is the answer
	hasLeft bool            // the caller has left without one
	err     error           // that of the last try

	answers [1]planner.Answer // to a flight of this write alone
	errs    [1]error
	last    <-chan struct{} // closed at the end of the last request that the caller left; nil if it left none
}

// report is an error that the goroutine of a write's caller must pass to a function of Config.
type report struct {
	to      func(ctx context.Context, key string, err error)
	err     error
	isRetry bool // the write is sent again
}

// report passes the reports of a write to the functions of Config, in the goroutine of the write's caller.
func (e *Engine) report(ctx context.Context, c *Call) {
	all := c.reports
	c.reports = nil

	e.unlocked(func() {
		for _, r := range all {
			r.to(ctx, c.key, r.err)

			if r.isRetry && c.retried != nil {
				c.retried(ctx)
			}
		}
	})
}

// withdraw ends a write whose caller leaves, unless it has ended. Its operation is not used after that.
func (e *Engine) withdraw(c *Call) {
	for c.busy {
		e.unbusy.Wait()
	}

	if c.isOver {
		return
	}

	now := time.Now()
	c.hasLeft = true
	e.planner.Withdraw(&c.Write)

	if c.flight != nil { // it was not sent
		e.planner.Land(now, c.flight, c.answers[:], 0)
	}

	e.finish(c)
	e.depart(now)
}

// finish ends a write without an answer. If no other caller waits for its flight, the flight is cancelled, and the caller waits
// for its end.
func (e *Engine) finish(c *Call) {
	c.isOver = true

	if s := c.shared; s != nil && !s.flight.IsAwaited() {
		s.cancel()
		c.last = s.done
	}

	c.wake()
}

func (e *Engine) awaitLast(c *Call) {
	last := c.last
	c.last = nil

	e.unlocked(func() { <-last })
}

// afterOthers returns the error of a last try. One that was cut off says nothing about DynamoDB, so the text of the try before it
// is added: its text alone, because the chain says what became of the last try.
func afterOthers(ctx context.Context, err, before error) error {
	if before == nil || !errors.Is(err, ctx.Err()) {
		return err
	}

	return fmt.Errorf("%w; the try before it: %v", err, before) //nolint:errorlint // see above
}

// gaveUp joins the last answer of DynamoDB with the reason why there is no further try.
func gaveUp(ctx context.Context, err error) error {
	if end := sleep.EndOf(ctx); !errors.Is(err, end) {
		return errors.Join(err, end)
	}

	return err
}

// hasEnded reports whether a record that was found answers a write for good.
func (c *Call) hasEnded(found protocol.Item) bool {
	return len(found) > 0 && c.joiner.HasEnded(found)
}
