//go:build unix

package bench

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"runtime"
	"syscall"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
)

// The tables of a world: that of the records, with its index of unsent messages, and that of the effects.
const (
	recordTable = "records"
	unsentIndex = "unsent"
	effectTable = "effects"
)

// world is a DynamoDB in this process whose requests take the time of the bubble.
type world struct {
	db     *idemddbtest.DB
	client *dynamodb.Client
	inner  aws.HTTPClient
	engine usage // of the DynamoDB itself, which is not the program's
}

// newWorld returns a world without items. times says for how long a transaction holds its items; nil means not at all.
func newWorld(ctx context.Context, times func() time.Duration) (*world, error) {
	w := &world{db: idemddbtest.New(&idemddbtest.Options{TransactionTime: times})}

	for table, index := range map[string]string{recordTable: unsentIndex, effectTable: ""} {
		if _, err := w.db.CreateTable(ctx, idemddbtest.CreateTable(table, index)); err != nil {
			return nil, fmt.Errorf("create a table: %w", err)
		}
	}

	o := w.db.Client().Options()
	w.inner, o.HTTPClient = o.HTTPClient, w
	w.client = dynamodb.New(o)

	return w, nil
}

// Do is the network and DynamoDB: it takes time, and what it uses itself is counted apart.
func (w *world) Do(r *http.Request) (*http.Response, error) {
	select {
	case <-time.After(dynamoDBLatency):
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}

	before := used()
	answer, err := w.inner.Do(r)
	w.engine = w.engine.plus(used().minus(before)) // there is one processor, and the engine does not wait

	return answer, err
}

// reset forgets what was counted.
func (w *world) reset() {
	w.db.ResetRequests()
	w.engine = usage{}
}

// transactionTimes draws how long transactions take, as DynamoDB's do.
func transactionTimes() func() time.Duration {
	random := rand.New(rand.NewPCG(1, 1))

	return func() time.Duration {
		return 2*time.Millisecond + time.Duration(random.Int64N(int64(4*time.Millisecond)))
	}
}

// usage is what code has taken of this process.
type usage struct {
	allocations uint64
	cpu         time.Duration
}

func (u usage) plus(v usage) usage { return usage{u.allocations + v.allocations, u.cpu + v.cpu} }

func (u usage) minus(v usage) usage { return usage{u.allocations - v.allocations, u.cpu - v.cpu} }

// used returns what this process has used. Its own cost is small beside that of a request, and the same on both sides.
func used() usage {
	var memory runtime.MemStats

	runtime.ReadMemStats(&memory)

	return usage{memory.Mallocs, cpuTime()}
}

// cpuTime is the processor time that all threads of this process have used.
func cpuTime() time.Duration {
	var spent syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &spent); err != nil {
		panic(err) // never: there is this process, and its times can be read
	}

	return time.Duration(spent.Utime.Nano() + spent.Stime.Nano())
}
