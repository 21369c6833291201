package lambdawrap_test

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// A state of Step Functions that is retried gets the result of the first try. Another execution, another state, or another order
// of a Map state is other work.
func ExampleFunc_stepFunctions() {
	store, _ := inMemory(nil)

	// The state's Parameters: {"execution.$": "$$.Execution.Id", "state.$": "$$.State.Name", "orderId.$": "$.orderId"}
	type task struct{ Execution, State, OrderID string }

	ship := lambdawrap.Func(store, func(_ context.Context, t task) (string, error) {
		fmt.Println("ship", t.OrderID)

		return "shipped " + t.OrderID, nil
	}, &lambdawrap.FuncOptions[task]{Key: func(_ context.Context, t task) (string, error) {
		if t.Execution == "" || t.State == "" || t.OrderID == "" {
			return "", lambdawrap.ErrNoKey // all inputs that lack a part would be one piece of work
		}

		key, err := json.Marshal([]string{t.Execution, t.State, t.OrderID}) // a list: no two have the same text

		return idemddb.TextKey(string(key)), err
	}})

	for _, t := range []task{{"e-1", "Ship", "o-1"}, {"e-1", "Ship", "o-1"}, {"e-1", "Ship", "o-2"}, {"e-2", "Ship", "o-1"}} {
		fmt.Println(ship(context.Background(), t))
	}
	// Output:
	// ship o-1
	// shipped o-1 <nil>
	// shipped o-1 <nil>
	// ship o-2
	// shipped o-2 <nil>
	// ship o-1
	// shipped o-1 <nil>
}

// Func refuses what would put one key on a whole batch, and what is replayed by design.
func ExampleEventFunc() {
	store, _ := inMemory(nil)

	function := lambdawrap.Func(store, func(context.Context, any) (string, error) { return "done", nil },
		&lambdawrap.FuncOptions[any]{Key: lambdawrap.RequestID[any]})

	_, err := function.Invoke(context.Background(), []byte(`[{"messageId":"m1","eventSource":"aws:sqs","body":"p-1"}]`))
	fmt.Println(err)

	_, err = function.Invoke(context.Background(), []byte(`{"DurableExecutionArn":"arn:aws:lambda:…","CheckpointToken":"t"}`))
	fmt.Println(err)
	// Output:
	// lambdawrap: the payload is an array of records, as EventBridge Pipes sends it, and nothing ran: Func would put one key on the whole of it; use Pipe with SQS, Kinesis or DynamoDBStream
	// lambdawrap: this is an invocation of a durable function, and nothing ran: its handler runs again with each invocation, so it would find its own record; use idemddb.Do in a step, with DurableKey, or the idempotency key as the name of the execution
}

// A step runs again if its process dies before the checkpoint. With a key of its execution and its name its work is done once all
// the same.
func ExampleDurableKey() {
	store, _ := inMemory(nil)
	handler := durableHandler{context.Background()} // the SDK for durable executions makes this context

	key, err := lambdawrap.DurableKey(handler, "charge")
	fmt.Println(key, err)

	for range 2 { // the step runs twice, with the context that the SDK makes for it
		fmt.Println(idemddb.Do(context.Background(), store, key, nil, func(context.Context) (string, error) {
			fmt.Println("charge")

			return "receipt", nil
		}))
	}
	// Output:
	// #["arn:execution","charge"] <nil>
	// charge
	// receipt <nil>
	// receipt <nil>
}
