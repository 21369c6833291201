package histories

import (
	"context"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb/idemddbtest"
	"github.com/idemddb/go-idemddb/internal/checks/audited"
	"github.com/idemddb/go-idemddb/internal/realengine"
)

func TestMain(m *testing.M) { os.Exit(realengine.Main(m)) }

// The lease is short, so that many run out, and yet longer than an answer takes on a busy machine.
var times = rules{lease: 400 * time.Millisecond, skew: 100 * time.Millisecond}

func inMemory(t *testing.T) engine {
	t.Helper()

	db := audited.Tables(t, nil, idemddbtest.CreateTable(table, ""))

	return db
}

func onDynamoDBLocal(t *testing.T) engine {
	t.Helper()

	client := realengine.Client(t)
	if _, err := client.CreateTable(t.Context(), idemddbtest.CreateTable(table, "")); err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { // the engine may be one that goes on running
		if _, err := client.DeleteTable(context.Background(), &dynamodb.DeleteTableInput{TableName: new(table)}); err != nil {
			t.Error(err)
		}
	})

	return client
}

// history lets workers loose on an engine with faults. of makes the subject of one worker.
func history(t *testing.T, e engine, operations int, of func(e engine, r *run, now func() time.Time) (subject, error)) []porcupine.Operation {
	t.Helper()

	f := &faulty{engine: e, random: rand.New(rand.NewPCG(1, 1)), lots: 40}
	r := &run{clients: 16, operations: operations, lease: times.lease, skew: times.skew, seed: 1}
	r.subject = func(_ int, now func() time.Time) subject {
		s, err := of(f, r, now)
		if err != nil {
			t.Error(err)
		}

		return s
	}

	operationsOf, err := r.record(t.Context())
	if err != nil {
		t.Fatal(err)
	}

	return operationsOf
}

func theLibrary(e engine, r *run, now func() time.Time) (subject, error) {
	return newLibrary(e, r, now)
}

func theUnfenced(e engine, r *run, now func() time.Time) (subject, error) {
	return &unfenced{e, now, r.lease}, nil
}

func TestHistoriesOfTheLibraryAreThoseOfACorrectKey(t *testing.T) {
	t.Parallel()

	for name, c := range map[string]struct {
		open       func(*testing.T) engine
		operations int
	}{"in memory": {inMemory, 3000}, "on DynamoDB Local": {onDynamoDBLocal, 1500}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			operations := history(t, c.open(t), c.operations, theLibrary)
			folder := keep(t)

			v, err := times.judge(operations, folder)
			if err != nil {
				t.Fatal(err)
			}

			if v.result != porcupine.Ok {
				t.Errorf("%s: the history is in %s, porcupine's picture in %s", v.result, v.history, v.picture)
			}

			demandVariety(t, operations)
		})
	}
}

// keep returns a folder that outlives the test if it fails.
func keep(t *testing.T) string {
	t.Helper()

	folder, err := os.MkdirTemp("", "idemddb-history.") //nolint:usetesting // what failed is kept
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() {
		if !t.Failed() {
			_ = os.RemoveAll(folder)
		}
	})

	return folder
}

// demandVariety fails unless the history has something to judge: each answer.
func demandVariety(t *testing.T, operations []porcupine.Operation) {
	t.Helper()

	count := map[Kind]map[Answer]int{Claim: {}, Complete: {}, Release: {}, Read: {}}
	for _, o := range operations {
		count[o.Input.(Input).Kind][o.Output.(Output).Answer]++
	}

	t.Logf("%d operations: %v", len(operations), count)

	for _, want := range []struct {
		kind   Kind
		answer Answer
	}{{Claim, Won}, {Claim, Held}, {Claim, Done}, {Complete, Done}, {Release, Done}, {Release, Fenced}, {Read, Done}} {
		if count[want.kind][want.answer] == 0 {
			t.Errorf("no %s was answered %s, so the history has too little to judge", want.kind, want.answer)
		}
	}
}

// TestHistoriesOfTheUnfencedAlgorithmAreNot is the proof that a wrong history is found, and kept.
func TestHistoriesOfTheUnfencedAlgorithmAreNot(t *testing.T) {
	t.Parallel()

	v, err := rules{lease: times.lease}.judge(history(t, inMemory(t), 1500, theUnfenced), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}

	if v.result != porcupine.Illegal {
		t.Fatalf("got %s, want an illegal history", v.result)
	}

	for _, file := range []string{v.history, v.picture} {
		if info, err := os.Stat(file); err != nil || info.Size() < 1000 {
			t.Errorf("%s was not kept: %v, %v", file, info, err)
		}
	}
}
