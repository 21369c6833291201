package lambdawrap

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/protocol"
)

// wrapper is one wrapped handler.
type wrapper struct {
	store         *idemddb.Store
	engine        *engine.Engine               // of the Store
	handler       Handler                      // of SQS
	hooks         hookFuncs[events.SQSMessage] // of queues
	has           hasHooks
	opts          Options
	optsName      string // of the type of the options that the user set, for errors
	reserve       time.Duration
	workers       int
	disabled      bool
	hasOneHandler bool  // one handler works on all messages of an event
	invalid       error // what is wrong with the options; answered to every invocation, so that no message is lost

	durations     durations // of the handlers that succeeded
	reserveWarned atomic.Bool

	// The keys on which the invocations of this wrapper work, each with a channel that is closed when the work ends. Where several
	// invocations overlap in one process, a message can come whose key another one of them works on: it waits for the end of that
	// work, as it would in one batch.
	inHand sync.Map
}

const defaultReserve = time.Second

// newWrapper panics for a nil Store. What else is wrong with the options fails each invocation.
func newWrapper(store *idemddb.Store, opts *Options, name string) *wrapper {
	if opts == nil {
		opts = &Options{}
	}

	if store == nil {
		panic("lambdawrap: store: must not be nil; check the error of idemddb.New")
	}

	w := &wrapper{
		store:    store,
		engine:   store.Engine(),
		opts:     *opts,
		optsName: name,
		reserve:  cmp.Or(opts.Reserve, defaultReserve),
		workers:  cmp.Or(opts.Workers, 1),
		invalid:  opts.validate(name),
	}
	if w.opts.Key == nil && w.opts.Envelope == nil {
		w.opts.Key = MessageID
	}

	if w.disabled = store.Disabled(); w.disabled {
		w.logger().Warn("idempotency is off: IDEMDDB_DISABLED is set; the handler runs each time, whatever the key")
	}

	if opts.Optimistic {
		w.invalid = errors.Join(w.invalid, w.checkOptimistic())
	}

	return w
}

// checkOptimistic refuses a Store without what a commit without a claim needs: each first delivery would fail.
func (w *wrapper) checkOptimistic() error {
	switch retention := w.store.Options().Retention; {
	case w.engine.Transactor == nil:
		return fmt.Errorf("lambdawrap: %s.Optimistic: must not be set for a Store whose client is no idemddb.Transactor", w.optsName)
	case retention < protocol.MinCommitRetention:
		return fmt.Errorf("lambdawrap: %s.Optimistic: must not be set for a Store whose Options.Retention is below %v, it is %v",
			w.optsName, protocol.MinCommitRetention, retention)
	default:
		return nil
	}
}

func (w *wrapper) logger() *slog.Logger {
	return cmp.Or(w.opts.Logger, slog.Default())
}
