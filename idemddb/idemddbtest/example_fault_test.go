package idemddbtest_test

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The claim is throttled, and the store sends it again.
func ExampleDB_Inject() {
	db := withTable()
	store := newStore(db, nil)

	db.Inject(idemddbtest.Throttle)
	fmt.Println(claimOnce(store, "p-1"))

	for _, r := range db.Requests() {
		fmt.Printf("%s %q\n", r.Operation, r.Fault)
	}
	// Output:
	// <nil>
	// UpdateItem "Throttle"
	// UpdateItem ""
	// UpdateItem ""
}

// The test chooses the requests: the first reply to each completion is lost.
func ExampleDB_Intercept() {
	db := withTable()
	store := newStore(db, nil)

	lost := 0

	db.Intercept(func(_ context.Context, r idemddbtest.Request) idemddbtest.Fault {
		if lost == 0 && strings.Contains(r.Update, ":completed") {
			lost++

			return idemddbtest.LostReply
		}

		return idemddbtest.None
	})

	fmt.Println(claimOnce(store, "p-1"), "lost", lost)
	// Output: <nil> lost 1
}

// The second of three statements is throttled, and the others are applied.
func ExampleDB_InterceptStatements() {
	db := withTable()
	db.InterceptStatements(func(_ context.Context, statement idemddbtest.Request) idemddbtest.Fault {
		if reflect.DeepEqual(statement.Key, recordKey("p-2")) {
			return idemddbtest.Throttle
		}

		return idemddbtest.None
	})

	var statements []types.BatchStatementRequest
	for _, key := range []string{"p-1", "p-2", "p-3"} {
		statements = append(statements, types.BatchStatementRequest{
			Statement:  new(`INSERT INTO "records" VALUE {'pk': ?}`),
			Parameters: []types.AttributeValue{recordKey(key)["pk"]},
		})
	}

	out, err := db.BatchExecuteStatement(context.Background(), &dynamodb.BatchExecuteStatementInput{Statements: statements})
	fmt.Println(out.Responses[1].Error.Code, err, len(db.Items("records")))
	// Output: ProvisionedThroughputExceeded <nil> 2
}

// A claim gets no answer and is sent again. Its first request arrives after the key has been completed, and is refused.
func ExampleDB_Deliver() {
	db := withTable()
	store := newStore(db, nil)

	db.Inject(idemddbtest.LateRequest)

	fmt.Println(claimOnce(store, "p-1"))

	for _, r := range db.Deliver() {
		fmt.Println("the late claim was refused:", r.Refused)
	}
	// Output:
	// <nil>
	// the late claim was refused: true
}

// Faults are strings, so that they can be in a table of cases.
func ExampleFault() {
	for _, fault := range []idemddbtest.Fault{idemddbtest.LostReply, idemddbtest.Throttle, idemddbtest.TransactionConflict} {
		db := withTable()
		store := newStore(db, nil)
		db.Inject(fault)
		fmt.Println(fault, claimOnce(store, "p-1"))
	}
	// Output:
	// LostReply <nil>
	// Throttle <nil>
	// TransactionConflict <nil>
}
