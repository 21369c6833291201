package lambdawrap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/schedule"
)

// StreamOptions shape the wrapper of a stream whose records have the type R. Nil and zero mean the defaults.
type StreamOptions[R any] struct {
	// Aggregated says that the handler takes the records that the Kinesis Producer Library makes of several user records as they are,
	// each as one piece of work. For Kinesis only. Defaults to false: such a record is opened, and the handler gets its user records.
	Aggregated bool

	// DeadLetter takes a record that will never succeed, as it arrived: its handler returned [Permanent], its key failed for good
	// before or has its attempts used up (Options.MaxAttempts of the Store), or it has no key. If it returns nil, the record is done
	// and the records behind it go on; else the record is reported failed. It is called at least once for each such record. Defaults
	// to nil: such a record is reported failed, and the stream stands still before it until the event source's own limits are
	// reached.
	DeadLetter func(context.Context, R, error) error

	// Key picks a record's idempotency key, under the rules of [KeyFunc]. The keys of one partition key or item are found side by
	// side, too, and its records are worked on in their order. Defaults to [KinesisRecordID] or [DynamoDBRecordID].
	Key func(context.Context, R) (string, error)

	// Logger gets one line for each record that does not end well, with its sequence number and the hash of its key, never its data.
	// It also gets a warning for each takeover, and a line for each staged message that is not sent. Defaults to slog.Default() at
	// the time of the call.
	Logger *slog.Logger

	// OnRecord is called after each record's end, with the record as it arrived and its outcome. It must be safe for concurrent use.
	// Its panic is logged and changes nothing. Defaults to nil.
	OnRecord func(context.Context, R, Outcome)

	// RecordContext returns the context of one record, derived from ctx, as MessageContext of [Options] does. Defaults to nil: all
	// records have the context of the invocation.
	RecordContext func(context.Context, R) context.Context

	// Reserve is the part of the invocation's time that is kept back for settling and for the answer, as for [Options]. Negative is
	// an error. Defaults to 1 s.
	Reserve time.Duration

	// Timeout is the time for one handler, as for [Options]. Negative is an error. Defaults to 0: no limit.
	Timeout time.Duration

	// Workers is how many handlers run at a time, and beside them how many key functions. Handlers of one partition key or item
	// always run one after the other. With Options.MaxAttempts of the Store it is also how many keys are claimed at a time, so that
	// their claims share requests. Negative is an error. Defaults to 1.
	Workers int
}

// stream is the wrapped handler of one kind of stream.
type stream[R any] struct {
	source   source
	sourceOf func(R) string            // the record's eventSource
	sequence func(R) string            // the record's number in its shard
	group    func(R) string            // the records of a group are worked on in order
	clone    func(R) R                 // shares nothing with the record
	open     func(R) (units []unit[R]) // the units of work of an aggregated record, none for any other one; nil for a stream without them

	optsName string                                   // the type of the user's options, as errors name it
	key      func(context.Context, R) (string, error) // the default of StreamOptions.Key

	wrapper  *wrapper
	opts     StreamOptions[R] // with the default key
	handler  func(context.Context, R) error
	hooks    hookFuncs[R]
	reported atomic.Pointer[map[string]string] // what the last answer named; an event of other shards may have come since
}

// unit is one piece of work of an event: a record, or one of the records that are aggregated in it.
type unit[R any] struct {
	record R
	shard  string    // whose numbers are one sequence; "" where an event is of one shard
	number string    // of the record in its shard, in digits
	id     slog.Attr // names it in the log
	noKey  error     // why it can never have a key; nil for a record that can be worked on
}

// streamWait is how long a record waits for a key that another worker holds: longer than any invocation lasts. The event source
// would send it again at once, and each of these deliveries would be in vain.
const streamWait = 24 * time.Hour

// wrap takes the user's handler and options.
func (s *stream[R]) wrap(store *idemddb.Store, h func(context.Context, R) error, opts *StreamOptions[R]) {
	if h == nil {
		panic("lambdawrap: handler: must not be nil")
	}

	if opts != nil {
		s.opts = *opts
	}

	if s.opts.Key == nil {
		s.opts.Key = s.key
	}

	s.handler = h
	s.wrapper = newWrapper(store, &Options{
		Logger: s.opts.Logger, Reserve: s.opts.Reserve, Timeout: s.opts.Timeout, Workers: s.opts.Workers, Wait: streamWait,
	}, s.optsName)

	s.hooks = hookFuncs[R]{s.opts.RecordContext, s.opts.DeadLetter, s.opts.OnRecord, s.clone}
	s.wrapper.has = s.hooks.has()

	if s.opts.Aggregated && s.open == nil {
		s.wrapper.invalid = errors.Join(s.wrapper.invalid,
			errors.New("lambdawrap: StreamOptions.Aggregated: must not be set with DynamoDBStream, it is for Kinesis"))
	}
}

