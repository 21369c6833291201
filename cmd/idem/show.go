package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/idemddb/go-idemddb/idemddb/operate"
)

func (a *app) showCommand() *cobra.Command {
	f := &finder{app: a}
	result := false
	cmd := &cobra.Command{
		Use: "show [KEY...]", Short: "Show what is true of a key",
		Example: "  idem show p-9\n  idem show --message event.json --path paymentId\n  idem show --hash sha256:a-IBemZtKSDe",
		RunE: func(cmd *cobra.Command, keys []string) error {
			d, err := a.open(cmd.Context())
			if err != nil {
				return err
			}

			all, err := f.find(cmd.Context(), d, keys)
			for _, found := range all {
				err = errors.Join(err, a.show(cmd.Context(), d, found, result))
			}

			return err
		},
	}
	f.addTo(cmd)
	cmd.Flags().BoolVar(&result, "result", false, "print the stored result, too")

	return cmd
}

// show prints one record.
func (a *app) show(ctx context.Context, d *desk, f found, result bool) error {
	if result { // one that is kept beside its record is read only if it is asked for
		kept, err := d.records.Result(ctx, f.View)
		if err != nil {
			return fmt.Errorf("%w", err)
		}

		f.Result = kept
	}

	if a.flags.json {
		return a.showJSON(f, result)
	}

	now := d.store.Options().Now()
	fmt.Fprintf(a.out, "%s#%s\n", f.Namespace, shorten(f.Key, maxShown))
	fmt.Fprintf(a.out, "  %s. %s\n", strings.ToUpper(string(f.Status)), meaning(f.View, now))

	if err := a.printRows(rows(f, now)); err != nil {
		return err
	}

	if result {
		fmt.Fprintf(a.out, "  result\n%s\n", shownResult(f.View))
	}

	for _, line := range advice(f) {
		fmt.Fprintf(a.out, "  → %s\n", plain(line))
	}

	return nil
}

// showJSON prints one record as an object, with its stored result only if that was asked for.
func (a *app) showJSON(f found, result bool) error {
	return a.printJSON(struct {
		found

		Result []byte `json:"result,omitempty"`
	}{f, map[bool][]byte{true: f.Result}[result]})
}

// printRows prints the names and values of a record in two columns. A row without a value is left out.
func (a *app) printRows(rows [][2]string) error {
	w := newTable(a.out)

	for _, row := range rows {
		if row[1] != "" {
			fmt.Fprintf(w, "  %s\t%s\n", row[0], plain(row[1]))
		}
	}

	if err := w.Flush(); err != nil {
		return fmt.Errorf("print: %w", err)
	}

	return nil
}

func rows(f found, now time.Time) [][2]string {
	v := f.View
	lease := time.Time{}
	if v.Status == operate.Held || v.Status == operate.Stuck {
		lease = v.Lease
	}

	rows := [][2]string{
		{"found by", f.By},
		{"hash", v.Hash},
		{"last failure", shorten(v.Cause, maxCause)},
		{"attempts", strconv.Itoa(v.Attempts)},
		{"ran again", ranAgain(&v, now)},
		{"no takeover", noTakeoverText(v)},
		{"last worker", v.Request},
		{"its trace", shorten(v.Trace, maxShown)},
		{"fencing token", strconv.FormatInt(v.Fence, 10)},
		{"lease", moment(lease, now)},
		{"first claim", moment(v.Born, now)},
		{"completed", moment(v.Done, now)},
		{"record ends", moment(v.Ends, now)},
		{"result", resultText(v)},
	}

	for _, m := range v.Messages {
		rows = append(rows, [2]string{"message", messageText(m)})
	}

	if last := v.Last; last != nil {
		text := fmt.Sprintf("%s by %s, %s: %s", last.What, last.By, moment(last.At, now), shorten(last.Why, maxShown))
		rows = append(rows, [2]string{"last change", text})
	}

	return rows
}

// noTakeoverText says that no lease of the key is taken over; "" for a key whose lease is.
func noTakeoverText(v operate.View) string {
	if v.NoTakeover {
		return "the last claim was made with Options.NoTakeover"
	}

	return ""
}

// resultText says how large the stored result is, or why there is none; "" for work without a result.
func resultText(v operate.View) string {
	switch {
	case v.ResultOmitted:
		return "not kept: too large, or not encodable"
	case v.ResultSealed:
		return fmt.Sprintf("sealed by Options.Codec, %d bytes", v.ResultBytes) + resultPlace(v)
	case v.ResultBytes > 0:
		return fmt.Sprintf("%d bytes", v.ResultBytes) + resultPlace(v)
	default:
		return ""
	}
}

// resultPlace says where a large result is kept; "" for one in the record.
func resultPlace(v operate.View) string {
	switch {
	case v.ResultName == "":
		return ""
	case isInTable(v):
		return ", beside the record in the table"
	default:
		return ", in Options.Results as " + shorten(v.ResultName, maxShown)
	}
}

// isInTable reports whether a large result is kept in the table: its name begins as the partition keys of the namespace do.
func isInTable(v operate.View) bool { return strings.HasPrefix(v.ResultName, v.Namespace+"#") }

// shownResult returns the stored result for the screen. What is sealed can only be opened by a program that has the Codec.
func shownResult(v operate.View) []byte {
	if v.ResultSealed {
		return []byte("(sealed by Options.Codec, which idem does not have)")
	}

	if v.ResultName != "" && !isInTable(v) {
		return []byte("(kept by Options.Results, which idem does not have)")
	}

	return v.Result
}

// messageText says where a message of the record goes, and why it is not sent if it is parked.
func messageText(m operate.Message) string {
	state := "not sent"
	if m.Sealed {
		state = "sealed by Options.Codec, not sent"
	}

	if m.Parked {
		state = "parked: " + shorten(m.Cause, maxCause)
	}

	return fmt.Sprintf("%s to %s, %d bytes, %s", m.ID, m.To, m.Bytes, state)
}
