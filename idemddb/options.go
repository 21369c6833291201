package idemddb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/bits"
	"slices"
	"time"

	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
)

// Options shape a Store. Nil and zero mean the defaults.
type Options struct {
	// Cache is how many completed records the process keeps in memory, with their results up to InlineResult. The least recently used
	// one leaves first. A replay from it costs no request, or the read of a larger result. A completed record cannot change until its
	// retention ends; but a record that is deleted by hand goes on being replayed by the processes that have it. Negative is an
	// error. Defaults to 0: none.
	Cache int

	// ClaimPatience is how long a claim that DynamoDB does not answer is sent again, at most until the context's deadline. After
	// that the claim returns an error, and a message comes back by its queue: in an outage the queue's back-off costs less than a
	// function that waits. Negative is an error. Defaults to 5 s.
	ClaimPatience time.Duration

	// ClockSkew is by how much the clocks of two workers may differ. A takeover waits that much longer than the lease, so a larger
	// value delays takeovers. If the clocks differ by more, two workers can hold a key at once; their writes are fenced even then.
	// It must be the same in all workers of a namespace. Negative is an error. Defaults to 1 s.
	ClockSkew time.Duration

	// Codec seals what is stored of results and messages, such as by encryption. See [Codec]. Set it in all processes of a namespace
	// that read either. It is called once for each result and each staged message, with the context of the call that stores or reads
	// it, and costs what its methods do. A nil pointer is an error. Defaults to nil: both are stored as they are.
	Codec Codec

	// HashKeys stores every key as its SHA-256, for keys that hold personal data. It must be the same in all workers of a namespace.
	// Changing it makes every key new. Defaults to false: keys up to 1,024 bytes are stored as they are.
	HashKeys bool

	// InlineResult is the size in bytes above which a result is not kept in its record, where each KB costs 1 WCU with each later
	// write, also with a claim that is refused. A larger result, and one that does not fit into the record, is put into Results. If
	// Results is nil, it is put into the table, as items of up to 390 KB: each costs 1 request and 1 WCU for each KB, and with a
	// replay 1 request and half a read unit for each 4 KB. Negative means every result that is not empty, and more than 350 KB is an
	// error. It has no effect without Results if the client is no [Getter]. Defaults to 32 KB.
	InlineResult int

	// Lease is how long a claim lasts without being renewed, so it is also how long a crash keeps a key from being claimed again. It
	// is cut to the deadline of the invocation. A claim kept with Keep is renewed at half of its lease, at 1 request and 1 WCU.
	// Negative, below 1 ms or above Retention is an error. Defaults to 30 s.
	Lease time.Duration

	// MaxAttempts is how many claims of one key may begin work before the key becomes FAILED and is answered with ErrFailed. It
	// guards against a message that kills its worker each time. Cost: a wrapper then claims a key only when a worker is free for
	// it, so claims share fewer requests. Negative is an error. Defaults to 0: no limit.
	MaxAttempts int

	// NoTakeover makes the next claim of a key whose lease ran out end the key as FAILED instead of taking it over: it and all
	// later claims return ErrFailed, because nobody knows whether the effect happened. It is for effects that must rather not
	// happen than happen twice: a person looks, and calls Reopen. A key that was released is claimed as ever. After the record's
	// retention the key is new, also under NoTakeover, so Retention must be long enough. Cost: as for MaxAttempts, claims share
	// fewer requests. Defaults to false.
	NoTakeover bool

	// Now is the clock for leases and retention. It must be safe for concurrent use. Waiting, retries and renewals use real time. A
	// clock that is not later than 1970 by more than ClockSkew is an error of New, which calls it once. Defaults to time.Now.
	Now func() time.Time

	// Observe is called with each Event, in the goroutine that caused it. It must be quick and safe for concurrent use, and must not
	// panic: its panic goes on in that goroutine, and what the call had still to do is not done. The panic of a renewal is caught,
	// and cancels the work. Observe must not settle a claim, and must not end its renewal: both wait for the renewal that has called
	// Observe. Defaults to none.
	Observe func(context.Context, Event)

	// PartitionKey is the name of the table's partition key, of type string. Defaults to "pk".
	PartitionKey string

	// RedeliverUnsent makes a wrapper report a message of a queue failed until all messages that its handler staged are sent, and
	// each of its deliveries tries to send them. That ends at the queue's maxReceiveCount. Set it where no sweep is deployed.
	// Defaults to false: the message is done, and outbox.Sweep sends what is left.
	RedeliverUnsent bool

	// Results keeps the results that InlineResult keeps out of the record, such as in S3: package results. A result is put there
	// before the completion is written, and read with each replay, also with one from Cache. If it cannot be put, the key is
	// completed without it. Defaults to nil: they are items of their own in the table.
	Results Results

	// Retention is how long a record answers after its completion or failure; then the key is new. A request without an answer may
	// still arrive while its signature is valid, up to 15 minutes later, and the record must be there to refuse it. So Retention must
	// be at least 15 minutes longer than the longest way of a message to its last delivery (in its queue, as a dead letter and,
	// redriven, in the queue again). The record is stored for that long. Negative, or below Lease, is an error. Defaults to 7 days.
	Retention time.Duration

	// Senders names every target of messages, by [Message].To, with the Sender that sends to it after the completion. Name a target
	// with a nil Sender if another process sends to it, as the sweep does. A To that is not named is ErrBadEffects, so that a typing
	// error shows at once. A process leaves the messages in a record for which it has no Sender, with an event [KindUnsent]. With
	// IDEMDDB_DISABLED each target needs a Sender. A nil pointer or function as a Sender is an error, and so are Senders for a client
	// that is no [Transactor]. New copies the map. Defaults to none: messages are refused.
	Senders map[string]Sender

	// Single makes each write a request of its own. A batch of messages then costs about ten times the requests, and the role needs
	// no PartiQL actions. Defaults to false: writes that are made at the same time share requests (group commit), if the client is a
	// [Batcher].
	Single bool

	// SortKey is the name of the table's sort key, of type string, for records in an existing table. It holds the fixed value
	// "idemddb". Defaults to none.
	SortKey string

	// Trace returns the traceparent of the run that claims a key, such as that of the span in ctx. The record keeps it, so that a
	// replay and a takeover can be linked to the run that they stand for: [Record].Trace, [Claim.TakenFrom], [Event].Trace. It is
	// called once for each claim, each commit, and each record of work without a claim that failed, if that asks DynamoDB. It must
	// be quick and safe for concurrent use, and costs no request; the record grows by twice its text. A text that has more than 128
	// bytes or is not visible ASCII is not kept, and the claim goes on without one. If Trace panics, the claim also goes on; the
	// event [KindPanicked] reports it. Set it in all workers of a namespace: a claim of a worker without it leaves the traceparent
	// of an earlier run in the record. Defaults to none: nothing is kept.
	Trace func(context.Context) string

	// TTLAttribute is the name of the attribute on which the table's Time to Live is set. Defaults to "exp".
	TTLAttribute string

	// UnsentIndex is the name of the table's sparse index of records with unsent messages, for outbox.Sweep: partition key due_ns
	// (S), sort key due (N), keys only, as in idemddbtest.CreateTable. Defaults to "": the sweep scans the table.
	UnsentIndex string

	// UnsentShards is the number of partitions of UnsentIndex for the records of the namespace: 16, 32, 64, 128 or 256. A partition
	// takes about 1,000 write units a second, and a small record costs one going in and one going out, so 16 are enough for about
	// 8,000 messages a second. outbox.Sweep makes 16 queries, or 272 if its Store has a larger number. So raise it for the sweep
	// first, and lower it there last: a sweep with 16 does not find what workers with more have left, and its alarm does not see it.
	// Defaults to 16.
	UnsentShards int
}

