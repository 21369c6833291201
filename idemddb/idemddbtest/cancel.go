package idemddbtest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/fakedynamo/attribute"
	"github.com/idemddb/go-idemddb/internal/fakedynamo/exception"
)

// evaluateAll returns the outcomes of all writes or, if one of them is not possible, the reasons that cancel the transaction, one
// for each write. An update that does not fit its item has the reason ValidationError, as the service documents it; DynamoDB
// Local answers most of these with a ValidationException. A canceled transaction consumes as much as one that is done.
func (db *DB) evaluateAll(writes []*write, r *Request) ([]outcome, []types.CancellationReason) {
	outcomes := make([]outcome, len(writes))
	reasons := make([]types.CancellationReason, len(writes))
	canceled := false

	for i, w := range writes {
		part := &r.Items[i]
		outcomes[i], reasons[i] = db.evaluatePart(w, part)
		canceled = canceled || exception.IsReason(reasons[i])
		part.Refused = outcomes[i].refused
		part.WriteUnits = max(2, int(outcomes[i].cost.transactional().total()))
		r.Refused = r.Refused || part.Refused
		r.WriteUnits += part.WriteUnits
	}

	if canceled {
		return nil, reasons
	}

	return outcomes, nil
}

// possible returns the writes of a canceled transaction that were not the reason.
func possible(writes []*write, reasons []types.CancellationReason) []*write {
	var all []*write

	for i, w := range writes {
		if !exception.IsReason(reasons[i]) {
			all = append(all, w)
		}
	}

	return all
}

// evaluatePart evaluates one write. Its own fault comes first, then a conflict with another transaction, because DynamoDB does
// not evaluate the condition of an item that another transaction holds.
func (db *DB) evaluatePart(w *write, part *Request) (outcome, types.CancellationReason) {
	reason := part.Fault.reason()
	if !exception.IsReason(reason) && db.holds(w.table, w.id) {
		reason = exception.ConflictReason()
	}

	if exception.IsReason(reason) {
		return outcome{cost: written(writeUnits(w.table.items[w.id]))}, reason
	}

	o, err := w.evaluate()
	if err == nil {
		part.Err = w.charge(o, o.cost.transactional())
	}

	switch {
	case part.Err != nil:
		return outcome{}, Throttle.reason()
	case err != nil:
		return o, exception.ValidationReason(err)
	case o.refused:
		return o, w.refusal(o, part.Fault)
	}

	return o, reason
}

// refusal returns the reason of a write whose condition does not hold.
func (w *write) refusal(o outcome, f Fault) types.CancellationReason {
	if w.giveItem == types.ReturnValuesOnConditionCheckFailureAllOld && f != ConditionWithoutItem {
		return exception.ConditionReason(attribute.CopyItem(o.before))
	}

	return exception.ConditionReason(nil)
}
