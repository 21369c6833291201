package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/spf13/cobra"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/operate"
	"github.com/idemddb/go-idemddb/internal/record"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// finder has the flags that say which records a command is about.
type finder struct {
	app *app

	exact         bool
	message       string
	event         eventFlags
	hash, request string
	budget        float64
}

// found is a record and how it was found.
type found struct {
	operate.View

	Typed string `json:"typed,omitempty"` // the key as the record has it in clear; "" if it was found by a scan and is hashed
	By    string `json:"found_by"`

	exact bool // other spellings of the key may have records
}

const keysHelp = `
A key is looked for as it is given, then as the handlers of lambdawrap write it: 123 is also the key #123 of a number, "p-9" in quotes the key p-9
of a string, #7 the key ##7. --exact turns that off. A key may also be given as the log or the table has it: --hash, --request, payments#p-9.`

func (f *finder) addTo(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.BoolVar(&f.exact, "exact", false, "take the keys as they are given")
	flags.StringVar(&f.message, "message", "",
		"file with an event of SQS, Kinesis or a DynamoDB stream, with a message, or with an HTTP request; - for standard input: its keys")
	flags.StringArrayVar(&f.event.paths, "path", nil,
		"with --message: a path of the function's Options.Key, lambdawrap.Body, in a message's body or a Kinesis record's data; once for each path")
	flags.StringVar(&f.event.keyOf, "key", "",
		"with --message of SQS: message-id (default), deduplication-id, or attribute:NAME, as the function's Options.Key")
	flags.StringArrayVar(&f.event.envelopes, "envelope", nil,
		"with --message of SQS: sns, eventbridge, s3, base64 or gzip, as the function's Options.Envelope; once for each of a Chain, the outermost first")
	flags.StringVar(&f.event.caller, "caller", "", "with --message of HTTP: the caller, as the function's HTTPOptions.Caller returns it")
	flags.BoolVar(&f.event.aggregated, "aggregated", false,
		"with --message of Kinesis: the function has StreamOptions.Aggregated, so that a record of several user records has one key")
	flags.StringVar(&f.hash, "hash", "", "hash of a key, as a log line has it: sha256:…; reads the whole table")
	flags.StringVar(&f.request, "request", "", "request id of the worker that claimed the key last; reads the whole table")
	flags.Float64Var(&f.budget, "budget", 0, "read units for reading the whole table (default 10000)")
	cmd.Long = cmd.Short + ".\n" + keysHelp
}

// find returns the records. An error says which keys have none, beside those that have one.
func (f *finder) find(ctx context.Context, d *desk, keys []string) ([]found, error) {
	switch {
	case f.ways(keys) != 1:
		return nil, errors.New("name the record in one way: a KEY, --message, --hash or --request")
	case f.hash != "" || f.request != "":
		return f.scan(ctx, d)
	case f.message != "":
		return f.ofMessages(ctx, d)
	}

	var (
		all  []found
		errs []error
	)

	for _, key := range keys {
		some, err := f.look(ctx, d, f.spellings(d, key)) //nolint:contextcheck // no key function of lambdawrap waits for anything
		all, errs = append(all, some...), append(errs, err)
	}

	return all, errors.Join(errs...)
}

// ways counts in how many ways the command line names the record. It must be one, because nothing says which of several is meant.
func (f *finder) ways(keys []string) int {
	ways := 0

	for _, is := range []bool{len(keys) > 0, f.message != "", f.hash != "", f.request != ""} {
		if is {
			ways++
		}
	}

	return ways
}

// spelling is a key as a record may have it.
type spelling struct{ key, how string }

