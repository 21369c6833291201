package main

import (
	"errors"
	"fmt"
	"math"
	"text/tabwriter"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/spf13/cobra"
)

// bill is what records cost in a month, by the numbers of docs/cost.md. Prices are those of us-east-1, on-demand.
type bill struct {
	Messages    float64 `json:"messages"`
	Duplicates  float64 `json:"duplicates"`
	RecordBytes float64 `json:"record_bytes"`

	WriteUnits      float64 `json:"write_units"`
	ReadUnits       float64 `json:"read_units,omitempty"` // of results that are kept beside their records
	Records         float64 `json:"records"`              // that are stored at a time
	StoredGB        float64 `json:"stored_gb"`
	WriteDollars    float64 `json:"write_dollars"`
	ReadDollars     float64 `json:"read_dollars,omitempty"`
	StorageDollars  float64 `json:"storage_dollars"`
	DollarsPerMonth float64 `json:"dollars_per_month"`

	WarmWriteUnits float64 `json:"warm_write_units,omitempty"` // a second, that WarmThroughput must give to the table for the peak
}

const (
	dollarsPerWrite = 0.625e-6
	dollarsPerRead  = 0.125e-6
	dollarsPerGB    = 0.25
	gigabyte        = 1 << 30
	itemOverhead    = 100 // bytes that storage adds to an item
	plainRecord     = 300 // bytes of a record without its result, about
	month           = 30 * 24 * time.Hour
	unitBytes       = 1024
	readBytes       = 4 * unitBytes

	inlineResult = 32 << 10           // bytes: a larger result is kept beside its record, in parts
	partBytes    = 390 << 10          // of a part
	largeMark    = 250                // bytes of the name of such a result in its record, about
	outlives     = 8 * 24 * time.Hour // how much longer than its record a part stays

	freshTable = 4_000  // write units a second of a new on-demand table
	tableQuota = 40_000 // of any table, until AWS raises it
)

// workload is the work of a month, as the flags of cost give it.
type workload struct {
	messages, duplicates float64
	peak                 float64 // first deliveries a second; 0: unknown
	result, message      int     // bytes
	exact                bool
}

func (a *app) costCommand() *cobra.Command {
	w := &workload{}
	cmd := &cobra.Command{
		Use: "cost", Short: "Estimate what the records cost in a month",
		Long: `Estimate what the records cost in a month, by the write units of docs/cost.md and the prices of us-east-1 (on-demand, November 2026).
With --table the size of a record is that of the table's, as DynamoDB counts them every six hours; not with a --result of more than 32 KB, whose
parts DynamoDB counts as records.`,
		Example: "  idem cost --messages 1e6 --duplicates 1e4 --retention 720h\n  idem cost --table records --messages 1e6",
		Args:    cobra.NoArgs,
		RunE:    func(cmd *cobra.Command, _ []string) error { return a.cost(cmd, w) },
	}
	flags := cmd.Flags()
	flags.Float64Var(&w.messages, "messages", 1e6, "first deliveries a month")
	flags.Float64Var(&w.duplicates, "duplicates", 0, "further deliveries of finished work a month")
	flags.Float64Var(&w.peak, "peak", 0, "first deliveries a second at the busiest time, for what WarmThroughput to ask for")
	flags.IntVar(&w.result, "result", 0, "bytes of a result")
	flags.BoolVar(&w.exact, "exact", false, "each work stages one item of 1 KB and is committed with Optimistic")
	flags.IntVar(&w.message, "announcement", 0, "with --exact: bytes of a message that each work stages; 0 for none")

	return cmd
}

// cost prints the bill of the workload. With --table it asks the table for the size of its records, which says more than an
// assumption.
func (a *app) cost(cmd *cobra.Command, w *workload) error {
	if err := notNegative(cmd, "messages", "duplicates", "peak", "result", "announcement", "retention"); err != nil {
		return err
	}

	if w.message > 0 && !w.exact {
		return errors.New("--announcement: is for --exact, because a message is staged with the completion")
	}

	b := bill{Messages: w.messages, Duplicates: w.duplicates, RecordBytes: float64(plainRecord + w.result)}
	if w.result > inlineResult {
		b.RecordBytes = plainRecord + largeMark
	}

	if a.flags.table != "" && w.result <= inlineResult {
		if err := a.measure(cmd, &b); err != nil {
			return err
		}
	}

	b.add(a.flags.retention, w)

	if a.flags.json {
		return a.printJSON(b)
	}

	return a.printBill(b)
}

