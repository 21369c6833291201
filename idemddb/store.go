package idemddb

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"reflect"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
)

// DynamoDB is the part of the DynamoDB API that a Store uses; *dynamodb.Client fits. A client that also has BatchExecuteStatement, as
// that one has, is used for requests in groups, unless Options.Single is set; a decorator should pass it on.
//
// Give the client [HTTPClient] for its connections. Its retryer is not used: a Store retries on its own, the same way under
// any version of the SDK.
type DynamoDB interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	TransactWriteItems(context.Context, *dynamodb.TransactWriteItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error)
}

// Options shape a Store. Nil and zero mean the defaults.
type Options struct {
	// Cache is how many completed records the process keeps in memory, with their results, the least recently used leaving
	// first. A replay from it costs no request. Only what can no longer change is kept: completed records, until their
	// retention ends. Negative is an error. Defaults to 0: none.
	Cache int

	// ClockSkew is by how much the clocks of two workers may differ. A taker waits that much longer than the lease says, so
	// a larger one delays takeovers and a smaller one than the truth lets two workers hold a key at once (their writes are
	// fenced even then). It must be the same in all workers of a namespace. Negative is an error. Defaults to 1 s.
	ClockSkew time.Duration

	// Lease is for how long a claim lasts without being renewed: so long a crash keeps its keys from being claimed. It is
	// cut to the context's deadline. A claim kept with Keep is renewed at half of it, at 1 request and 1 write unit.
	// Negative, below 1 ms or above Retention is an error. Defaults to 30 s.
	Lease time.Duration

	// MaxAttempts is how many claims of one key may begin work before the key is FAILED and answered with ErrFailed: the
	// guard against a message that kills its worker each time. Negative is an error. Defaults to 0: no limit.
	MaxAttempts int

	// NoTakeover never takes over a key whose lease ran out: the claim that finds it writes FAILED, and it and all later ones
	// answer ErrFailed, because whether the effect happened is unknown. For effects that must rather not happen than happen
	// twice; a person looks, and calls Reopen. Keys that were released are claimed as ever. Defaults to false.
	NoTakeover bool

	// Now is the clock behind leases and retention. Nil is time.Now. It must be safe for concurrent use. Waiting, retries and
	// renewals use real time.
	Now func() time.Time

	// Observe is called with each Event, in the goroutine that caused it: it must be quick and safe for concurrent use, and must
	// not panic. Defaults to none.
	Observe func(context.Context, Event)

	// PartitionKey is the name of the table's partition key, of type string. Defaults to "pk".
	PartitionKey string

	// Retention is for how long after its completion or failure a record answers; then the key is new. It should exceed the
	// longest way that a message can take to a redelivery: a queue's retention and its dead-letter queue's. A record is
	// stored for that long. Negative, or below Lease, is an error. Defaults to 7 days.
	Retention time.Duration

	// Single makes each write a request of its own, as the SDK's calls by hand would: a batch of messages then costs about ten
	// times the requests, and the role needs no PartiQL actions. Without it a [Group] uses BatchExecuteStatement, if the client
	// has it. Defaults to false.
	Single bool

	// SortKey is the name of the table's sort key, of type string, for records in an existing table; it holds the fixed
	// value "idemddb". Defaults to none.
	SortKey string

	// TTLAttribute is the name of the attribute that the table's Time to Live is set to. Defaults to "exp".
	TTLAttribute string
}

// Store claims keys of one namespace in one table. It is safe for concurrent use, holds no goroutine and needs no closing;
// make one at start-up and share it.
type Store struct {
	api       DynamoDB
	table     string
	namespace string
	opts      Options // resolved: no zero value stands for a default
	expr      expressions
	cache     *cache

	batch      batcher // nil: no groups
	ungrouped  atomic.Bool
	statements sync.Map // [2]string, condition and update → statement

	disabled bool      // IDEMDDB_DISABLED: every claim is won, nothing is sent
	told     sync.Once // that it is
}

// The defaults of Options, each only here.
const (
	defaultClockSkew    = time.Second
	defaultLease        = 30 * time.Second
	defaultRetention    = 7 * 24 * time.Hour
	defaultPartitionKey = "pk"
	defaultTTLAttribute = "exp"

	maxNamespace = 255 // bytes; with '#' and the longest stored key well below DynamoDB's 2,048 for a partition key
)

