package operate

import (
	"fmt"
	"strings"

	"github.com/idemddb/go-idemddb/internal/record"
)

// This file holds every condition and update that an operator's change sends, and above each the argument why it is safe. The
// expressions of the workers stand in internal/protocol/expr.go; what this file says about their conditions refers to that file.

// fencedNames are the attributes that show whether a record is as it was seen, besides the TTL attribute. Each write of a worker
// but one changes one of them:
//
//   - a claim and a takeover change own, fence and lease; a claim in the place of a record past its retention, the same. So nt,
//     which only they write, need not be compared
//   - a renewal changes lease; so a worker that lives refuses the operator, who may try again with the View of the ChangedError
//   - a release changes lease, a completion and a failure change st, giving back a claim whose work never began changes att
//   - an effect's completion sets tx; sending all of its messages, and parking the last, changes the TTL attribute, due or ends
//   - another operator's change sets op, which no two changes have in common
//
// The exception is the sending of some messages while others are left in the outbox. A change by an older View is made then: each
// message that has left the outbox since was sent or is parked.
//
// A late request of an operator's change is refused, because the change itself has set op.
var fencedNames = []string{
	record.Version, record.State, record.Token, record.Fence, record.Lease, record.Attempts, record.Tx, record.Due, record.Ends,
	record.Operator,
}

// unchanged is true of a record that is as it was shown. An attribute that the record did not have must still be absent. With
// attribute_exists of the key nothing is created if the record is gone, also if it was shown with none of the attributes.
func (r *Records) unchanged(stored item) expression {
	e := expression{names: map[string]string{"#pk": r.opts.PartitionKey}, values: item{}}
	terms := []string{"attribute_exists(#pk)"}

	for i, name := range append([]string{r.opts.TTLAttribute}, fencedNames...) {
		alias := fmt.Sprintf("#s%d", i)
		e.names[alias] = name

		value, ok := stored[name]
		if !ok {
			terms = append(terms, "attribute_not_exists("+alias+")")

			continue
		}

		placeholder := fmt.Sprintf(":s%d", i)
		e.values[placeholder] = value
		terms = append(terms, alias+" = "+placeholder)
	}

	e.text = strings.Join(terms, " AND ")

	return e
}

// noMessages joins unchanged for a deletion: an unsent or a parked message is never deleted along with its record, unless the
// operator has said so.
const noMessages = " AND attribute_not_exists(outbox) AND attribute_not_exists(parked)"

// Each update keeps who changed the record, when and why, in op.
const (
	// updateRelease lets the next claim have the key. The claim that held it is fenced although own and fence stay: every write of a
	// worker demands lease > 0, its completion (condHeld), its failure and its renewal alike. So a worker that still lives loses its
	// claim: its handler's context is cancelled, and a completion after that is refused. If its handler succeeds all the same, the
	// work is done, and its message is not run again (idemddb.Claim.IsDone), because own and fence stay. With effects nothing was
	// written, and the message comes back.
	//
	// Two writes of that worker are accepted: its own release, which says that the key is free, as the operator did, and its
	// transaction or completion that arrived before this write, which then finds another st and refuses the operator.
	//
	// The lease becomes −1, so that the next claim shows that the work may have begun (Claim.Takeover). With Options.NoTakeover such
	// a claim would end the key. There, as nt of the record says, it becomes 0, because the operator knows the outcome.
	updateRelease = "SET lease = :lease, op = :op"

	// updateFail ends the key. A worker that still holds it is fenced, because every write of it demands st = INPROGRESS. Its
	// wrapper treats that as it does when another claim has given up for it: work that succeeded is done, and effects were not
	// written.
	updateFail = "SET st = :failed, err = :err, #exp = :exp, op = :op"

	// updateReopen lets a failed key be claimed again, with its attempts counted from zero. The fencing token rises although nobody
	// claims the key, so that a late request of the write that ended it is refused, and so is the worker that it was ended for: its
	// message comes back and is claimed anew. took says that a second run may begin.
	//
	// The update counts in took, so it must not be applied twice. unchanged refuses the second time: the first has raised fence and
	// set op.
	updateReopen = "SET st = :inprogress, fence = :next, lease = :zero, att = :zero, #exp = :exp, op = :op" +
		", took = if_not_exists(took, :zero) - :one"

	// updateStamp only keeps the change. It stands before a deletion, so that backups and streams of the table show who deleted the
	// record and why; and before messages are sent, so that of two operators one sends them.
	//
	// A deletion leaves nothing that fences by its attributes, and needs nothing: every write of a worker demands its own owner
	// token in the record, so it is refused and creates nothing. A worker whose record is gone is done if its handler succeeds, and
	// its effects are not written. A claim that arrives late may create the record anew, as it may after Time to Live has deleted
	// one. A transaction that commits without a claim (Store.Commit) may do so too, as long as its request is valid, up to 15
	// minutes: its effects then happen again. The documentation of Forget says so.
	updateStamp = "SET op = :op"
)

// expression is a condition or an update with its names and values.
type expression struct {
	text   string
	names  map[string]string
	values item
}