// spellings are the keys that a person may mean. A string is its own key, as Body and Do have it.
func (f *finder) spellings(d *desk, typed string) []spelling {
	all := []spelling{{typed, "the key as given"}}
	if f.exact {
		return all
	}

	all = addSpelling(all, idemddb.TextKey(typed), "the key that lambdawrap.Body makes of this string")

	if key, err := bodyKey(typed); err == nil {
		all = addSpelling(all, key, "the key that lambdawrap.Body makes of this JSON value")
	}

	if key, ok := strings.CutPrefix(typed, d.store.Namespace()+"#"); ok && key != "" {
		all = addSpelling(all, key, "the key without the namespace before it")
	}

	return addSpelling(all, strconv.Quote(typed), "the key in quotes, as a function of its own may make it of a JSON text")
}

// addSpelling adds a key, unless an earlier spelling is the same key, so that no record is read twice.
func addSpelling(all []spelling, key, how string) []spelling {
	if slices.ContainsFunc(all, func(s spelling) bool { return s.key == key }) {
		return all
	}

	return append(all, spelling{key, how})
}

// bodyKey is the key that Body makes of a JSON value.
func bodyKey(value string) (string, error) {
	const part = "key"

	pick, err := lambdawrap.Body(part)
	if err != nil {
		return "", fmt.Errorf("key: %w", err)
	}

	key, err := pick(context.Background(), events.SQSMessage{Body: `{"` + part + `":` + value + `}`})
	if err != nil {
		return "", fmt.Errorf("key: %w", err)
	}

	return key, nil
}

// look reads the records of the spellings of one key.
func (f *finder) look(ctx context.Context, d *desk, spellings []spelling) ([]found, error) {
	var all []found

	for _, s := range spellings {
		v, err := d.records.Look(ctx, s.key)

		switch {
		case err == nil:
			all = append(all, found{View: v, Typed: s.key, By: s.how})
		case !errors.Is(err, operate.ErrNoRecord):
			return all, fmt.Errorf("%q: %w", s.key, err)
		}
	}

	if len(all) == 0 {
		return nil, noRecord(d, spellings)
	}

	for i := range all {
		all[i].exact = f.exact || len(all) > 1
	}

	return all, nil
}

// noRecord returns the error that names every key that was looked for, so that a wrong namespace or spelling is seen.
func noRecord(d *desk, spellings []spelling) error {
	tried := make([]string, len(spellings))
	question := "is the namespace right, and is the key the one that the function makes?"

	for i, s := range spellings {
		tried[i] = s.key

		if strings.HasPrefix(s.key, record.DigestPrefix) { // as it stands in a list in the place of a key that is long or hashed
			question = "a hash is found with --hash"
		}
	}

	return fmt.Errorf("%w in namespace %q of table %q for %s; %s",
		operate.ErrNoRecord, d.store.Namespace(), d.store.Table(), shorten(strings.Join(tried, ", or "), maxShown), question)
}

// scan finds records by what a log line has.
func (f *finder) scan(ctx context.Context, d *desk) ([]found, error) {
	selection := operate.Selection{Hash: f.hash, Request: f.request, Budget: f.budget, Progress: f.app.progress(ctx, d)}

	var all []found

	progress, err := d.records.List(ctx, selection, func(v operate.View) error {
		all = append(all, found{View: v, Typed: clearKey(v), By: "what the log line has"})

		return nil
	})

	switch {
	case err != nil:
		return all, fmt.Errorf("list: %w", err)
	case progress.Cursor != "" && len(all) == 0:
		return nil, errors.New("--budget: ended before the whole table was read, and what was read has no such record; raise it")
	case progress.Cursor != "":
		f.app.sayf("The budget of read units ended before the whole table was read; raise --budget to see the rest.")
	}

	if len(all) == 0 {
		return nil, fmt.Errorf("%w in namespace %q of table %q for %s%s among %d that were read", operate.ErrNoRecord, d.store.Namespace(), d.store.Table(),
			f.hash, f.request, progress.Read)
	}

	return all, nil
}

// clearKey is the key as it was claimed; "" if the record has its digest only.
func clearKey(v operate.View) string {
	if strings.HasPrefix(v.Key, "sha256:") {
		return ""
	}

	return v.Key
}
