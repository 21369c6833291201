package idemddbtest

import "context"

// Inject gives the next requests these faults, one each, in this order; a request that gets [None] is answered as usual. The
// interceptor, if there is one, decides about the requests after them. Faults of earlier calls that no request has had yet come
// first.
func (db *DB) Inject(faults ...Fault) {
	db.mu.Lock()
	defer db.mu.Unlock()

	db.faults = append(db.faults, faults...)
}

// Intercept sets the function that chooses the fault of each request that Inject does not; nil removes it. The DB calls decide
// before it applies the request, without a lock, maybe from several goroutines at once. So decide may use the DB, and it may
// wait, which holds this one request back.
func (db *DB) Intercept(decide func(ctx context.Context, r Request) Fault) {
	db.mu.Lock()
	defer db.mu.Unlock()

	db.intercept = decide
}

// InterceptStatements sets the function that chooses a fault for each statement of a BatchExecuteStatement that is applied; nil
// removes it. The DB calls decide in the order of the statements, after it has chosen the fault of the whole call, and otherwise
// as Intercept says. Throttle, ThrottleAccount, ServerError, AccessDenied and TransactionConflict refuse the statement: its
// response carries the error. ServerErrorApplied and ConditionWithoutItem apply it. No other fault can happen to a single
// statement: the response is then a ValidationError.
func (db *DB) InterceptStatements(decide func(ctx context.Context, statement Request) Fault) {
	db.mu.Lock()
	defer db.mu.Unlock()

	db.interceptStatement = decide
}

// InterceptParts sets the function that chooses a fault for each part of a transaction that DynamoDB evaluates; nil removes it.
// The DB calls decide in the order of the parts, after it has chosen the fault of the whole transaction, and otherwise as
// Intercept says. TransactionConflict, Throttle and ThrottleAccount cancel the transaction; the reason of the part is then
// TransactionConflict, ProvisionedThroughputExceeded or ThrottlingError. ConditionWithoutItem removes the item from the reason of
// a part whose condition does not hold. With any other fault the reason of the part is a ValidationError.
func (db *DB) InterceptParts(decide func(ctx context.Context, part Request) Fault) {
	db.mu.Lock()
	defer db.mu.Unlock()

	db.interceptPart = decide
}

// nextFault returns the fault that Inject has for this request, or the interceptor that chooses one.
func (db *DB) nextFault() (Fault, func(context.Context, Request) Fault) {
	if len(db.faults) == 0 {
		return None, db.intercept
	}

	f := db.faults[0]
	db.faults = db.faults[1:]

	return f, nil
}

// itemInterceptor returns the function that chooses the faults of the request's statements or parts.
func (db *DB) itemInterceptor(r Request) func(context.Context, Request) Fault {
	if r.Operation == transactWrite {
		return db.interceptPart
	}

	return db.interceptStatement
}
