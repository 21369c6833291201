package main

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/aws/aws-lambda-go/lambdacontext"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// wire puts the function together from its environment. It relays for the namespaces of the API and of the payments function.
func wire(ctx context.Context) (func(context.Context) error, error) {
	table, errTable := variable("TABLE_NAME", os.Getenv("TABLE_NAME"))
	captured, errCaptured := variable("CAPTURED_QUEUE_URL", os.Getenv("CAPTURED_QUEUE_URL"))
	payments, errPayments := variable("PAYMENTS_QUEUE_URL", os.Getenv("PAYMENTS_QUEUE_URL"))
	logger := lambdacontext.NewLogger()
	cfg, errConfig := config.LoadDefaultConfig(ctx, config.WithLogger(lambdawrap.SDKLogger(logger)))

	if err := errors.Join(errTable, errCaptured, errPayments, errConfig); err != nil {
		return nil, err
	}

	cfg.HTTPClient = idemddb.HTTPClient()
	client := dynamodb.NewFromConfig(cfg)

	queues := sqs.NewFromConfig(cfg)
	senders := map[string]idemddb.Sender{ledger.Captured: outbox.SQS(queues, captured), ledger.Accepted: outbox.SQS(queues, payments)}

	var sweeps []sweep

	for _, namespace := range []string{"api", "payments"} {
		store, err := idemddb.New(client, table, namespace, &idemddb.Options{UnsentIndex: "unsent", Senders: senders, Observe: logParked(logger)})
		if err != nil {
			return nil, err
		}

		sweeps = append(sweeps, func(ctx context.Context) (outbox.Report, error) { return outbox.Sweep(ctx, store, client) })
	}

	r := &relay{
		sweep:   func(ctx context.Context) (outbox.Report, error) { return sweepAll(ctx, sweeps) },
		logger:  logger,
		metrics: metrics{out: os.Stdout, namespace: "Payments", function: cmp.Or(lambdacontext.FunctionName, "relay")},
	}

	return r.handle, nil
}

func variable(name, value string) (string, error) {
	if value == "" {
		return "", errors.New("relay: " + name + ": must not be empty")
	}

	return value, nil
}

type sweep func(context.Context) (outbox.Report, error)

// sweepAll sweeps side by side, so that none is kept waiting by another that takes all the time, and adds up the reports. The
// errors of each are shortened, so that those of one do not hide those of another.
func sweepAll(ctx context.Context, sweeps []sweep) (outbox.Report, error) {
	var (
		reports = make([]outbox.Report, len(sweeps))
		errs    = make([]error, len(sweeps))
		all     sync.WaitGroup
		sum     outbox.Report
	)

	for i, s := range sweeps {
		all.Go(func() {
			report, err := s(ctx)
			reports[i], errs[i] = report, shorten(err)
		})
	}

	all.Wait()

	for _, r := range reports {
		sum.Records += r.Records
		sum.Sent += r.Sent
		sum.Left += r.Left
		sum.Parked += r.Parked
		sum.Oldest = max(sum.Oldest, r.Oldest)
		sum.Incomplete = sum.Incomplete || r.Incomplete
	}

	return sum, errors.Join(errs...)
}

// relay is the handler. Its parts are functions and writers, so that a test can replace them.
type relay struct {
	sweep   sweep
	logger  *slog.Logger
	metrics metrics
}

// reserve is the time that is kept back from a sweep for the log and the metrics, and before them for the record that the sweep
// is at: Store.SendStored ends it up to 2 s behind the sweep's context.
const reserve = 4 * time.Second

var errIncomplete = errors.New("relay: the sweep is incomplete: there may be other unsent messages, and older ones")

// handle sweeps once. It returns an error if the sweep has not seen all records with unsent messages, so that Lambda counts an
// error. A message that its target does not take is no such error: it stays in its record, and the age of the oldest message
// shows it.
func (r *relay) handle(ctx context.Context) error {
	limited := ctx

	if deadline, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc

		limited, cancel = context.WithDeadline(ctx, deadline.Add(-reserve))
		defer cancel()
	}

	report, err := r.sweep(limited)

	r.log(ctx, report, err)
	r.metrics.write(report)

	if report.Incomplete {
		return errIncomplete // the log has the cause
	}

	return nil
}

// log writes one line for the sweep. Neither keys nor messages are in it.
func (r *relay) log(ctx context.Context, report outbox.Report, err error) {
	attrs := []slog.Attr{
		slog.Int("records", report.Records), slog.Int("sent", report.Sent), slog.Int("left", report.Left), slog.Int("parked", report.Parked),
		slog.Float64("oldestSeconds", report.Oldest.Seconds()), slog.Bool("incomplete", report.Incomplete),
	}
	level, text := slog.LevelInfo, "swept"

	if err != nil || report.Incomplete {
		level, text = slog.LevelError, "swept, and not everything could be sent"
		attrs = append(attrs, slog.Any("error", cmp.Or(err, errIncomplete)))
	}

	r.logger.LogAttrs(ctx, level, text, attrs...)
}

// logParked returns a function that writes a line for each message that can never be sent: no later sweep will say why.
func logParked(logger *slog.Logger) func(context.Context, idemddb.Event) {
	return func(ctx context.Context, e idemddb.Event) {
		if e.Kind == idemddb.KindParked {
			logger.LogAttrs(ctx, slog.LevelError, "a message can never be sent as it is; it is parked in its record", slog.Any("error", e.Err))
		}
	}
}

// shorten keeps the first errors of many: a target that is down has one for each message, and a line of the log holds 256 KB.
func shorten(err error) error {
	const most = 3

	all, ok := err.(interface{ Unwrap() []error })
	if !ok || len(all.Unwrap()) <= most {
		return err
	}

	return errors.Join(append(all.Unwrap()[:most:most], errors.New("and others"))...)
}