// work works on the records of an event of one shard and returns the lowest sequence number of those that must come back.
func (s *stream[R]) work(ctx context.Context, records []R) (string, error) {
	failed, err := s.workOn(ctx, s.units(records), s.check(records))

	return failed[""], err
}

// workOn works on the units of an event, unless it is a wrong one, and returns for each shard the lowest number of those that
// must come back. It stores these numbers, because the next event may begin with them.
func (s *stream[R]) workOn(ctx context.Context, units []unit[R], wrongEvent error) (map[string]string, error) {
	v, err := s.wrapper.newInvocation(ctx, wrongEvent)
	if err != nil {
		return nil, err
	}

	messages := s.plan(units)
	if err := v.run(ctx, messages, nil); err != nil {
		return nil, err
	}

	failed := lowest(units, messages)
	s.reported.Store(&failed)

	return failed, nil
}

// check refuses events whose failures could not be reported, before anything runs.
func (s *stream[R]) check(records []R) error {
	if records == nil {
		return s.source.errNoRecords()
	}

	for i, record := range records {
		number := s.sequence(record)
		if err := s.source.check(i, s.sourceOf(record), number != ""); err != nil {
			return err
		}

		if number == "" || strings.Trim(number, "0123456789") != "" {
			return fmt.Errorf("lambdawrap: Records[%d] has no sequence number: expected an event of %s", i, s.source.name)
		}
	}

	return nil
}

// units returns the units of work of records, in their order.
func (s *stream[R]) units(records []R) []unit[R] {
	units := make([]unit[R], 0, len(records))

	for _, record := range records {
		var opened []unit[R]
		if s.open != nil && !s.opts.Aggregated {
			opened = s.open(record)
		}

		if len(opened) == 0 {
			number := s.sequence(record)
			opened = []unit[R]{{record: record, number: number, id: slog.String(sequenceNumber, number)}}
		}

		units = append(units, opened...)
	}

	return units
}

// plan makes messages of units. All units of a group are in order, so each is a message of a FIFO group to the scheduler.
func (s *stream[R]) plan(units []unit[R]) []*message {
	messages := make([]*message, len(units))
	again := s.isAgain(units)

	for i, p := range units {
		m := &message{id: p.id, index: i, group: s.group(p.record), fifo: true, receives: 1, failed: true}
		if again[p.shard] {
			m.receives = 2
		}

		hooks, given := s.hooks.of(p.record)
		m.hooks = hooks
		m.work = func(ctx context.Context) error { return s.handler(ctx, given) }
		m.find = func(ctx context.Context) (schedule.Work, error) {
			if p.noKey != nil {
				return schedule.Work{}, p.noKey
			}

			return keyOf(ctx, given, s.opts.Key, nil)
		}
		messages[i] = m
	}

	return messages
}

// isAgain guesses whose records were delivered before, by shard, because a stream does not count deliveries. Records that begin
// with the number which this process reported last for their shard come for the second time. A wrong guess costs a second
// statement for each claim.
func (s *stream[R]) isAgain(units []unit[R]) map[string]bool {
	again := map[string]bool{}

	reported := s.reported.Load()
	if reported == nil {
		return again
	}

	for _, p := range units {
		if _, isKnown := again[p.shard]; !isKnown {
			again[p.shard] = p.number == (*reported)[p.shard]
		}
	}

	return again
}

const sequenceNumber = "sequenceNumber"

// lowest returns the lowest number of the units that failed, for each shard that has one. Lambda sends that record and all behind
// it again. Those that are done are then answered from their records.
func lowest[R any](units []unit[R], messages []*message) map[string]string {
	failed := map[string]string{}

	for i, p := range units {
		if number, isKnown := failed[p.shard]; messages[i].failed && (!isKnown || isLower(p.number, number)) {
			failed[p.shard] = p.number
		}
	}

	return failed
}

// isLower compares two sequence numbers as integers. They have up to 128 digits.
func isLower(a, b string) bool {
	a, b = strings.TrimLeft(a, "0"), strings.TrimLeft(b, "0")

	return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) < 0
}
