// Package idemddbtest is an in-memory DynamoDB for the tests of code that uses [github.com/idemddb/go-idemddb/idemddb].
//
// A [DB] takes the same requests as a *dynamodb.Client and answers as the service does: it parses and evaluates condition and
// update expressions by the documented grammar, its numbers are exact, and its errors have the types that the SDK returns. Of
// PartiQL it executes what [DB.BatchExecuteStatement] lists. Tests compare it with DynamoDB Local on random requests. Nothing is
// deleted because time passes, since DynamoDB does not say when that happens: [DB.Expire] deletes what has expired.
//
// A test chooses what goes wrong on the way to DynamoDB: [DB.Inject] for the next requests, [DB.Intercept] for any request,
// [DB.InterceptStatements] for single statements of a call, [DB.InterceptParts] for single parts of a transaction.
//
//	db := idemddbtest.New(nil)
//	db.Inject(idemddbtest.LostReply) // the write is applied, and its sender gets a broken connection
//
// By default the DB applies one request at a time, so that two transactions never conflict by chance, as in every emulator. A
// test lets them conflict where it wants to: [DB.Begin] starts a transaction and leaves it in flight, and [LateCommit] leaves a
// transaction in flight that somebody sends. A transaction in flight holds its items, and other writes of these items conflict
// with it, see [Transaction]. With [Options.TransactionTime] every transaction is in flight for some time, as in DynamoDB, so
// that they conflict by chance, too.
//
//	other, err := db.Begin(in) // somebody else's transaction
//	...                        // a write of one of its items now conflicts
//	other.Commit()
//
// Global secondary indexes show each write at once. [DB.HoldIndexes] lets them lag.
//
// [Options.Limits] throttle the writes of a partition that has used up its units, and let requests take their time.
//
// There are three ways to send a request, with the same engine and the same faults:
//
//   - the methods of DB, for most tests: a call is one try, and nothing is retried
//   - [DB.Client], an SDK client without sockets, so that it works inside testing/synctest: with the SDK's own retries and errors
//   - [DB.Handler], an http.Handler, for clients in other processes and languages
//
// Not modelled: PartiQL that deletes, or that reads other than one item by its whole key, TransactGetItems, ProjectionExpression,
// local secondary indexes, streams, provisioned capacity, several Regions, and permissions other than [AccessDenied].
package idemddbtest
