package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/user"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// The exit codes.
const (
	exitDone    = 0
	exitNothing = 1 // nothing was found

	// At least one record was not changed: it has changed meanwhile, does not allow it, or the operator said no. Of check: a
	// fault. Of audit: a change is missing or breaks a rule.
	exitRefused = 2

	// Wrong arguments, or no answer of AWS: what was to be changed is perhaps changed, so look again. Of check and audit: nothing
	// wrong was seen, and not all was seen.
	exitError = 3
)

// app is one run of the program.
type app struct {
	in          io.Reader
	out, log    io.Writer // results; progress, questions and errors
	getenv      func(string) string
	interactive bool // there is somebody to ask
	borrowed    bool // nobody gave credentials for an endpoint on this machine

	flags flags
	now   func() time.Time // replaced by tests; nil for time.Now
	quiet time.Duration    // of audit, replaced by tests; 0 for its default
}

// flags are those that every command has.
type flags struct {
	table, namespace                           string
	endpoint, region, profile                  string
	partitionKey, sortKey, ttlAttribute, index string
	hashKeys, json                             bool
	clockSkew, retention                       time.Duration
	targets                                    []string
}

// codeError is an error that ends the program with a code of its own.
type codeError struct {
	code int
	err  error // nil: everything is said
}

func (e *codeError) Error() string {
	if e.err == nil {
		return ""
	}

	return e.err.Error()
}

func (e *codeError) Unwrap() error { return e.err }

// notNegative returns an error that names the first of the command's flags that is below zero or no number, with its value.
func notNegative(cmd *cobra.Command, flags ...string) error {
	for _, name := range flags {
		if value := cmd.Flags().Lookup(name).Value.String(); strings.HasPrefix(value, "-") {
			return fmt.Errorf("--%s: must not be negative, is %s", name, value)
		} else if value == "NaN" || value == "+Inf" {
			return fmt.Errorf("--%s: must be a number, is %s", name, value)
		}
	}

	return nil
}

// flagNames replaces what a text of the packages names by what is typed.
var flagNames = strings.NewReplacer(
	"operate: ", "", "idemddb: ", "",
	"audit: Options.ClockSkew", "--clock-skew", "audit: Options.Lease", "--lease", "audit: Options.Retention", "--retention",
	"audit: Options.Resolution", "--resolution", "audit: Options.Namespaces", "--namespaces", "audit: Options.PartitionKey", "--partition-key",
	"Selection.Hash", "--hash", "Selection.Budget", "--budget", "Selection.Rate", "--rate", "Selection.Segments", "--segments",
	"Selection.Cursor", "--cursor",
	"Options.ClockSkew", "--clock-skew", "Options.Retention", "--retention", "Options.PartitionKey", "--partition-key",
	"Options.SortKey", "--sort-key", "Options.TTLAttribute", "--ttl-attribute", "Options.UnsentIndex", "--unsent-index",
	"Options.Senders", "--target",
)

// desk is what the commands work with.
type desk struct {
	config  aws.Config
	clock   *clock
	client  *dynamodb.Client
	store   *idemddb.Store
	records *operate.Records
}

// open connects to the table. It makes no request.
func (a *app) open(ctx context.Context) (*desk, error) {
	if err := a.requireNames(); err != nil {
		return nil, err
	}

	cfg, err := a.awsConfig(ctx)
	if err != nil {
		return nil, err
	}

	senders, err := senders(cfg, a.flags.targets)
	if err != nil {
		return nil, err
	}

	d := connect(cfg)
	if err := a.openRecords(d, senders); err != nil {
		return nil, err
	}

	return d, nil
}

// requireNames returns an error if the table or the namespace is not named, because every record is found by both.
func (a *app) requireNames() error {
	switch {
	case a.flags.table == "":
		return errors.New("--table: must not be empty; name the table of the records, or set IDEM_TABLE")
	case a.flags.namespace == "":
		return errors.New("--namespace: must not be empty; it is the one that the function gives to idemddb.New, or set IDEM_NAMESPACE")
	default:
		return nil
	}
}

// isARN reports whether --table is the ARN of the table, as of another account, and not its name.
func isARN(table string) bool { return strings.HasPrefix(table, "arn:") }

