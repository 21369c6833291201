package idemddb_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// What the work stages is written in one transaction with its completion. Work that fails has had no effect.
func ExampleStage() {
	ctx := context.Background()
	store, cloud := inMemory(nil)
	cloud.deposit("alice", 100)

	pay := func(ctx context.Context) (string, error) {
		return "receipt 1", idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{debit("alice", 30), entry("1")}})
	}
	fail := func(ctx context.Context) (string, error) {
		_, err := pay(ctx)

		return "", errors.Join(err, errors.New("the bank is closed"))
	}

	for _, work := range []func(context.Context) (string, error){fail, pay, pay} {
		receipt, err := idemddb.Do(ctx, store, "payment-1", nil, work)
		fmt.Printf("%q %v, ", receipt, err)
		cloud.balance("alice")
	}
	// Output:
	// "" the bank is closed, alice has 100
	// "receipt 1" <nil>, alice has 70
	// "receipt 1" <nil>, alice has 70
}

// Work that tries again inside of itself forgets what its first try has staged.
func ExampleUnstage() {
	ctx := context.Background()
	store, cloud := inMemory(nil)
	cloud.deposit("alice", 100)

	_, err := idemddb.Do(ctx, store, "payment-1", nil, func(ctx context.Context) (string, error) {
		if err := idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{debit("alice", 30)}}); err != nil {
			return "", err
		}

		idemddb.Unstage(ctx) // there is a discount

		return "", idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{debit("alice", 25)}})
	})
	if err != nil {
		fmt.Println(err)
	}

	cloud.balance("alice")
	// Output: alice has 75
}

// The effect and the completion of its claim happen together. A worker that lost its claim has no effect.
func ExampleClaim_CompleteWith() {
	ctx := context.Background()
	store, cloud := inMemory(nil)
	cloud.deposit("alice", 100)

	effects := idemddb.Effects{Items: []types.TransactWriteItem{debit("alice", 30), entry("1")}}

	slow := claimed(store, "payment-1")
	cloud.Advance(slow.Deadline().Sub(cloud.Now()) + 2*time.Second) // the lease and ClockSkew are over

	quick := claimed(store, "payment-1") // another worker takes the key over
	if err := quick.CompleteWith(ctx, nil, effects); err != nil {
		fmt.Println(err)

		return
	}

	if err := slow.CompleteWith(ctx, nil, effects); errors.Is(err, idemddb.ErrFenced) {
		fmt.Println("the slow worker is fenced")
	}

	cloud.balance("alice")
	// Output:
	// the slow worker is fenced
	// alice has 70
}

// A wrapper that has a smaller result asks before it settles.
func ExampleWork_Fits() {
	store, _ := inMemory(nil)

	work, ending := store.Begin(context.Background(), "payment-1", nil)
	if work == nil {
		panic(ending.Err)
	}

	fmt.Println(work.Fits([]byte("receipt 1")), work.Fits(make([]byte, 6_500_000)))
	// Output: true false
}

// One request claims and completes the key, and has the effect.
func ExampleStore_Commit() {
	ctx := context.Background()
	store, cloud := inMemory(nil)
	cloud.deposit("alice", 100)

	for range 2 {
		earlier, err := store.Commit(ctx, "payment-1", nil, []byte("receipt 1"), idemddb.Effects{
			Items: []types.TransactWriteItem{debit("alice", 30)},
		})
		fmt.Println("done before:", earlier != nil, err)
		cloud.balance("alice")
		cloud.cost()
	}
	// Output:
	// done before: false <nil>
	// alice has 70
	// 1 requests, 4 WCU
	// done before: true <nil>
	// alice has 70
	// 1 requests, 4 WCU
}

// Without a claim there is one request, no lease and nothing to take over. The work must stage, and may have no other effect.
func ExampleDo_optimistic() {
	ctx := context.Background()
	store, cloud := inMemory(nil)
	cloud.deposit("alice", 100)

	opts := &idemddb.ClaimOptions{Optimistic: true}

	for range 2 {
		receipt, err := idemddb.Do(ctx, store, "payment-1", opts, func(ctx context.Context) (string, error) {
			return "receipt 1", idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{debit("alice", 30)}})
		})
		fmt.Println(receipt, err)
	}

	cloud.balance("alice")
	cloud.cost()
	// Output:
	// receipt 1 <nil>
	// receipt 1 <nil>
	// alice has 70
	// 2 requests, 8 WCU
}

