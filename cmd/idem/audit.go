package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/internal/tablestream"
)

const auditHelp = `Judge every change of the records that the table's stream has, by the rules of docs/record.md: how many there are of each kind, how many were
made late, where changes are missing, and each change that breaks a rule, with the story of its key. With a KEY, tell the story of that key
alone, also of one whose record is gone.

The table needs a stream with NEW_AND_OLD_IMAGES. DynamoDB keeps a change for 24 hours. A stream that is in use is read up to the time at which
idem began, or until no shard had anything new for the time of --quiet. --follow goes on until it is interrupted, and tells each violation when
it comes. Of a shard there may be two readers: with a function and another consumer on the stream, DynamoDB refuses some requests, and idem
waits.

Give the options of the functions' store: --clock-skew, --ttl-attribute, --partition-key, --sort-key, and --retention and --lease if all workers
have the same. Every item of --namespace or --namespaces is taken for a record. Without either, an item is a record if it looks like one. Changes
of other items are counted. Idem needs about 2 KB of memory for each key that was changed.

Exit codes: 0 the stream was read to its end, and no change that it had is missing or breaks a rule; 1 there is no change of the KEY; 2 a change
is missing or breaks a rule; 3 the stream was not read to its end.`

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
		RunE: func(cmd *cobra.Command, keys []string) error {
			if err := notNegative(cmd, "since", "budget"); err != nil {
				return err
			}

			return u.run(cmd.Context(), keys)
		},
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
		"how exact the times of the stream are; with 1m or more they are not compared (default 1s; 1m for another endpoint than AWS's, and the time of arrival with --follow)")

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

	if u.checker, err = audit.NewChecker(u.options(d)); err != nil {
		return err
	}

	if len(keys) > 0 {
		u.want(d, keys[0]) //nolint:contextcheck // no key function of lambdawrap waits for anything
	}

	arn, err := tablestream.Find(ctx, d.client, u.app.flags.table)
	if err != nil {
		return err
	}

	u.printer = auditPrinter{app: u.app}
	result, err := tablestream.Read(ctx, streamsOf(d), arn, u.reading(d), u.judge)

	return u.end(result, err)
}

func (u *auditRun) validate(keys []string) error {
	switch {
	case u.quiet <= 0:
		return fmt.Errorf("--quiet: must be positive, is %v", u.quiet)
	case len(keys) > 0 && u.hash != "":
		return errors.New("name one key: a KEY or --hash")
	case u.hash != "" && (!strings.HasPrefix(u.hash, record.DigestPrefix) || len(u.hash) < record.HashLength):
		return fmt.Errorf("--hash: must be %q and 12 characters, as a log line has it, is %q", record.DigestPrefix, u.hash)
	case len(keys) > 0 && len(u.namespaces) > 0 && !slices.Contains(u.namespaces, u.app.flags.namespace):
		return fmt.Errorf("--namespaces: must be left out or have the namespace of the KEY, --namespace %q; its changes are not judged otherwise",
			u.app.flags.namespace)
	case u.app.flags.table == "", len(keys) > 0:
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
		if in, err := d.store.GetItemInput(s.key); err == nil {
			u.wanted[record.TextOf(in.Key[name])] = s.how
		}
	}
}
