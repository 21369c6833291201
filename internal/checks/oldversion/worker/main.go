// Command worker makes one call of the library for each line that it reads, and writes one line with what the call returned. It
// is compiled with an earlier library too, so it uses only what both have.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

// A worker is started with these arguments.
type worker struct {
	name, table, namespace, results string

	api    *dynamodb.Client
	store  *idemddb.Store
	claims map[string]*idemddb.Claim
	ahead  time.Duration // by how much its clock is ahead
}

func main() {
	w := &worker{
		name: os.Args[1], table: os.Args[2], namespace: os.Args[3], results: os.Args[4], claims: map[string]*idemddb.Claim{},
		api: dynamodb.New(dynamodb.Options{
			Region: "us-east-1", BaseEndpoint: new(os.Getenv("DYNAMODB_LOCAL_ENDPOINT")), HTTPClient: idemddb.HTTPClient(),
			Credentials: credentials.NewStaticCredentialsProvider("local", "local", ""),
		}),
	}
	w.store = w.newStore(map[string]idemddb.Sender{"receipts": nil})

	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		words := append(strings.SplitN(lines.Text(), " ", 3), "", "")
		fmt.Fprintln(os.Stdout, w.call(context.Background(), words[0], words[1], words[2]))
	}
}

func (w *worker) newStore(senders map[string]idemddb.Sender) *idemddb.Store {
	o := &idemddb.Options{
		Now:     func() time.Time { return time.Now().Add(w.ahead) },
		Trace:   func(context.Context) string { return w.name },
		Results: folder(w.results), UnsentIndex: "unsent", Senders: senders,
	}

	for _, limit := range []string{"ResultsAbove", "InlineResult"} { // as it was called, and as it is
		if f := reflect.ValueOf(o).Elem().FieldByName(limit); f.IsValid() {
			f.SetInt(int64(len("a short result")))
		}
	}

	s, err := idemddb.New(w.api, w.table, w.namespace, o)
	if err != nil {
		panic(err)
	}

	return s
}

// call makes the call of this name and returns its outcome.
func (w *worker) call(ctx context.Context, name, key, text string) string {
	claim := w.claims[key]

	switch name {
	case "claim": // text is a fingerprint
		return w.claim(ctx, key, text)
	case "do":
		return w.do(ctx, key)
	case "commit":
		return outcome(w.store.Commit(ctx, key, nil, []byte(text), w.effects(key)))
	case "complete":
		return outcome(nil, claim.Complete(ctx, []byte(text)))
	case "complete-with-effects":
		return outcome(nil, claim.CompleteWith(ctx, []byte(text), w.effects(key)))
	case "release":
		return outcome(nil, claim.Release(ctx, errors.New(text)))
	case "fail":
		return outcome(nil, claim.Fail(ctx, errors.New(text)))
	case "reopen":
		return outcome(nil, w.store.Reopen(ctx, key))
	case "sweep":
		return w.sweep(ctx)
	case "clock": // text is the duration by which the clock is put forward
		var err error
		w.ahead, err = time.ParseDuration(text)

		return outcome(nil, err)
	}

	return "no such call: " + name
}

func (w *worker) claim(ctx context.Context, key, fingerprint string) string {
	claim, rec, err := w.store.Claim(ctx, key, &idemddb.ClaimOptions{Fingerprint: fingerprint})
	if claim == nil {
		return outcome(rec, err)
	}

	w.claims[key] = claim
	if claim.Takeover() {
		return fmt.Sprintf("attempt %d, taken from %s", claim.Attempt(), claim.TakenFrom())
	}

	return fmt.Sprintf("attempt %d", claim.Attempt())
}

// do returns the name of the worker that has run the work of the key.
func (w *worker) do(ctx context.Context, key string) string {
	name, err := idemddb.Do(ctx, w.store, key, &idemddb.ClaimOptions{Wait: time.Minute}, func(ctx context.Context) (string, error) {
		return w.name, idemddb.Stage(ctx, w.effects(key))
	})
	if err != nil {
		return outcome(nil, err)
	}

	return "done by " + name
}

// effects returns one that counts and one message.
func (w *worker) effects(key string) idemddb.Effects {
	return idemddb.Effects{
		Items: []types.TransactWriteItem{{Update: &types.Update{
			TableName: &w.table,
			Key:       map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: w.namespace + " " + key}},

			UpdateExpression:          new("ADD n :one"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":one": &types.AttributeValueMemberN{Value: "1"}},
		}}},
		Messages: []idemddb.Message{{To: "receipts", Body: key, Group: "p-1", Attributes: map[string]string{"currency": "EUR"}, Sequence: 7}},
	}
}

// sweep returns the messages that it has sent. All other calls have no Sender and leave their messages in the record.
func (w *worker) sweep(ctx context.Context) string {
	var sent receipts

	if _, err := outbox.Sweep(ctx, w.newStore(map[string]idemddb.Sender{"receipts": &sent}), w.api); err != nil {
		return err.Error()
	}

	return "sent [" + strings.Join(sent, ", ") + "]"
}

// outcome returns what the answer of a call means. The texts of errors may differ between the libraries, so they are not in it.
func outcome(rec *idemddb.Record, err error) string {
	failed, _ := errors.AsType[*idemddb.FailedError](err)

	switch {
	case failed != nil:
		return "failed: " + failed.Cause
	case errors.Is(err, idemddb.ErrInProgress):
		return "in progress"
	case errors.Is(err, idemddb.ErrFenced):
		return "fenced"
	case errors.Is(err, idemddb.ErrMismatch):
		return "mismatch"
	case err != nil:
		return err.Error()
	case rec != nil:
		return fmt.Sprintf("replay of %s, by %s in attempt %d", rec.Result, rec.Trace, rec.Attempts)
	default:
		return "ok"
	}
}

// receipts accepts every message.
type receipts []string

func (r *receipts) Send(_ context.Context, _ string, ms []idemddb.Message) []error {
	for _, m := range ms {
		*r = append(*r, fmt.Sprint(m.Body, " of ", m.Group, " with ", m.Attributes, " as version ", m.Sequence))
	}

	return make([]error, len(ms))
}

// folder keeps results as files.
type folder string

func (f folder) Put(_ context.Context, name string, b []byte) error {
	return os.WriteFile(f.path(name), b, 0o600) //nolint:wrapcheck // it names the file
}

func (f folder) Get(_ context.Context, name string) ([]byte, error) {
	return os.ReadFile(f.path(name)) //nolint:wrapcheck // it names the file
}

func (f folder) path(name string) string { return filepath.Join(string(f), url.PathEscape(name)) }
