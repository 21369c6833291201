package idemddb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/internal/delivery"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/panicerror"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// DynamoDB is the part of the DynamoDB API that every Store calls; *dynamodb.Client has it, and [Batcher], [Transactor] and
// [Getter], too. A decorator of a client must have the methods of these three as well; otherwise its Store does not share
// requests, refuses effects, or keeps large results in their records.
//
// Give the client [HTTPClient] for its connections. Its retryer is not used: a Store retries by itself, in the same way under any
// version of the SDK.
type DynamoDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// Batcher is the interface that a client needs, beside [DynamoDB], so that writes which are made at the same time share requests.
// Without it every write is a request of its own, as with Options.Single, and New emits the event [KindUnshared].
type Batcher interface {
	BatchExecuteStatement(context.Context, *dynamodb.BatchExecuteStatementInput, ...func(*dynamodb.Options)) (*dynamodb.BatchExecuteStatementOutput, error)
}

// Transactor is the interface that a client needs, beside [DynamoDB], so that effects can be written together with a completion:
// [Stage], [Claim.CompleteWith], [Store.Commit], ClaimOptions.Optimistic and Options.Senders. Without it New refuses
// Options.Senders, and each of the others returns an error that names what is missing, with nothing sent.
type Transactor interface {
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Getter is the interface that a client needs, beside [DynamoDB], so that large results can be items of their own in the table of
// the records: Options.InlineResult. Without it every result stays in its record, unless Options.Results keeps it elsewhere.
type Getter interface {
	GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error)
}

// Store claims keys of one namespace in one table. It is safe for concurrent use, holds no goroutine and needs no closing; make
// one at start-up and share it.
type Store struct {
	api       DynamoDB
	transacts bool // api is a Transactor
	table     string
	namespace string
	opts      Options // resolved: no zero value stands for a default
	records   *protocol.Table
	sealer    *sealer
	results   keeper
	cache     *cache

	lines   lines          // the calls that wait for keys
	engine  *engine.Engine // sends the writes of the records
	targets delivery.Targets

	disabled     bool        // IDEMDDB_DISABLED: every claim is won, nothing is sent
	disabledTold atomic.Bool // the event KindDisabled is emitted
}

// New returns a Store for the records of namespace in a table. The table is given by its name or by its ARN; with an ARN, writes
// do not share requests.
//
// The namespace stands before each key and separates the operations that share a table. It is not derived from the function's
// name, so a renamed function still finds its records. It must not contain '#' and has at most 255 bytes. New makes no request: a
// table that is missing or has another key shows with the first claim. Every error names the argument or the field.
//
// The table must not have multi-Region strong consistency (MRSC): DynamoDB then has neither transactions, so that no effect can
// be written, nor Time to Live, so that no record is deleted. The first transaction shows it as an EffectError, and idem check
// before that.
//
// The environment variable IDEMDDB_DISABLED (true or 1; false, 0 and empty mean no) is read here and nowhere else. It turns the
// Store off for as long as it lives: every claim succeeds whatever its key, no record is read or written, and settlements only
// write the staged items and send the staged messages. It is for an emergency and for experiments. The first claim emits the
// event KindDisabled.
//
// If requests cannot be shared, as by a client that is no [Batcher], New emits the event [KindUnshared] with the reason. A client
// that is no [Transactor] cannot write effects: New then refuses Options.Senders, and the calls that write effects are refused
// later.
//
//nolint:contextcheck,nolintlint // for callers that have a context: New makes no request
func New(api DynamoDB, table, namespace string, opts *Options) (*Store, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}

	o = o.withDefaults()

	transactor, transacts := api.(Transactor)

	disabled, err := readDisabled()
	if err := errors.Join(checkArguments(api, table, namespace), o.validate(), o.checkTransactor(transacts), err); err != nil {
		return nil, err
	}

	s := &Store{
		api:       api,
		transacts: transacts,
		table:     table,
		namespace: namespace,
		opts:      o,
		records:   protocol.NewTable(o.config(table, namespace)),
		cache:     newCache(o.Cache),
		disabled:  disabled,
		sealer:    &sealer{o.Codec, namespace, disabled},
	}
	s.targets.Sender, s.targets.Now = senders(o.Senders).send, o.Now
	s.results = keeper{
		sealer: s.sealer, inline: max(0, o.InlineResult), lease: o.Lease,
		given: resultPlace{o.Results, "Options.Results", math.MaxInt}, inTable: resultPlace{title: "the client's GetItem"},
	}

	if getter, gets := api.(Getter); gets {
		kept := &tableResults{api, getter, sdkOptions, s.records, o.Now, o.ClaimPatience}
		s.results.inTable = resultPlace{kept, fmt.Sprintf("table %q", table), record.MaxParts * record.PartSize}
	}

	shared, err := s.sharer()
	if err != nil {
		s.observeUnshared(context.Background(), "", err)
	}

	s.engine = engine.New(engine.Config{
		API: api, Transactor: transactor, Options: sdkOptions, Shared: shared, Retried: s.retried, Conflict: s.observeConflict,
		Unshared: s.observeUnshared, Unread: s.observeUnread,
		IsCounted: o.MaxAttempts > 0 || o.NoTakeover,
	})

	return s, nil
}

