package ledger_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/audit"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/around"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// The town of a test: its payments go to few accounts, so that those of a batch are joined to sums.
const (
	residents  = 3  // accounts
	townsfolk  = 4  // processes
	dues       = 60 // payments, each delivered twice
	closedOne  = "a-0"
	visibleIn  = 500 * time.Millisecond
	invocation = 8 * time.Second
)

// TestEveryBalanceIsExact lets processes pay while they are killed and stopped, while requests are lost, refused, answered
// wrongly or arrive late, also when DynamoDB has forgotten their tokens, and while an account is closed. In the end nothing fails
// any more, and each account must have the sum of its entries to the unit.
func TestEveryBalanceIsExact(t *testing.T) {
	t.Parallel()

	seeds := uint64(60)
	if testing.Short() {
		seeds = 10
	}

	var refused, joined atomic.Int64

	t.Run("seeds", func(t *testing.T) {
		for seed := range seeds {
			t.Run(fmt.Sprint(seed), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					town := newTown(t, seed)
					town.run()
					town.check()
					refused.Add(int64(len(town.refused)))
					joined.Add(town.joined())
				})
			})
		}
	})

	if refused.Load() == 0 || joined.Load() == 0 {
		t.Errorf("%d payments were refused and %d transactions had a sum of several, so the test shows little", refused.Load(), joined.Load())
	}
}

type town struct {
	*testing.T

	db   *idemddbtest.DB
	calm time.Time // from when on nothing fails

	mu      sync.Mutex
	random  *rand.Rand
	queue   []events.SQSMessage
	left    int             // messages that are not done
	refused map[string]bool // payments whose messages became dead letters
	final   string          // the balance of the closed account when it was closed
}

func newTown(t *testing.T, seed uint64) *town {
	t.Helper()

	w := &town{T: t, random: rand.New(rand.NewPCG(seed, 3)), calm: time.Now().Add(20 * time.Second), refused: map[string]bool{}}
	w.db = audited.Tables(t, &idemddbtest.Options{TransactionTime: func() time.Duration { return 2*time.Millisecond + w.upTo(4*time.Millisecond) }},
		idemddbtest.CreateTable("records", ""), idemddbtest.CreateTable("accounts", ""))
	audited.DB(t, w.db, nil, audit.Options{})

	for i := range 2 * dues {
		n := i / 2 // two messages of each payment
		w.queue = append(w.queue, events.SQSMessage{
			MessageId: fmt.Sprint("m-", i), EventSourceARN: "arn:aws:sqs:eu-west-1:111122223333:payments",
			Attributes: map[string]string{"ApproximateReceiveCount": "1"},
			Body:       fmt.Sprintf(`{"paymentId":"p-%d","account":"a-%d","amount":%d}`, n, n%residents, amountOf(n)),
		})
	}

	w.left = len(w.queue)
	w.random.Shuffle(len(w.queue), func(i, j int) { w.queue[i], w.queue[j] = w.queue[j], w.queue[i] })

	return w
}

// amountOf returns an amount that is not the sum of others.
func amountOf(payment int) int64 { return 1 << (payment % 40) }

func (w *town) upTo(d time.Duration) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()

	return time.Duration(w.random.Int64N(int64(d)))
}

// chance draws while things fail.
func (w *town) chance(percent int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return time.Now().Before(w.calm) && w.random.IntN(100) < percent
}

func (w *town) run() {
	w.db.Intercept(w.fault)

	var all sync.WaitGroup

	for i := range townsfolk {
		all.Go(func() {
			for life := 0; !w.isDone(); life++ {
				w.live(fmt.Sprint("process ", i, ".", life))
			}
		})
	}

	all.Go(w.deliverLate)
	all.Go(w.closeAccount)
	all.Wait()
	w.db.Deliver()
}

var wrongs = []idemddbtest.Fault{
	idemddbtest.LostRequest, idemddbtest.LostReply, idemddbtest.LateRequest, idemddbtest.LateCommit, idemddbtest.TruncatedBody,
	idemddbtest.EmptyAnswer, idemddbtest.EmptyAnswerApplied, idemddbtest.MissingResponse, idemddbtest.ServerErrorApplied,
	idemddbtest.ConditionWithoutItem, idemddbtest.Throttle, idemddbtest.ThrottleReason, idemddbtest.AccessDenied,
	idemddbtest.TransactionConflict, idemddbtest.CanceledWithoutReasons, idemddbtest.TransactionInProgress,
}

