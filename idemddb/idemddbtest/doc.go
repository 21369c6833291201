// Package idemddbtest is an in-memory DynamoDB for the tests of code that uses [github.com/idemddb/go-idemddb/idemddb].
//
// A [DB] takes the same requests as a *dynamodb.Client and answers as the service does: condition and update expressions are
// parsed and evaluated with the documented grammar, numbers are exact, failures have the types that the SDK returns. Of PartiQL it knows
// the writes of one item that [DB.BatchExecuteStatement] lists; they are parsed into the same conditions and updates. Tests compare it
// with DynamoDB Local on random requests. Nothing is ever deleted by time alone, because DynamoDB promises no moment for that either:
// [DB.Expire] plays the deletion.
//
// What can go wrong on the way to DynamoDB is injected: [DB.Inject] for the next requests, [DB.Intercept] for chosen ones,
// [DB.InterceptStatements] and [DB.InterceptParts] for single statements of a call, or parts of a transaction, that gets through.
//
//	db := idemddbtest.New(nil)
//	db.Inject(idemddbtest.LostReply) // the write is applied, its sender only sees a broken connection
//
// One request is applied at a time, so that two transactions never meet by chance, as in every emulator. A test makes them meet where it
// wants to: [DB.Begin] starts a transaction and leaves it in flight, [LateCommit] does that to a transaction that is sent. While it is in
// flight, it holds its items, and other writes of them conflict with it; see [Transaction].
//
//	other, err := db.Begin(in)  // somebody else's transaction
//	...                         // what is written to its items now meets a conflict
//	other.Commit()
//
// Global secondary indexes show each write at once, unless [DB.HoldIndexes] lets them lag.
//
// There are three ways in, all with the same engine and the same faults:
//
//   - the methods of DB: direct calls, for most tests; one call is one attempt, nothing is retried
//   - [DB.Client]: a real SDK client, without sockets, so that it works inside testing/synctest; the SDK's own retries and errors
//   - [DB.Handler]: an http.Handler, for clients in other processes and languages
//
// Not modelled: PartiQL that reads or deletes, TransactGetItems, ProjectionExpression, local secondary indexes, streams, provisioned
// capacity, several Regions, and permissions other than [AccessDenied].
package idemddbtest