// Engine returns what sends the writes of the Store. It is for the packages of this module.
func (s *Store) Engine() *engine.Engine {
	s.mustExist()

	return s.engine
}

// RetryAfter returns how long a lease that ends at this time, by its holder's clock, may keep the key from being claimed: a
// takeover is possible ClockSkew after the lease, and the clock of the worker that takes it over may be that much behind. It is
// not positive if the lease is over for everybody. It is for wrappers, which hide a message until it can be worked on.
func (s *Store) RetryAfter(lease time.Time) time.Duration {
	s.mustExist()

	return lease.Add(2 * s.opts.ClockSkew).Sub(s.opts.Now())
}

func (s *Store) mustExist() {
	if s == nil || s.engine == nil {
		panic(nilStore)
	}
}

const nilStore = "idemddb: nil Store, or one that New has not made: check the error of New"

// sharer returns the client for shared requests, or why requests cannot be shared. It returns neither if they must not be.
func (s *Store) sharer() (wire.Executor, error) {
	if s.opts.Single || s.disabled {
		return nil, nil //nolint:nilnil // no client and no reason: they must not be shared
	}

	api, ok := s.api.(Batcher)
	if !ok {
		return nil, errors.New("the client does not have the method BatchExecuteStatement")
	}

	if strings.HasPrefix(s.table, "arn:") {
		return nil, errors.New("the table is given as an ARN, which PartiQL may not accept")
	}

	for _, name := range []string{s.opts.PartitionKey, s.opts.SortKey, s.opts.TTLAttribute} {
		if strings.HasPrefix(name, "#") || strings.HasPrefix(name, ":") {
			return nil, fmt.Errorf("PartiQL does not accept the attribute name %q", name)
		}
	}

	return api, nil
}

func readDisabled() (bool, error) {
	const name = "IDEMDDB_DISABLED"

	text := cmp.Or(os.Getenv(name), "false")

	disabled, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("idemddb: environment variable %s: must be true, 1, false, 0 or empty, is %q", name, text)
	}

	return disabled, nil
}

// observeQuiet emits an event that no returned error reports. It is passed to the wrapper, too, which logs it.
func (s *Store) observeQuiet(ctx context.Context, e Event) {
	if noted := engine.Of(ctx).Noted; noted != nil {
		noted(string(e.Kind), e.Key, e.Err)
	}

	s.opts.Observe(ctx, e)
}

// The functions of engine.Config that report something have one signature; each uses what its event has.

func (s *Store) observeConflict(ctx context.Context, key string, _ error) {
	s.opts.Observe(ctx, Event{Kind: KindConflict, Key: key})
}

func (s *Store) observeUnshared(ctx context.Context, _ string, err error) {
	s.observeQuiet(ctx, Event{Kind: KindUnshared, Err: fmt.Errorf("idemddb: shared requests: table %q: %w", s.table, err)})
}

func (s *Store) observeUnread(ctx context.Context, _ string, err error) {
	s.observeQuiet(ctx, Event{Kind: KindReadsDenied, Err: fmt.Errorf("idemddb: reads before transactions of several keys: table %q: %w", s.table, err)})
}

// retried emits an event for a try of the key's write that had this answer and is followed by another one.
func (s *Store) retried(ctx context.Context, key string, err error) {
	s.opts.Observe(ctx, Event{Kind: KindRetried, Key: key, Err: err})

	if retried := engine.Of(ctx).Retried; retried != nil {
		retried()
	}
}

const maxNamespace = 255 // bytes; with '#' and the longest stored key well below DynamoDB's 2,048 for a partition key

func checkArguments(api DynamoDB, table, namespace string) error {
	switch {
	case panicerror.IsNil(api):
		return errors.New("idemddb: api: must not be nil; pass dynamodb.NewFromConfig(cfg)")
	case table == "":
		return errors.New("idemddb: table: must not be empty; is the function's TABLE_NAME set?")
	case namespace == "":
		return errors.New("idemddb: namespace: must not be empty; name the operation, such as \"payments\"")
	case strings.Contains(namespace, "#"):
		return errors.New("idemddb: namespace: must not hold '#', which separates it from the key")
	case len(namespace) > maxNamespace:
		return fmt.Errorf("idemddb: namespace: must not be longer than %d bytes, has %d", maxNamespace, len(namespace))
	case !utf8.ValidString(namespace):
		return errors.New("idemddb: namespace: must be UTF-8")
	case strings.TrimSpace(namespace) != namespace || strings.ContainsFunc(namespace, unicode.IsControl):
		return fmt.Errorf("idemddb: namespace: must have neither white space at an end nor control characters, with which each key is a new one, is %q", namespace)
	}

	return nil
}

// sdkOptions turn off the SDK's own retries and its check of the answer's checksum: that check only logs a warning after the
// answer was accepted, and it does so for every refusal of DynamoDB Local, which sends no checksum. All requests share the slice,
// so no code may change it.
var sdkOptions = []func(*dynamodb.Options){func(o *dynamodb.Options) {
	o.Retryer = aws.NopRetryer{}
	o.DisableValidateResponseChecksum = true
}}
