package protocol

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/record"
)

// Held is a claim that was won. Each write of its holder is fenced by it.
type Held struct {
	Partition string
	Token     string
	Fence     int64
	Attempt   int   // how many claims of the key have begun work, this one included
	Previous  int64 // the lease that the claim found, as stored: 0 for none; else it ran out or was given back, and earlier work may have begun
}

// Matches reports whether a record that was found is still that of this very claim.
func (h *Held) Matches(found *record.Stored) bool {
	return found != nil && found.IsOwn(h.Token) && *found.Fence == h.Fence
}

// Fenced is a write after the claim, with all of its tries and what is known of them.
type Fenced struct {
	Table *Table
	Build func() Write // anew for each try

	IsRefused bool           // the condition was false
	Found     *record.Stored // the record for which it was; nil if the item is gone or cannot be read
	Err       error          // why it cannot be read
	IsUnknown bool           // a try had no answer, so it may have been applied
}

// Request returns the next try as a request of its own. It asks for the updated attributes only, because a completed record may
// be large.
func (f *Fenced) Request() Request {
	return Request{Update: f.Table.Update(f.Build(), types.ReturnValueUpdatedNew)}
}

// Statement returns the next try as a statement of a shared request.
func (f *Fenced) Statement() types.BatchStatementRequest { return f.Table.Statement(f.Build()) }

// Read takes the answer to the last try.
func (f *Fenced) Read(answer Answer) (Step, error) {
	switch answer.Outcome { //nolint:exhaustive // the others are sent again
	case Applied:
		return Done, nil
	case Refused:
		if f.IsRefused = true; answer.Item != nil {
			f.Found, f.Err = record.Read(answer.Item, f.Table.TTLAttribute)
		}

		return Done, nil
	}

	f.IsUnknown = f.IsUnknown || answer.Outcome == Unknown

	return Again, answer.Err
}

// write returns a write of the holder. If the claim has taken over a lease that has an end, the write also keeps that end: -1 has
// none.
func (h *Held) write(condition, update, end string) Write {
	values := Item{":mine": text(h.Token), ":fence": number(h.Fence), ":inprogress": inProgressValue}

	if h.Previous > 0 {
		update += updateTookAt
		values[":tookat"] = number(h.Previous)
	}

	return Write{h.Partition, form{condition, update + end}, values}
}

// updateWith returns an update expression with what the completion has.
func updateWith(done *record.Stored, update string) string {
	if done.Tx != "" {
		update += updateSetTx
	}

	if done.Result != nil {
		update += updateSetResult
	}

	if len(done.Outbox) > 0 {
		update += updateSetOutbox
	}

	return update
}

// Complete returns the write that completes the key.
func (t *Table) Complete(h *Held, done *record.Stored) Write {
	w := h.write(condHeld, updateComplete, updateWith(done, "")+updateDropError)
	w.values[":zero"] = zeroValue
	t.addCompletion(w.values, h.Partition, done)

	return w
}

// Fail returns the write that ends the key for good.
func (t *Table) Fail(h *Held, cause string, now time.Time) Write {
	w := h.write(condHeld, updateFail, "")
	w.values[":zero"], w.values[":failed"], w.values[":err"] = zeroValue, failedValue, text(cause)
	w.values[":exp"] = t.expiry(Stamp{Now: now, Lease: now})

	return w
}

// Extend returns the write that gives the claim a longer lease.
func (t *Table) Extend(h *Held, s Stamp) Write {
	w := h.write(condExtend, updateExtend, "")
	w.values[":zero"], w.values[":lease"], w.values[":exp"] = zeroValue, number(s.Lease.UnixMilli()), t.expiry(s)

	return w
}

// Release returns the write that gives the claim back. cause is nil for none.
func (t *Table) Release(h *Held, cause *string) Write {
	end := ""
	if cause != nil {
		end = updateSetError
	}

	w := h.write(condOwn, updateRelease, end)
	if w.values[":zero"] = zeroValue; cause != nil {
		w.values[":err"] = text(*cause)
	}

	return w
}

// Return returns the write that gives a claim back whose work never began.
func (t *Table) Return(h *Held) Write {
	w := h.write(condOwn, updateRelease+updateUnused, "")
	if w.values[":zero"] = zeroValue; h.Previous != 0 {
		w = h.write(condOwn, updateReturn, "")
		w.values[":returned"] = returnedValue
	}

	w.values[":att"] = number(int64(h.Attempt - 1))

	return w
}

// GiveUp returns the write that ends a key whose holder is gone, as long as the record is as it was read.
func (t *Table) GiveUp(partition string, rec *record.Stored, s Stamp, cause string) Write {
	return Write{partition, form{condMarkFailed, updateFail}, Item{
		":mine": text(*rec.Token), ":fence": number(*rec.Fence), ":inprogress": inProgressValue,
		":seen": number(*rec.Lease), ":failed": failedValue, ":exp": t.expiry(s), ":err": text(cause),
	}}
}

// Reopen returns the write that lets the failed key be claimed again, if it has this owner token and this fencing token.
func (t *Table) Reopen(partition, token string, fence int64, now time.Time) Write {
	return Write{partition, form{condFailed, updateReopen}, Item{
		":v": versionValue, ":failed": failedValue, ":own": text(token), ":fence": number(fence),
		":inprogress": inProgressValue, ":next": number(fence + 1), ":zero": zeroValue, ":one": oneValue,
		":exp": t.expiry(Stamp{Now: now, Lease: now}),
	}}
}

// stampOf returns the time of a completion, which has no lease.
func stampOf(done *record.Stored) Stamp {
	now := time.UnixMilli(done.Done)

	return Stamp{Now: now, Lease: now}
}

// addAttributes writes a completion into a new record.
func (t *Table) addAttributes(stored Item, partition string, done *record.Stored) {
	values := Item{}
	t.addCompletion(values, partition, done)

	for name, placeholder := range map[string]string{
		record.State: ":completed", record.Done: ":nowms", t.TTLAttribute: ":exp", record.Tx: ":tx",
		record.Result: ":res", record.Outbox: ":outbox", record.Ends: ":ends", record.Due: ":due", record.DueNS: ":duens",
	} {
		if value, ok := values[placeholder]; ok {
			stored[name] = value
		}
	}
}
