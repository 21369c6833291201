package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/spf13/cobra"

	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// run runs a command line and returns the exit code.
func (a *app) run(ctx context.Context, args []string) int {
	root := a.command() //nolint:contextcheck // cobra hands ctx to the commands
	root.SetArgs(args)
	root.SetOut(a.out)
	root.SetErr(a.log)

	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}

	if text := err.Error(); text != "" {
		fmt.Fprintln(a.log, "idem:", plainLines(flagNames.Replace(text)))
	}

	if _, isMissing := errors.AsType[*types.ResourceNotFoundException](err); isMissing && a.borrowed {
		a.sayf(`There are no credentials in the environment, so the access key "local" was used. DynamoDB Local has a database for each access key and
Region, unless it runs with -sharedDb: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY to those of the program that made the table, and --region.`)
	}

	return exitCode(err)
}

// exitCode returns the code that the program ends with after an error. A script reads from it whether each record was changed. Of
// several errors the one with the highest code counts, so that an answer that is missing does not hide behind a record that is.
func exitCode(err error) int {
	if joined, isJoined := err.(interface{ Unwrap() []error }); isJoined {
		highest := exitDone
		for _, one := range joined.Unwrap() {
			highest = max(highest, exitCode(one))
		}

		return highest
	}

	code, ok := errors.AsType[*codeError](err)

	switch {
	case ok:
		return code.code
	case errors.Is(err, operate.ErrNoRecord):
		return exitNothing
	case errors.Is(err, operate.ErrChanged), errors.Is(err, operate.ErrNotAllowed), errors.Is(err, operate.ErrUnsent):
		return exitRefused
	default:
		return exitError
	}
}

const devel = "(devel)" // as the go command says it

const long = `Idem shows, lists and changes the records of go-idemddb: keys that are stuck, keys that failed for good, messages that are not sent.

A change is made only if the record is still as it was shown. It asks first; --yes answers, --dry-run only shows. Who changed a record, when and
why stays in the record.

Exit codes: 0 done; 1 nothing found; 2 at least one record was refused and not changed (or check has found a fault, or audit a
violation or a gap); 3 wrong arguments or an error of AWS (or check or audit could not see everything,
or a list found nothing before its budget ended).`

// version returns the version of the module that the program was built from. In a checkout that is the commit, or (devel).
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return devel
	}

	return cmp.Or(info.Main.Version, devel)
}

func (a *app) command() *cobra.Command {
	root := &cobra.Command{
		Use: "idem", Short: "Look at idempotency records and mend them", Long: long, Version: version(),
		SilenceUsage: true, SilenceErrors: true,
	}
	f := root.PersistentFlags()

	f.StringVarP(&a.flags.table, "table", "t", a.getenv("IDEM_TABLE"), "table of the records (IDEM_TABLE)")
	f.StringVarP(&a.flags.namespace, "namespace", "n", a.getenv("IDEM_NAMESPACE"), "namespace of the records (IDEM_NAMESPACE)")
	f.StringVar(&a.flags.endpoint, "endpoint-url", "", "endpoint of LocalStack or DynamoDB Local (AWS_ENDPOINT_URL)")
	f.StringVar(&a.flags.region, "region", "", "AWS Region (AWS_REGION)")
	f.StringVar(&a.flags.profile, "profile", "", "profile of the AWS configuration (AWS_PROFILE)")
	f.StringVar(&a.flags.partitionKey, "partition-key", "", `name of the partition key, Options.PartitionKey (default "pk")`)
	f.StringVar(&a.flags.sortKey, "sort-key", "", "name of the sort key, Options.SortKey (default none)")
	f.StringVar(&a.flags.ttlAttribute, "ttl-attribute", "", `name of the TTL attribute, Options.TTLAttribute (default "exp")`)
	f.StringVar(&a.flags.index, "unsent-index", a.getenv("IDEM_UNSENT_INDEX"), "index of the unsent messages, Options.UnsentIndex (IDEM_UNSENT_INDEX)")
	f.BoolVar(&a.flags.hashKeys, "hash-keys", false, "keys are stored as hashes, Options.HashKeys")
	f.DurationVar(&a.flags.clockSkew, "clock-skew", 0, "Options.ClockSkew (default 1s)")
	f.DurationVar(&a.flags.retention, "retention", 0, "Options.Retention (default 168h)")
	f.BoolVar(&a.flags.json, "json", false, "print JSON, one object a line")

	root.AddCommand(
		a.showCommand(), a.listCommand(), a.checkCommand(), a.ttlCommand(), a.costCommand(), a.policyCommand(), a.auditCommand(), a.reportCommand(),
	)
	root.AddCommand(a.changeCommands()...)

	return root
}
