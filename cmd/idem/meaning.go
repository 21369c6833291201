package main

import (
	"fmt"
	"strings"
	"time"

	"github.com/idemddb/go-idemddb/idemddb/operate"
)

// meaning says what is true of a record.
func meaning(v operate.View, now time.Time) string {
	switch v.Status {
	case operate.Held:
		if v.Lease.IsZero() {
			return "A worker has claimed the key, and its record has no lease, so nobody takes it over."
		}

		if v.NoTakeover {
			return "A worker has claimed the key with NoTakeover. If it died, the lease ends " + moment(v.Lease, now) +
				", and a delivery after that ends the key as FAILED."
		}

		return "A worker has claimed the key. If it died, the lease ends " + moment(v.Lease, now) + "."
	case operate.Stuck:
		return "The worker's lease ended " + moment(v.Lease, now) + ": it died or is late, and its effect may have happened. " + nextOfStuck(v)
	case operate.Released:
		return "Nobody holds the key: its claim was given back. The next delivery claims it."
	case operate.Completed:
		text := "The work is done. Duplicates are answered from the record."
		if v.Attempts > 1 {
			text += fmt.Sprintf(" It began %d times: an effect outside of the record may have happened more than once.", v.Attempts)
		}

		return text
	case operate.Failed:
		return "The key ended for good. Its messages are refused, and a redrive alone makes a dead letter again."
	case operate.Expired:
		return "The retention is over: the key is new, and the next delivery runs the work."
	case operate.Corrupt:
		return "The record cannot be read: " + v.Corrupt + "."
	default:
		return ""
	}
}

// nextOfStuck says what the next delivery does with a key whose lease ran out. A worker with another NoTakeover than the last one
// goes by its own.
func nextOfStuck(v operate.View) string {
	if v.NoTakeover {
		return "It was claimed with NoTakeover: the next delivery ends the key as FAILED and does not run the work."
	}

	return "The next delivery takes the key over."
}

// advice are the commands that may come next.
func advice(f found) []string {
	key := keyArgument(f)
	lines := statusAdvice(f.View, key)

	switch {
	case len(f.Messages) == 0 || f.Status == operate.Corrupt:
	case f.Messages[0].Sealed:
		lines = append(lines, "the sweep sends what is not parked; by hand only a program with Options.Codec can: operate.Records.Send")
	default:
		lines = append(lines, "the sweep sends what is not parked; by hand: idem send --why '…' "+targetArguments(f.Messages)+key)
	}

	return lines
}

// targetArguments returns the arguments of send that say where the messages go: one for each target.
func targetArguments(messages []operate.Message) string {
	var arguments []string

	for _, m := range messages {
		arguments = appendNew(arguments, "--target "+quote(m.To)+"=QUEUE_URL ")
	}

	return strings.Join(arguments, "")
}

// keyArgument returns the arguments of idem that name the record, as they can be copied to a shell. A key with what a terminal
// obeys is not written there.
func keyArgument(f found) string {
	key := quote(f.Typed)
	if strings.HasPrefix(f.Typed, "-") {
		key = "-- " + key
	}

	switch {
	case f.Typed == "", f.Typed != plain(f.Typed):
		return "--hash " + f.Hash
	case f.exact:
		return "--exact " + key
	default:
		return key
	}
}

// statusAdvice returns the commands for a status; none if an operator need not do anything.
func statusAdvice(v operate.View, key string) []string {
	switch v.Status {
	case operate.Held:
		return []string{"wait; or, if its process hangs: idem release --why '…' " + key}
	case operate.Stuck:
		if v.NoTakeover {
			return []string{
				"check whether the effect has happened; if not, let the next delivery run the work: idem release --why '…' " + key,
				"if it has, end the key, so that it never runs: idem fail --why '…' " + key,
			}
		}

		return []string{
			"check whether the effect has happened, then wait for the next delivery; or free the key now: idem release --why '…' " + key,
			"or end it, so that it never runs: idem fail --why '…' " + key,
		}
	case operate.Failed:
		if v.NoTakeover {
			return []string{
				"check whether the effect has happened; if not, mend the cause, then: idem reopen --why '…' " + key + "; then redrive the dead-letter queue",
			}
		}

		return []string{"mend the cause, then: idem reopen --why '…' " + key + "; then redrive the dead-letter queue"}
	case operate.Corrupt:
		if len(v.Messages) > 0 {
			return []string{"deploy the version that wrote it; or delete it, and lose its messages: idem forget --lose-messages --why '…' " + key}
		}

		return []string{"deploy the version that wrote it; or delete it: idem forget --why '…' " + key}
	case operate.Released, operate.Completed, operate.Expired:
	}

	return nil
}