// measure takes the size of a record from the table.
func (a *app) measure(cmd *cobra.Command, b *bill) error {
	cfg, err := a.awsConfig(cmd.Context())
	if err != nil {
		return err
	}

	out, err := connect(cfg).client.DescribeTable(cmd.Context(), &dynamodb.DescribeTableInput{TableName: &a.flags.table})
	if err != nil {
		return fmt.Errorf("describe table: %w", err)
	}

	if out.Table == nil || aws.ToInt64(out.Table.ItemCount) == 0 || out.Table.TableSizeBytes == nil {
		a.sayf("The table %s says nothing of its size yet; a record of %.0f bytes is assumed.", a.flags.table, b.RecordBytes)

		return nil
	}

	b.RecordBytes = float64(*out.Table.TableSizeBytes) / float64(*out.Table.ItemCount)

	return nil
}

// add computes the bill.
func (b *bill) add(retention time.Duration, w *workload) {
	if retention == 0 {
		retention = 7 * 24 * time.Hour
	}

	put, read := w.parts()
	b.WriteUnits = b.Messages*(w.firstRun(b.RecordBytes)+put) + b.Duplicates*math.Ceil(b.RecordBytes/unitBytes)
	b.ReadUnits = b.Duplicates * read
	b.WarmWriteUnits = math.Ceil(w.peak * (w.firstRun(b.RecordBytes) + put))
	b.Records = b.Messages * float64(retention) / float64(month)
	b.StoredGB = b.Records * (b.RecordBytes + itemOverhead) / gigabyte

	if put > 0 {
		b.StoredGB += b.Messages * float64(retention+outlives) / float64(month) * float64(w.result) / gigabyte
	}

	b.WriteDollars = b.WriteUnits * dollarsPerWrite
	b.ReadDollars = b.ReadUnits * dollarsPerRead
	b.StorageDollars = b.StoredGB * dollarsPerGB
	b.DollarsPerMonth = b.WriteDollars + b.ReadDollars + b.StorageDollars
}

// parts returns the write units for putting a result beside its record, and the read units of a replay; 0 for one in the record.
func (w *workload) parts() (put, read float64) {
	if w.result <= inlineResult {
		return 0, 0
	}

	for left := w.result; left > 0; left -= partBytes {
		part := float64(min(left, partBytes) + itemOverhead)
		put += math.Ceil(part / unitBytes)
		read += math.Ceil(part/readBytes) / 2 // eventually consistent
	}

	return put, read
}

// firstRun returns the write units of a first run. It is a claim and a completion; a transaction pays each of its writes twice.
func (w *workload) firstRun(recordBytes float64) float64 {
	const item = 1 // unit of the staged item

	units := math.Ceil(recordBytes / unitBytes)

	switch {
	case !w.exact:
		return 1 + units
	case w.message == 0:
		return 2 * (units + item)
	default:
		withMessage := math.Ceil((recordBytes + float64(w.message)) / unitBytes)

		return 2*(withMessage+item) + withMessage + 2 // the removal, and the index's entry written and deleted
	}
}

func (a *app) printBill(b bill) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', tabwriter.AlignRight) // two spaces between the columns
	fmt.Fprintf(w, "writes\t%.0f WCU\t$%.2f\t\n", b.WriteUnits, b.WriteDollars)

	if b.ReadUnits > 0 {
		fmt.Fprintf(w, "reads\t%.0f RCU\t$%.2f\t\n", b.ReadUnits, b.ReadDollars)
	}

	fmt.Fprintf(w, "storage\t%.2f GB\t$%.2f\t\n", b.StoredGB, b.StorageDollars)
	fmt.Fprintf(w, "a month\t\t$%.2f\t\n", b.DollarsPerMonth)

	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}

	a.sayf("For %.0f messages, %.0f duplicates, records of %.0f bytes; without what queues, functions, logs and backups cost.",
		b.Messages, b.Duplicates, b.RecordBytes)

	switch {
	case b.WarmWriteUnits > tableQuota:
		a.sayf("For the peak ask for a WarmThroughput of %.0f write units a second, and AWS for more than the quota of %d for a table.",
			b.WarmWriteUnits, tableQuota)
	case b.WarmWriteUnits > freshTable:
		a.sayf("For the peak ask for a WarmThroughput of %.0f write units a second: a new table takes %d.", b.WarmWriteUnits, freshTable)
	case b.WarmWriteUnits > 0:
		a.sayf("The peak is %.0f write units a second; a new table takes %d.", b.WarmWriteUnits, freshTable)
	}

	return nil
}
