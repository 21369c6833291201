package protocol

import (
	"cmp"
	"time"

	"github.com/idemddb/go-idemddb/internal/record"
)

// Removal is what is left of the messages of a completed record after some were sent or parked.
type Removal struct {
	Record       *record.Stored // as it was read
	OfParked     bool           // an operator has sent messages that were parked
	Left, Parked []record.Message
}

// IsAll reports whether no message is left.
func (r *Removal) IsAll() bool { return len(r.Left)+len(r.Parked) == 0 }

// Remove returns the write of what is left. The record gets its end back when nothing is left. The write replaces both lists, so
// it may undo what another sender wrote meanwhile. That loses no message, because this sender has looked at all of them: at worst
// a message that was sent is in one of the lists again.
func (t *Table) Remove(partition string, r *Removal, now time.Time) Write {
	condition := condUnsent
	if r.OfParked {
		condition = condParked
	}

	values := Item{":own": text(*r.Record.Token), ":tx": text(r.Record.Tx), ":completed": completedValue}
	if len(r.Parked) > 0 {
		values[":parked"] = marshal(r.Parked)
	}

	return Write{partition, form{condition, t.removal(partition, r, values, now)}, values}
}

// removal returns the update, and adds its values to those of the condition.
func (t *Table) removal(partition string, r *Removal, values Item, now time.Time) string {
	switch {
	case r.IsAll():
		// The record stays until tomorrow at least, so that a late request of the completing write finds it.
		values[":exp"] = number(max(r.Record.Ends, now.Add(24*time.Hour).Unix()))

		return updateSent
	case len(r.Left) == 0:
		return updateParked
	}

	values[":outbox"], values[":due"] = marshal(r.Left), number(r.Record.Done)
	values[":duens"] = text(cmp.Or(r.Record.Shard, t.shardOf(partition))) // a worker with another number of partitions may have chosen it

	if len(r.Parked) > 0 {
		return updateLeft + updateSetParked
	}

	return updateLeft + updateDropParked
}