// connect returns a desk with a client of DynamoDB whose answers are compared with this machine's clock.
func connect(cfg aws.Config) *desk {
	watched := &clock{HTTPClient: cfg.HTTPClient}
	cfg.HTTPClient = watched

	// The SDK's check of the checksum only prints a warning, for each answer of DynamoDB Local, too.
	client := dynamodb.NewFromConfig(cfg, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = true })

	return &desk{config: cfg, clock: watched, client: client}
}

// allShards lets the tool find unsent messages whatever the number of partitions is that the workers use.
const allShards = 256

// openRecords gives the desk its store and the operator's view of the store's records, with the options of the command line.
func (a *app) openRecords(d *desk, senders map[string]idemddb.Sender) error {
	var err error

	d.store, err = idemddb.New(d.client, a.flags.table, a.flags.namespace, &idemddb.Options{
		PartitionKey: a.flags.partitionKey, SortKey: a.flags.sortKey, TTLAttribute: a.flags.ttlAttribute,
		UnsentIndex: a.flags.index, UnsentShards: allShards,
		HashKeys: a.flags.hashKeys, ClockSkew: a.flags.clockSkew, Retention: a.flags.retention,
		Lease: shortLease(a.flags.retention), Senders: senders, Single: true, Now: a.now,
	})
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}

	d.records, err = operate.New(d.store, d.client)
	if err != nil {
		return fmt.Errorf("open: %w", err)
	}

	return nil
}

// shortLease is a lease for a program that claims nothing. It must not be longer than the retention, and is the time for sending.
func shortLease(retention time.Duration) time.Duration {
	const byDefault = 30 * time.Second
	if 0 < retention && retention < byDefault {
		return retention
	}

	return 0
}

func (a *app) awsConfig(ctx context.Context) (aws.Config, error) {
	options := []func(*config.LoadOptions) error{config.WithSharedConfigProfile(a.flags.profile)}

	if a.isLocal() && a.getenv("AWS_ACCESS_KEY_ID") == "" && a.flags.profile == "" && a.getenv("AWS_PROFILE") == "" {
		a.borrowed = true
		options = append(options, config.WithCredentialsProvider(credentials.NewStaticCredentialsProvider("local", "local", "")))
	}

	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("configuration of AWS: %w", err)
	}

	cfg.Region, err = a.region(cfg.Region)
	if err != nil {
		return cfg, err
	}

	if a.flags.endpoint != "" {
		cfg.BaseEndpoint = &a.flags.endpoint
		cfg.ConfigSources = slices.Insert(cfg.ConfigSources, 0, any(typedEndpoint(a.flags.endpoint)))
	}

	cfg.HTTPClient = idemddb.HTTPClient()

	return cfg, nil
}

// typedEndpoint is the endpoint of each service, before what AWS_ENDPOINT_URL_DYNAMODB or a shared file says, which the SDK
// prefers to aws.Config.BaseEndpoint: a change must not be made elsewhere than was typed.
type typedEndpoint string

// GetServiceBaseEndpoint is what the SDK asks each source of a configuration.
func (e typedEndpoint) GetServiceBaseEndpoint(context.Context, string) (string, bool, error) {
	return string(e), true, nil
}

// region returns the Region of the table: that of the flag, else the configured one. An endpoint on this machine takes any, and
// the SDK requires one.
func (a *app) region(configured string) (string, error) {
	switch {
	case a.flags.region != "":
		return a.flags.region, nil
	case configured == "" && a.isLocal():
		return "us-east-1", nil
	case configured == "":
		return "", errors.New("--region: must not be empty; name the table's Region, or set AWS_REGION")
	default:
		return configured, nil
	}
}

// isLocal reports whether the endpoint is on this machine: LocalStack or DynamoDB Local, which take any credentials.
func (a *app) isLocal() bool {
	endpoint, err := url.Parse(cmp.Or(a.flags.endpoint, a.getenv("AWS_ENDPOINT_URL_DYNAMODB"), a.getenv("AWS_ENDPOINT_URL")))
	if err != nil {
		return false
	}

	ip := net.ParseIP(endpoint.Hostname())

	return endpoint.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

// operator is who makes the changes, unless --by says otherwise.
func (a *app) operator() string {
	if by := a.getenv("IDEM_BY"); by != "" {
		return by
	}

	current, err := user.Current()
	if err != nil {
		return a.getenv("USER")
	}

	return current.Username
}