// The defaults of Options, each only here.
const (
	defaultClaimPatience = 5 * time.Second

	defaultClockSkew    = time.Second
	defaultLease        = 30 * time.Second
	defaultRetention    = 7 * 24 * time.Hour
	defaultPartitionKey = "pk"
	defaultTTLAttribute = "exp"
	defaultInlineResult = 32 << 10  // bytes
	maxInlineResult     = 350 << 10 // bytes, so that the record has room for the rest
	defaultUnsentShards = record.MinShards
)

func (o Options) withDefaults() Options {
	o.ClaimPatience = cmp.Or(o.ClaimPatience, defaultClaimPatience)
	o.ClockSkew = cmp.Or(o.ClockSkew, defaultClockSkew)
	o.Lease = cmp.Or(o.Lease, defaultLease)
	o.Retention = cmp.Or(o.Retention, defaultRetention)
	o.PartitionKey = cmp.Or(o.PartitionKey, defaultPartitionKey)
	o.TTLAttribute = cmp.Or(o.TTLAttribute, defaultTTLAttribute)
	o.UnsentShards = cmp.Or(o.UnsentShards, defaultUnsentShards)
	o.InlineResult = cmp.Or(o.InlineResult, defaultInlineResult)
	o.Senders = maps.Clone(o.Senders)

	if o.Now == nil {
		o.Now = time.Now
	}

	if o.Observe == nil {
		o.Observe = func(context.Context, Event) {}
	}

	return o
}