// payWith stages a payment of more than the account has.
func payWith(refused func(*idemddb.EffectError) error) error {
	store, cloud := inMemory(nil)
	cloud.deposit("alice", 20)

	_, err := idemddb.Do(context.Background(), store, "payment-1", nil, func(ctx context.Context) (string, error) {
		return "", idemddb.Stage(ctx, idemddb.Effects{
			Items: []types.TransactWriteItem{entry("1"), debit("alice", 30)}, Refused: refused,
		})
	})
	cloud.balance("alice")

	claim, _, failed := store.Claim(context.Background(), "payment-1", nil)
	fmt.Println("may run again:", claim != nil, failed)

	return err
}

// declined is a business error that no retry mends, as lambdawrap.Permanent makes one.
type declined struct{ error }

func (declined) Permanent() bool { return true }

// Refused returns a permanent error: the key ends for good.
func ExampleEffectError_permanent() {
	err := payWith(func(e *idemddb.EffectError) error {
		balance, _ := e.Item["balance"].(*types.AttributeValueMemberN)

		return declined{fmt.Errorf("effect %d: the balance is only %s", e.Index, balance.Value)}
	})
	fmt.Println(err)
	// Output:
	// alice has 20
	// may run again: false idemddb: key sha256:a-IBemZtKSDe failed for good (attempts: 1): effect 1: the balance is only 20
	// effect 1: the balance is only 20
}

// Refused returns another error: the key is released, and the work runs again.
func ExampleEffectError_retry() {
	err := payWith(func(*idemddb.EffectError) error { return errors.New("the balance is too low for now") })
	fmt.Println(err)
	// Output:
	// alice has 20
	// may run again: true <nil>
	// the balance is too low for now
}

// Without Refused, or if it returns nil, the work runs again, too.
func ExampleEffectError() {
	ctx := context.Background()
	store, cloud := inMemory(nil)

	for _, balance := range []int{20, 60} {
		cloud.deposit("alice", balance)

		_, err := idemddb.Do(ctx, store, "payment-1", nil, func(ctx context.Context) (string, error) {
			return "", idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{entry("1"), debit("alice", 30)}})
		})
		if effect, ok := errors.AsType[*idemddb.EffectError](err); ok {
			fmt.Println("refused: effect", effect.Index, effect.Code, errors.Is(err, idemddb.ErrEffectRefused))
		} else if err != nil {
			fmt.Println(err)
		}

		cloud.balance("alice")
	}
	// Output:
	// refused: effect 1 ConditionalCheckFailed true
	// alice has 20
	// alice has 30
}

// A message is sent if the key is completed, and not otherwise.
func ExampleMessage() {
	ctx := context.Background()
	store, _ := inMemory(&idemddb.Options{Senders: map[string]idemddb.Sender{"receipts": printer{}}})

	work := func(err error) func(context.Context) (string, error) {
		return func(ctx context.Context) (string, error) {
			return "", errors.Join(err, idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{
				{To: "receipts", Body: `{"payment": 1}`},
			}}))
		}
	}

	for _, failure := range []error{errors.New("the bank is closed"), nil, nil} {
		_, err := idemddb.Do(ctx, store, "payment-1", nil, work(failure))
		fmt.Println(err)
	}
	// Output:
	// the bank is closed
	// receipts gets {"payment": 1}
	// <nil>
	// <nil>
}

// Two payments to one account add to its balance. Each counts once, however often its message is delivered, and where they end at
// the same time they share a transaction in which the account is one update. Nothing is added to an account that is closed.
func ExampleAdd() {
	ctx := context.Background()
	store, cloud := inMemory(nil)
	cloud.deposit("alice", 100)

	pay := func(payment, account string, cents int64) {
		_, err := idemddb.Do(ctx, store, payment, nil, func(ctx context.Context) (string, error) {
			return "paid", idemddb.Stage(ctx, idemddb.Effects{Adds: []idemddb.Add{{
				Table:  "ledger",
				Key:    map[string]types.AttributeValue{"pk": text(account)},
				Values: map[string]types.AttributeValue{"balance": number(cents)},
				Unless: []string{"closed"},
			}}})
		})
		if refused, ok := errors.AsType[*idemddb.EffectError](err); ok {
			fmt.Println(payment, "is refused: the account was closed in", refused.Item["closed"].(*types.AttributeValueMemberS).Value)
		}
	}

	pay("payment-1", "alice", 30)
	pay("payment-1", "alice", 30)
	pay("payment-2", "alice", 5)
	cloud.balance("alice")

	cloud.close("bob", "May")
	pay("payment-3", "bob", 5)
	// Output:
	// alice has 135
	// payment-3 is refused: the account was closed in May
}