func (w *town) fault(context.Context, idemddbtest.Request) idemddbtest.Fault {
	if !w.chance(25) {
		return idemddbtest.None
	}

	return wrongs[w.upTo(time.Duration(len(wrongs)))]
}

// deliverLate lets late requests arrive, also after DynamoDB has forgotten their tokens.
func (w *town) deliverLate() {
	for !w.isDone() {
		time.Sleep(w.upTo(time.Second)) //nolint:forbidigo // this moves the bubble's clock

		if w.upTo(2) == 0 {
			w.db.ForgetTokens()
		}

		w.db.Deliver()
	}
}

// closeAccount closes an account while payments to it are under way.
func (w *town) closeAccount() {
	time.Sleep(w.upTo(2 * time.Second)) //nolint:forbidigo // this moves the bubble's clock

	key := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "account#" + closedOne}}

	for {
		_, _ = w.db.UpdateItem(w.Context(), &dynamodb.UpdateItemInput{
			TableName: new("accounts"), Key: key, UpdateExpression: new("SET closed = :true"),
			ExpressionAttributeValues: map[string]types.AttributeValue{":true": &types.AttributeValueMemberBOOL{Value: true}},
		})

		item := w.db.Item("accounts", key) // whatever the answer was
		if item["closed"] != nil {
			w.final = numberOf(item["balance"])

			return
		}

		time.Sleep(10 * time.Millisecond) //nolint:forbidigo // this moves the bubble's clock
	}
}

// mortal is a process that may be killed or stopped: a dead one sends nothing more, and a stopped one sends what it
// was about to send when it goes on, however late that is.
type mortal struct {
	isDead  atomic.Bool
	stopped atomic.Int64 // until when, in Unix nanoseconds
}

var errDead = errors.New("the process is dead")

// send is in place of each request.
func (m *mortal) send(ctx context.Context, in any, send around.Send) (any, error) {
	if pause := time.Until(time.Unix(0, m.stopped.Load())); pause > 0 {
		time.Sleep(pause) //nolint:forbidigo // this moves the bubble's clock

		ctx = context.WithoutCancel(ctx)
	}

	if m.isDead.Load() {
		return nil, errDead
	}

	return send(ctx, in)
}

// live is the life of a process: it takes batches until the queue is done, or until it is killed.
func (w *town) live(name string) {
	client := &mortal{}

	store, err := idemddb.New(&around.Client{DB: w.db, Do: client.send}, "records", "payments", &idemddb.Options{
		Lease: 10 * time.Second, Senders: map[string]idemddb.Sender{ledger.Captured: &bank{}},
	})
	if err != nil {
		w.Error(err)

		return
	}

	accounts, err := ledger.New("accounts", &ledger.Options{Pause: w.upTo(3*time.Millisecond) + 1})
	if err != nil {
		w.Error(err)

		return
	}

	opts := accounts.Options()
	opts.Logger = slog.New(slog.DiscardHandler)
	opts.Workers = 10
	opts.DeadLetter = w.deadLetter
	function := lambdawrap.SQS(store, accounts.Pay, opts)

	for !w.isDone() {
		batch := w.take()
		if len(batch) == 0 {
			time.Sleep(100 * time.Millisecond) //nolint:forbidigo // this moves the bubble's clock

			continue
		}

		w.meddle(client)

		ctx, cancel := context.WithTimeout(w.Context(), invocation)
		response, err := function(ctx, events.SQSEvent{Records: batch})

		cancel()

		if client.isDead.Load() {
			w.settle(batch, func(string) bool { return true }) // nobody has its answer

			return
		}

		if err != nil {
			w.Errorf("%s: %v", name, err)
		}

		w.settle(batch, func(id string) bool {
			return slices.ContainsFunc(response.BatchItemFailures, func(f events.SQSBatchItemFailure) bool { return f.ItemIdentifier == id })
		})
	}
}

