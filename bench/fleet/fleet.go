package main

import (
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strconv"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// setting is one run: a fleet of environments, each of which always has the next batch.
type setting struct {
	work                            work
	environments, batch, partitions int
	popular                         float64       // share of messages with one of a million popular keys, by Zipf's law; the others are new
	shards                          int           // Options.UnsentShards
	splits                          time.Duration // a partition splits after throttling for so long; 0 for never
	settles                         time.Duration // is not measured; 0 for half a second
	scale                           int           // the units of a partition are divided by it; 0 for 1
}

// work is what the handlers do, each for 90 to 110 ms.
type work string

const (
	claimed    work = "claim"   // nothing that is written
	staged     work = "effect"  // an item in the transaction of the completion
	optimistic work = "commit"  // the same, and the claim in it, too
	announcing work = "message" // a message that is stored with the completion, sent and removed
)

// figures are what a run has shown. All but the rate and the times are for a message.
type figures struct {
	setting

	messages             int // that ended within the measured time
	rate                 float64
	requests             float64
	units, reads         float64
	ofTable, ofIndex     float64 // throttled
	conflicts            float64
	p50, p99             time.Duration
	duplicates, unusable int // messages that were answered by a record, and that failed, such as one that another environment works on
}

const (
	settles  = 500 * time.Millisecond
	measured = time.Second
	deadline = 30 * time.Second // of a batch
	reading  = 20 * time.Millisecond
)

// fleet is a run. The mutex guards what follows it.
type fleet struct {
	*setting

	db    *idemddbtest.DB
	began time.Time
	zipf  *rand.Zipf

	mu                   sync.Mutex
	keys                 int
	took                 []time.Duration
	duplicates, unusable int
}

// simulate runs a fleet in a bubble, whose time passes when all that could be done at its present is done.
func simulate(t *testing.T, s setting) (out figures) {
	t.Helper()

	synctest.Test(t, func(t *testing.T) {
		db, err := newDB(t.Context(), &s)
		if err != nil {
			t.Fatal(err)
		}

		f := &fleet{setting: &s, db: db, began: time.Now()}
		f.zipf = rand.NewZipf(rand.New(rand.NewPCG(1, 0)), 1.1, 1, 1_000_000) //nolint:gosec // a simulation

		if f.settles == 0 {
			f.settles = settles
		}

		var running sync.WaitGroup
		for range s.environments {
			running.Go(func() {
				if err := f.environment(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}

		out = f.measure()

		running.Wait()
	})

	return out
}

// measure counts what is asked for in the measured time.
func (f *fleet) measure() figures {
	var all, before meter

	for time.Since(f.began) < f.settles+measured {
		if time.Since(f.began) <= f.settles {
			before = all
		}

		pause(reading)
		all.read(f.db)
	}

	f.mu.Lock()
	defer f.mu.Unlock()

	slices.Sort(f.took)

	m, n := all.minus(&before), float64(max(1, len(f.took)))
	out := figures{
		setting: *f.setting, messages: len(f.took), rate: float64(len(f.took)) / measured.Seconds(), requests: float64(m.requests) / n,
		units: m.units / n, reads: m.reads / n, ofTable: float64(m.ofTable) / n, ofIndex: float64(m.ofIndex) / n, conflicts: float64(m.conflicts) / n,
		duplicates: f.duplicates, unusable: f.unusable,
	}

	if len(f.took) > 0 {
		out.p50, out.p99 = f.took[len(f.took)/2], f.took[len(f.took)*99/100]
	}

	return out
}

// environment works on one batch after the other. Like an environment of Lambda it has a Store and a handler of its own.
func (f *fleet) environment(ctx context.Context) error {
	var began time.Time

	store, err := idemddb.New(f.db, tableName, "fleet", &idemddb.Options{
		Observe: func(_ context.Context, e idemddb.Event) { f.count(e.Kind, time.Since(began)) },
		Senders: map[string]idemddb.Sender{"next": target{}}, UnsentIndex: indexName, UnsentShards: f.shards,
	})
	if err != nil {
		return fmt.Errorf("store: %w", err)
	}

	handle := lambdawrap.SQS(store, f.handle, &lambdawrap.Options{
		Workers: f.batch, Logger: slog.New(slog.DiscardHandler), Optimistic: f.work == optimistic,
		Key: func(_ context.Context, m events.SQSMessage) (string, error) { return m.Body, nil },
	})

	pause(time.Duration(rand.Int64N(int64(100 * time.Millisecond)))) //nolint:gosec // a simulation

	for time.Since(f.began) < f.settles+measured {
		began = time.Now()

		if err := f.invoke(ctx, handle); err != nil {
			return err
		}
	}

	return nil
}

// invoke works on a batch.
func (f *fleet) invoke(ctx context.Context, handle func(context.Context, events.SQSEvent) (events.SQSEventResponse, error)) error {
	ctx, cancel := context.WithTimeout(ctx, deadline)
	defer cancel()

	var batch events.SQSEvent

	for range f.batch {
		id, key := f.nextKey()
		batch.Records = append(batch.Records, events.SQSMessage{
			MessageId: id, Body: key, EventSourceARN: "arn:aws:sqs:us-east-1:000000000000:fleet",
			Attributes: map[string]string{"ApproximateReceiveCount": "1"},
		})
	}

	if _, err := handle(ctx, batch); err != nil {
		return fmt.Errorf("batch: %w", err)
	}

	return nil
}

// pause lets time pass, which costs none in a bubble.
func pause(d time.Duration) { <-time.After(d) }

// nextKey draws the id and the key of the next message.
func (f *fleet) nextKey() (id, key string) {
	f.mu.Lock()
	defer f.mu.Unlock()

	f.keys++
	id = strconv.Itoa(f.keys)

	if rand.Float64() < f.popular { //nolint:gosec // a simulation
		return id, "popular-" + strconv.FormatUint(f.zipf.Uint64(), 10)
	}

	return id, id
}

// handle is the handler.
func (f *fleet) handle(ctx context.Context, m events.SQSMessage) error {
	pause(90*time.Millisecond + time.Duration(rand.Int64N(int64(20*time.Millisecond)))) //nolint:gosec // a simulation

	switch f.work {
	case claimed:
		return nil
	case announcing:
		return idemddb.Stage(ctx, idemddb.Effects{Messages: []idemddb.Message{{To: "next", Body: m.Body}}})
	case staged, optimistic:
	}

	return idemddb.Stage(ctx, idemddb.Effects{Items: []types.TransactWriteItem{{Put: &types.Put{
		TableName: new(ledger), Item: map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: m.Body}},
	}}}})
}

// count counts an event of a message that ends.
func (f *fleet) count(kind idemddb.Kind, took time.Duration) {
	f.mu.Lock()
	defer f.mu.Unlock()

	if at := time.Since(f.began); at <= f.settles || at > f.settles+measured {
		return
	}

	switch kind { //nolint:exhaustive // no message ends by the others
	case idemddb.KindReplayed:
		f.duplicates++
		f.took = append(f.took, took)
	case idemddb.KindCompleted:
		f.took = append(f.took, took)
	case idemddb.KindInProgress, idemddb.KindUnanswered, idemddb.KindFenced, idemddb.KindUnrecorded, idemddb.KindUncommitted:
		f.unusable++
	}
}
