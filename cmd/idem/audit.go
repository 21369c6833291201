package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams"
	"github.com/spf13/cobra"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/tablestream"
)

const auditHelp = `Judge every change of the records that the table's stream has, by the rules of docs/record.md: how many there are of each kind, how many were made
late, where changes are missing, and each change that breaks a rule, with the story of its key. With a KEY, tell the story of that key alone, also
of one whose record is gone.

The table needs a stream with NEW_AND_OLD_IMAGES. DynamoDB keeps a change for 24 hours. A stream that is in use is read up to the time at which idem
began, or until no shard had anything new for the time of --quiet. --follow goes on until it is interrupted, and tells each violation when it
comes. Of a shard there may be two readers: with a function and another consumer on the stream, DynamoDB refuses some requests, and idem waits.

Give the options of the functions' store: --clock-skew, --ttl-attribute, --partition-key, --sort-key, and --retention and --lease if all workers
have the same. Every item of --namespace or --namespaces is taken for a record. Without either, an item is a record if it looks like one.
Changes of other items are counted. Idem needs up to 8 KB of memory for each key that was changed.

Exit codes: 0 the stream was read to its end, and no change is missing or breaks a rule; 1 there is no change of the KEY; 2 a change is missing or
breaks a rule; 3 the stream was not read to its end.`

const (
	defaultPages = 10_000 // requests of GetRecords
	defaultQuiet = 5 * time.Second

	dollarsPerPage = 0.02 / 100_000
)

// auditRun is one audit.
type auditRun struct {
	app  *app
	keys keyFlags

	since, quiet, lease time.Duration
	resolution          time.Duration
	follow, oldWorkers  bool
	budget              int
	namespaces          []string

	wanted  map[string]string // partition keys, and how each was found; nil for every key
	hash    string
	checker *audit.Checker
	found   []string // partition keys with violations, the first ones
	stories []string // partition keys with the hash
	printer auditPrinter
}

// keyFlags say how the KEY is spelled.
type keyFlags struct{ exact bool }

func (a *app) auditCommand() *cobra.Command {
	u := &auditRun{app: a}
	cmd := &cobra.Command{
		Use: "audit [KEY]", Short: "Judge the changes of the records in the table's stream; tell the story of a key",
		Long: auditHelp, Args: cobra.MaximumNArgs(1),
		Example: "  idem audit --since 2h\n  idem audit p-9\n  idem audit --namespaces payments,api --follow",
		RunE:    func(cmd *cobra.Command, keys []string) error { return u.run(cmd.Context(), keys) },
	}
	flags := cmd.Flags()
	flags.DurationVar(&u.since, "since", 0, "leave out what was changed before, such as 2h (default all that the stream has)")
	flags.BoolVar(&u.follow, "follow", false, "go on until it is interrupted or the stream is disabled")
	flags.IntVar(&u.budget, "budget", 0, "requests of at most 1 MB that may be made (default 10000, about $0.002; no limit with --follow)")
	flags.DurationVar(&u.quiet, "quiet", cmp.Or(a.quiet, defaultQuiet), "a stream that had nothing new for so long is read to its end")
	flags.StringSliceVar(&u.namespaces, "namespaces", nil, "namespaces of the records, with commas between them (default --namespace)")
	flags.StringVar(&u.hash, "hash", "", "hash of a key, as a log line has it, instead of a KEY: sha256:…")
	flags.BoolVar(&u.keys.exact, "exact", false, "take the KEY as it is given")
	flags.DurationVar(&u.lease, "lease", 0, "Options.Lease, if all workers have the same: the start of each lease is judged, too")
	flags.BoolVar(&u.oldWorkers, "old-workers", false, "workers from before took, tookat and nt share the table")
	flags.DurationVar(&u.resolution, "resolution", 0,
		"how exact the times of the stream are; with 1m or more they are not compared (default 1s, 1m for another endpoint than AWS's)")

	return cmd
}

