package idemddbtest

import (
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/attribute"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/exception"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest/internal/storage"
)

// evaluateAll returns the outcomes of all writes or, if one of them is not possible, the reasons that cancel the transaction, one
// for each write. An update that does not fit its item has the reason ValidationError, as the service documents it; DynamoDB
// Local answers most of these with a ValidationException. A canceled transaction consumes as much as one that is done.
func (db *DB) evaluateAll(writes []*storage.Write, r *Request) ([]storage.Outcome, []types.CancellationReason) {
	outcomes := make([]storage.Outcome, len(writes))
	reasons := make([]types.CancellationReason, len(writes))
	canceled := false

	for i, w := range writes {
		part := &r.Items[i]
		outcomes[i], reasons[i] = db.evaluatePart(w, part)
		canceled = canceled || exception.IsReason(reasons[i])
		part.Refused = outcomes[i].Refused
		part.WriteUnits = max(2, int(outcomes[i].Cost.Transactional().Total()))
		r.Refused = r.Refused || part.Refused
		r.WriteUnits += part.WriteUnits
	}

	if canceled {
		return nil, reasons
	}

	return outcomes, nil
}

// possible returns the writes of a canceled transaction that were not the reason.
func possible(writes []*storage.Write, reasons []types.CancellationReason) []*storage.Write {
	var all []*storage.Write

	for i, w := range writes {
		if !exception.IsReason(reasons[i]) {
			all = append(all, w)
		}
	}

	return all
}

// evaluatePart evaluates one write. Its own fault comes first, then a conflict with another transaction, because DynamoDB does
// not evaluate the condition of an item that another transaction holds.
func (db *DB) evaluatePart(w *storage.Write, part *Request) (storage.Outcome, types.CancellationReason) {
	reason := part.Fault.reason()
	if !exception.IsReason(reason) && db.holds(w.Table, w.ID) {
		reason = exception.ConflictReason()
	}

	if exception.IsReason(reason) {
		return w.Unevaluated(), reason
	}

	o, err := w.Evaluate()
	if err == nil {
		part.Err = db.throughput.ChargeWrite(w, o, o.Cost.Transactional())
	}

	switch {
	case part.Err != nil:
		return storage.Outcome{}, Throttle.reason()
	case err != nil:
		return o, exception.ValidationReason(err)
	case o.Refused:
		return o, refusal(w, o, part.Fault)
	}

	return o, reason
}

// refusal returns the reason of a write whose condition does not hold.
func refusal(w *storage.Write, o storage.Outcome, f Fault) types.CancellationReason {
	if w.GiveItem == types.ReturnValuesOnConditionCheckFailureAllOld && f != ConditionWithoutItem {
		return exception.ConditionReason(attribute.CopyItem(o.Before))
	}

	return exception.ConditionReason(nil)
}