// config returns what the writes of the records depend on.
func (o *Options) config(table, namespace string) protocol.Config {
	return protocol.Config{
		Table: table, Namespace: namespace, PartitionKey: o.PartitionKey, SortKey: o.SortKey, TTLAttribute: o.TTLAttribute,
		Retention: o.Retention, ClockSkew: o.ClockSkew, MaxAttempts: o.MaxAttempts, NoTakeover: o.NoTakeover, IsTraced: o.Trace != nil,
		IsShared: !o.Single, UnsentShards: o.UnsentShards,
	}
}

func (o *Options) validate() error {
	var errs optionErrors

	errs.checkf(o.Cache >= 0, "Cache: must not be negative, is %d", o.Cache)
	errs.checkf(o.MaxAttempts >= 0, "MaxAttempts: must not be negative, is %d", o.MaxAttempts)
	errs.checkf(o.ClaimPatience >= 0, "ClaimPatience: must not be negative, is %v", o.ClaimPatience)
	errs.checkf(o.ClockSkew >= 0, "ClockSkew: must not be negative, is %v", o.ClockSkew)
	errs.checkf(o.Lease >= 0, "Lease: must not be negative, is %v", o.Lease)
	errs.checkf(o.Retention >= 0, "Retention: must not be negative, is %v", o.Retention)
	errs.checkf(o.Lease < 0 || o.Lease >= time.Millisecond, "Lease: must not be below 1ms, is %v", o.Lease)
	errs.checkf(o.Retention < 0 || o.Lease <= o.Retention,
		"Lease: must not be above Options.Retention, a lease of %v would outlive its record of %v", o.Lease, o.Retention)

	now := o.Now()
	errs.checkf(now.UnixMilli() > o.ClockSkew.Milliseconds(),
		"Now: must be later than 1970 by more than Options.ClockSkew of %v, is %v: no key that was released could be claimed again", o.ClockSkew, now)

	errs.checkf(o.InlineResult <= maxInlineResult, "InlineResult: must not be above %d, is %d", maxInlineResult, o.InlineResult)
	errs.checkf(o.Results == nil || !panicerror.IsNil(o.Results), "Results: must not be a nil pointer")

	errs.checkf(o.Codec == nil || !panicerror.IsNil(o.Codec), "Codec: must not be a nil pointer")

	errs.checkf(o.UnsentShards >= record.MinShards && o.UnsentShards <= record.MaxShards && bits.OnesCount(uint(o.UnsentShards)) == 1,
		"UnsentShards: must be 16, 32, 64, 128 or 256, is %d", o.UnsentShards)

	for _, name := range slices.Sorted(maps.Keys(o.Senders)) {
		sender := o.Senders[name]
		errs.checkf(sender == nil || !panicerror.IsNil(sender), "Senders[%q]: must not be a nil pointer or function; use a plain nil if another process sends", name)
	}

	o.checkNames(&errs)

	return errors.Join(errs...)
}

var errNoTransactor = errors.New("the client does not have the method TransactWriteItems, without which no effects can be written; " +
	"pass a *dynamodb.Client, or a decorator that is an idemddb.Transactor")

// checkTransactor returns an error for options that only effects need, if the client cannot write effects.
func (o *Options) checkTransactor(transacts bool) error {
	if transacts || len(o.Senders) == 0 {
		return nil
	}

	return fmt.Errorf("idemddb: Options.Senders: messages are written as effects: %w", errNoTransactor)
}

// optionErrors collects all that is wrong with Options, so that New reports all of it at once.
type optionErrors []error

// checkf adds an error unless the field is as it must be. The format begins with the name of the field.
func (e *optionErrors) checkf(ok bool, format string, args ...any) {
	if !ok {
		*e = append(*e, fmt.Errorf("idemddb: Options."+format, args...))
	}
}

const maxName = 255 // bytes of an attribute's name, by DynamoDB for those of keys

// checkNames demands that the names of attributes differ from each other and from the attributes of the record.
func (o *Options) checkNames(errs *optionErrors) {
	names := map[string]string{}
	for _, name := range record.Names {
		names[name] = "an attribute of the record"
	}

	for _, field := range []struct{ name, value string }{
		{"PartitionKey", o.PartitionKey}, {"SortKey", o.SortKey}, {"TTLAttribute", o.TTLAttribute},
	} {
		if field.value == "" {
			continue // only SortKey can be empty here
		}

		taken, ok := names[field.value]
		errs.checkf(!ok, "%s: %q is already the name of %s", field.name, field.value, taken)
		errs.checkf(len(field.value) <= maxName, "%s: must not be longer than %d bytes", field.name, maxName)

		names[field.value] = "Options." + field.name
	}
}