func (u *auditRun) run(ctx context.Context, keys []string) error {
	if err := u.validate(keys); err != nil {
		return err
	}

	d, err := u.open(ctx)
	if err != nil {
		return err
	}

	if len(keys) > 0 {
		u.want(d, keys[0]) //nolint:contextcheck // no key function of lambdawrap waits for anything
	}

	arn, err := tablestream.Find(ctx, d.client, u.app.flags.table)
	if err != nil {
		return err //nolint:wrapcheck // it says what was asked
	}

	if u.checker, err = audit.NewChecker(u.options(d)); err != nil {
		return err //nolint:wrapcheck // it names the option
	}

	u.printer = auditPrinter{app: u.app}
	result, err := tablestream.Read(ctx, streamsOf(d), arn, u.reading(d), u.judge)

	return u.end(result, err)
}

func (u *auditRun) validate(keys []string) error {
	switch {
	case u.since < 0 || u.budget < 0:
		return errors.New("--since and --budget: must not be negative")
	case u.quiet <= 0:
		return fmt.Errorf("--quiet: must be positive, is %v", u.quiet)
	case len(keys) > 0 && u.hash != "":
		return errors.New("name one key: a KEY or --hash")
	case u.hash != "" && (!strings.HasPrefix(u.hash, record.DigestPrefix) || len(u.hash) < record.HashLength):
		return fmt.Errorf("--hash: must be %q and 12 characters, as a log line has it, is %q", record.DigestPrefix, u.hash)
	case u.app.flags.table == "", len(keys) > 0 && u.app.flags.namespace == "":
		return u.app.requireNames()
	default:
		return nil
	}
}

// open connects to the table. Only a KEY needs the store: its namespace is a part of the partition key.
func (u *auditRun) open(ctx context.Context) (*desk, error) {
	if u.app.flags.namespace != "" {
		return u.app.open(ctx)
	}

	cfg, err := u.app.awsConfig(ctx)
	if err != nil {
		return nil, err
	}

	return connect(cfg), nil
}

// want makes the audit one of a key, in each way in which a person may have spelled it.
func (u *auditRun) want(d *desk, key string) {
	u.wanted = map[string]string{}
	name := d.store.Options().PartitionKey

	for _, s := range (&finder{exact: u.keys.exact}).spellings(d, key) {
		if in, err := d.store.RecordOf(s.key); err == nil {
			u.wanted[record.TextOf(in.Key[name])] = s.how
		}
	}
}

// options are those of the workers, as far as the command line has them.
func (u *auditRun) options(d *desk) audit.Options {
	f := &u.app.flags
	o := audit.Options{
		PartitionKey: f.partitionKey, SortKey: f.sortKey, TTLAttribute: f.ttlAttribute, Namespaces: u.namespaces,
		ClockSkew: f.clockSkew, Retention: f.retention, Lease: u.lease, Resolution: u.resolution, OldWorkers: u.oldWorkers,
	}

	if len(o.Namespaces) == 0 && f.namespace != "" {
		o.Namespaces = []string{f.namespace}
	}

	switch {
	case o.Resolution != 0:
	case isOfAWS(d.client.Options().BaseEndpoint):
		o.Resolution = time.Second
	default:
		o.Resolution = time.Minute // DynamoDB Local cuts the times to minutes, and so does what is built on it
	}

	return o
}

// isOfAWS reports whether an endpoint is one of AWS; nil is the default one.
func isOfAWS(endpoint *string) bool {
	return endpoint == nil || strings.Contains(*endpoint, "amazonaws.com")
}

// streamsOf returns a client for the streams of the tables of the desk. DynamoDB Local and LocalStack have both at one endpoint.
func streamsOf(d *desk) *dynamodbstreams.Client {
	return dynamodbstreams.NewFromConfig(d.config, func(o *dynamodbstreams.Options) {
		if tables := d.client.Options().BaseEndpoint; o.BaseEndpoint == nil && !isOfAWS(tables) {
			o.BaseEndpoint = tables
		}
	})
}