// New returns a Store for the records of namespace in table (a name, or an ARN: then writes do not go in groups).
//
// The namespace stands before each key and keeps the operations that share a table apart; it is not derived from the
// function's name, so that a renamed function knows its records. It holds no '#' and at most 255 bytes. New makes no request:
// a table that is missing or has another key shows with the first claim. Every error names the argument or the field.
//
// The environment variable IDEMDDB_DISABLED (true or 1; false, 0 and empty: not), read here and nowhere else, turns the Store off
// for as long as it lives: every claim is won whatever its key, every settlement succeeds, and no request is made. It is for an
// emergency and for trying things out; Observe hears of it once, as Disabled, with the first claim.
//
// Observe hears during New, as Ungrouped, that the client hides BatchExecuteStatement.
//
//nolint:contextcheck,nolintlint // for callers that have a context: New makes no request
func New(api DynamoDB, table, namespace string, opts *Options) (*Store, error) {
	o := Options{}
	if opts != nil {
		o = *opts
	}

	o = o.withDefaults()

	disabled, err := readDisabled()
	if err := errors.Join(checkArguments(api, table, namespace), o.validate(), err); err != nil {
		return nil, err
	}

	s := &Store{
		api:       api,
		table:     table,
		namespace: namespace,
		opts:      o,
		expr:      newExpressions(table, &o),
		cache:     newCache(o.Cache),
		disabled:  disabled,
	}
	if o.Single || disabled {
		return s, nil
	}

	if s.batch, _ = api.(batcher); s.batch == nil {
		s.ungroup(context.Background(), errors.New("the client hides its method BatchExecuteStatement"))
	} else if strings.HasPrefix(table, "arn:") { // PartiQL may know names only, and its no would be met by every batch
		s.ungroup(context.Background(), errors.New("the table is given as an ARN"))
	}

	return s, nil
}

// CountsClaims tells whether a claim counts against its key if the process dies before its work has begun: Options.MaxAttempts or
// Options.NoTakeover is set. Then a wrapper should not claim keys whose work must wait.
func (s *Store) CountsClaims() bool { return s.opts.MaxAttempts > 0 || s.opts.NoTakeover }

// UntilTakeover returns for how long a lease that ends at this time, by its holder's clock, may be in the way of a claim: a taker
// waits ClockSkew longer than the lease, and its clock may be that much behind. It is not positive if the lease is in nobody's way.
func (s *Store) UntilTakeover(lease time.Time) time.Duration {
	return lease.Add(2 * s.opts.ClockSkew).Sub(s.opts.Now())
}

// Disabled tells whether IDEMDDB_DISABLED was set when the Store was made.
func (s *Store) Disabled() bool { return s.disabled }

func readDisabled() (bool, error) {
	const name = "IDEMDDB_DISABLED"

	text := os.Getenv(name)
	if text == "" {
		return false, nil
	}

	disabled, err := strconv.ParseBool(text)
	if err != nil {
		return false, fmt.Errorf("idemddb: environment variable %s: must be true, 1, false, 0 or empty, is %q", name, text)
	}

	return disabled, nil
}

func (o Options) withDefaults() Options {
	o.ClockSkew = cmp.Or(o.ClockSkew, defaultClockSkew)
	o.Lease = cmp.Or(o.Lease, defaultLease)
	o.Retention = cmp.Or(o.Retention, defaultRetention)
	o.PartitionKey = cmp.Or(o.PartitionKey, defaultPartitionKey)
	o.TTLAttribute = cmp.Or(o.TTLAttribute, defaultTTLAttribute)

	if o.Now == nil {
		o.Now = time.Now
	}

	return o
}

func checkArguments(api DynamoDB, table, namespace string) error {
	switch {
	case isNil(api):
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
	}

	return nil
}

// isNil also sees a nil pointer inside the interface: a client variable that was never set.
func isNil(api DynamoDB) bool {
	if api == nil {
		return true
	}

	v := reflect.ValueOf(api)

	return v.Kind() == reflect.Pointer && v.IsNil()
}

func (o *Options) validate() error {
	var errs []error

	check := func(ok bool, format string, args ...any) {
		if !ok {
			errs = append(errs, fmt.Errorf("idemddb: Options."+format, args...))
		}
	}

	check(o.Cache >= 0, "Cache: must not be negative, is %d", o.Cache)
	check(o.MaxAttempts >= 0, "MaxAttempts: must not be negative, is %d", o.MaxAttempts)
	check(o.ClockSkew >= 0, "ClockSkew: must not be negative, is %v", o.ClockSkew)
	check(o.Lease >= 0, "Lease: must not be negative, is %v", o.Lease)
	check(o.Retention >= 0, "Retention: must not be negative, is %v", o.Retention)
	check(o.Lease < 0 || o.Lease >= time.Millisecond, "Lease: must not be below 1ms, is %v", o.Lease)
	check(o.Retention < 0 || o.Lease <= o.Retention,
		"Lease: must not be above Options.Retention, a lease of %v would outlive its record of %v", o.Lease, o.Retention)

	names := map[string]string{}
	for _, name := range attributeNames {
		names[name] = "an attribute of the record"
	}

	for _, field := range []struct{ name, value string }{
		{"PartitionKey", o.PartitionKey}, {"SortKey", o.SortKey}, {"TTLAttribute", o.TTLAttribute},
	} {
		if field.value == "" {
			continue // only SortKey can be empty here
		}

		taken, ok := names[field.value]
		check(!ok, "%s: %q is already the name of %s", field.name, field.value, taken)
		check(len(field.value) <= maxNamespace, "%s: must not be longer than %d bytes", field.name, maxNamespace)

		names[field.value] = "Options." + field.name
	}

	return errors.Join(errs...)
}