// meddle kills or stops a process soon, or lets it be.
func (w *town) meddle(m *mortal) {
	if w.chance(10) {
		time.AfterFunc(w.upTo(20*time.Millisecond), func() { m.isDead.Store(true) })
	}

	if w.chance(10) {
		time.AfterFunc(w.upTo(20*time.Millisecond), func() { m.stopped.Store(time.Now().Add(2 * invocation).UnixNano()) })
	}
}

func (w *town) take() []events.SQSMessage {
	w.mu.Lock()
	defer w.mu.Unlock()

	n := min(10, len(w.queue)) // of a batch
	batch := slices.Clone(w.queue[:n])
	w.queue = w.queue[n:]

	return batch
}

// settle ends the messages of a batch, and brings those back that failed.
func (w *town) settle(batch []events.SQSMessage, isFailed func(id string) bool) {
	for _, m := range batch {
		if !isFailed(m.MessageId) {
			w.mu.Lock()
			w.left--
			w.mu.Unlock()

			continue
		}

		n, _ := strconv.Atoi(m.Attributes["ApproximateReceiveCount"])
		m.Attributes = map[string]string{"ApproximateReceiveCount": strconv.Itoa(n + 1)}

		time.AfterFunc(visibleIn, func() {
			w.mu.Lock()
			defer w.mu.Unlock()

			w.queue = append(w.queue, m)
		})
	}
}

func (w *town) isDone() bool {
	w.mu.Lock()
	defer w.mu.Unlock()

	return w.left == 0
}

// deadLetter takes messages that no retry mends: only those to the closed account are such.
func (w *town) deadLetter(_ context.Context, m events.SQSMessage, cause error) error {
	if !errors.Is(cause, ledger.ErrClosed) && !errors.Is(cause, idemddb.ErrFailed) {
		w.Errorf("%s became a dead letter: %v", m.Body, cause)
	}

	w.mu.Lock()
	defer w.mu.Unlock()

	w.refused[m.Body] = true

	return nil
}

// check demands that each payment is done or refused, and that each account has the sum of its entries.
func (w *town) check() {
	balances, counts := map[string]int64{}, map[string]int64{}

	for n := range dues {
		id, account := fmt.Sprint("p-", n), fmt.Sprint("a-", n%residents)
		entry := w.db.Item("accounts", map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "payment#" + id}})
		record := w.db.Item("records", map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "payments#" + id}})
		state, _ := record["st"].(*types.AttributeValueMemberS)
		body := fmt.Sprintf(`{"paymentId":"p-%d","account":"a-%d","amount":%d}`, n, n%residents, amountOf(n))

		switch {
		case entry != nil && state.Value == "COMPLETED" && !w.refused[body]:
			balances[account] += amountOf(n)
			counts[account]++
		case entry == nil && state.Value == "FAILED" && w.refused[body] && account == closedOne:
		default:
			w.Errorf("%s to %s: entry %t, record %s, dead letter %t", id, account, entry != nil, state.Value, w.refused[body])
		}
	}

	for i := range residents {
		account := fmt.Sprint("a-", i)
		item := w.db.Item("accounts", map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "account#" + account}})

		if got, want := fmt.Sprint(numberOf(item["balance"]), " of ", numberOf(item["payments"])),
			fmt.Sprint(balances[account], " of ", counts[account]); got != want {
			w.Errorf("%s has %s payments, its entries have %s", account, got, want)
		}

		if account == closedOne && numberOf(item["balance"]) != w.final {
			w.Errorf("%s was closed with %s and has %s now", account, w.final, numberOf(item["balance"]))
		}
	}
}

// numberOf returns the text of a number, 0 for none.
func numberOf(v types.AttributeValue) string {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		return n.Value
	}

	return "0"
}

// joined is how many transactions had fewer updates of accounts than records with one.
func (w *town) joined() (n int64) {
	for _, r := range w.db.Requests() {
		records, accounts := 0, 0

		for _, part := range r.Items {
			switch key, _ := part.Key["pk"].(*types.AttributeValueMemberS); {
			case part.Table == "records":
				records++
			case key != nil && len(key.Value) > 8 && key.Value[:8] == "account#":
				accounts++
			}
		}

		if accounts > 0 && accounts < records {
			n++
		}
	}

	return n
}