// reading says where the reading begins and ends, by the service's clock.
func (u *auditRun) reading(d *desk) *tablestream.Options {
	off, _ := d.clock.offset()
	now := time.Now().Add(-off)
	o := &tablestream.Options{Budget: u.budget, Progress: u.progress()}

	if u.since > 0 {
		o.Since = now.Add(-u.since)
	}

	if !u.follow {
		o.Until, o.Quiet = now, u.quiet

		if o.Budget == 0 {
			o.Budget = defaultPages
		}
	}

	return o
}

// judge judges a change, unless it is of a key that was not asked for.
func (u *auditRun) judge(c tablestream.Change) error {
	partition := u.partition(c)
	if !u.isWanted(partition) {
		return nil
	}

	verdict := u.checker.Check(audit.Change(c))
	if len(verdict.Violations) == 0 {
		return nil
	}

	return u.violation(&verdict)
}

// partition is the partition key of the item that was changed; "" if it is no string.
func (u *auditRun) partition(c tablestream.Change) string {
	name := u.app.flags.partitionKey
	if name == "" {
		name = "pk"
	}

	if c.After != nil {
		return record.TextOf(c.After[name])
	}

	return record.TextOf(c.Before[name])
}

func (u *auditRun) isWanted(partition string) bool {
	switch {
	case u.wanted != nil:
		_, isWanted := u.wanted[partition]

		return isWanted
	case u.hash != "":
		_, key, _ := strings.Cut(partition, "#")
		if record.StoredKeyHash(key) != u.hash[:record.HashLength] {
			return false
		}

		u.stories = appendNew(u.stories, partition)

		return true
	default:
		return true
	}
}

// mostKeys is how many keys with violations an audit tells the stories of. All violations are counted, and --json has each.
const mostKeys = 100

// violation tells a violation at once where nobody waits for the end, and else keeps its key, so that its story is told once.
func (u *auditRun) violation(v *audit.Verdict) error {
	if u.app.flags.json {
		return u.printer.violationJSON(v, u.checker.Story(v.Partition))
	}

	if u.follow {
		u.printer.story(v.Partition, u.checker.Story(v.Partition))

		return nil
	}

	if len(u.found) < mostKeys {
		u.found = appendNew(u.found, v.Partition)
	}

	return nil
}

// progress tells how far the reading is, at most once a second.
func (u *auditRun) progress() func(tablestream.Result) {
	last := time.Now()

	return func(r tablestream.Result) {
		if time.Since(last) < time.Second {
			return
		}

		last = time.Now()
		text := fmt.Sprintf("read %d changes in %d requests", r.Changes+r.Skipped, r.Requests)

		if !r.Last.IsZero() {
			text += ", up to " + r.Last.UTC().Format("2006-01-02 15:04:05Z")
		}

		u.app.sayf("%s, %d violations", text, u.checker.Report().Violations)
	}
}

// ended says what the reading used, and what it could not read.
func (u *auditRun) ended(r tablestream.Result) {
	text := fmt.Sprintf("%d changes read in %d requests (about $%.6f)", r.Changes+r.Skipped, r.Requests, float64(r.Requests)*dollarsPerPage)
	if r.Skipped > 0 {
		text += fmt.Sprintf(", %d of them from before --since", r.Skipped)
	}

	u.app.sayf("%s.", text)

	if r.Throttled > 0 {
		u.app.sayf("DynamoDB refused %d requests, because others read the stream, too. They were made again.", r.Throttled)
	}

	if r.Complete {
		u.app.sayf("The stream is disabled: what was changed after that is not in it.")
	}

	for _, gap := range r.Gaps {
		u.app.sayf("Changes are missing: %v", gap)
	}
}

func appendNew(all []string, text string) []string {
	if slices.Contains(all, text) {
		return all
	}

	return append(all, text)
}
