package main

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// sideBySide is how many worlds run at a time where most of the time is spent waiting. Worlds whose time is reported run alone.
const sideBySide = 3

func credentials() aws.CredentialsProvider {
	return aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
		return aws.Credentials{AccessKeyID: "AKID", SecretAccessKey: "SECRET"}, nil
	})
}

// all runs each contender in each scenario.
func (s settings) all(ctx context.Context) ([]verdict, error) {
	var (
		mu       sync.Mutex
		verdicts = map[string]verdict{}
		errs     []error
		group    sync.WaitGroup
		order    []string
		places   = make(chan struct{}, sideBySide)
	)

	s.warmUp(ctx)

	for sc, c := range s.chosen() {
		name := sc.name + "/" + c.name
		order = append(order, name)
		one := func() {
			v, err := s.one(ctx, c, sc)

			mu.Lock()
			defer mu.Unlock()

			verdicts[name] = v
			errs = append(errs, err)
			fmt.Fprintf(os.Stderr, "%-40s %s\n", name, v)
		}

		if sc.alone() && !s.quick {
			one()

			continue
		}

		places <- struct{}{}

		group.Go(func() {
			defer func() { <-places }()

			one()
		})
	}

	group.Wait()

	results := make([]verdict, 0, len(order))
	for _, name := range order {
		results = append(results, verdicts[name])
	}

	return results, errors.Join(errs...)
}

// chosen are the scenarios, each with each contender, that the flags name.
func (s settings) chosen() iter.Seq2[scenario, contender] {
	return func(yield func(scenario, contender) bool) {
		for _, sc := range scenarios(s.quick) {
			for _, c := range contenders(s.self, s.tools, s.workers) {
				if matches(sc.name, s.scenario) && matches(c.name, s.contender) && !yield(sc, c) {
					return
				}
			}
		}
	}
}

// warmUp lets DynamoDB Local compile what it needs: its first answers take longer than the function's time-out.
func (s settings) warmUp(ctx context.Context) {
	for _, c := range contenders(s.self, s.tools, s.workers) {
		for range 2 {
			_, _ = s.one(ctx, c, scenario{name: "warm-up", payments: 60, accounts: 50}) // nothing is said of it
		}
	}
}

// one runs a contender in a scenario.
func (s settings) one(ctx context.Context, c contender, sc scenario) (verdict, error) {
	name := fmt.Sprintf("%08x", hash(sc.name+c.name))
	w := &world{
		contender: c, scenario: sc, dynamo: s.endpoint, client: s.http, records: "records-" + name, accounts: "accounts-" + name,
		log:    filepath.Join(s.out, name+".log"),
		random: rand.New(rand.NewPCG(s.seed, hash(sc.name))), //nolint:gosec // a seed, so that a run can be repeated
		due:    max(sc.every, 1), effects: map[string][]effect{}, tokens: map[string]bool{}, locks: locks{held: map[string]bool{}},
	}

	if err := s.tables(ctx, w); err != nil {
		return verdict{}, err
	}

	w.fill()

	if err := w.run(ctx); err != nil {
		return verdict{}, fmt.Errorf("%s, %s: %w", sc.name, c.name, err)
	}

	v := w.verdict()
	v.Scenario, v.Contender, v.Payments = sc.name, c.name, sc.payments
	w.measure.into(&v)

	return v, s.compareBalances(ctx, w)
}

func hash(text string) uint64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text)) // never fails

	return h.Sum64() & (1<<32 - 1)
}

func (s settings) tables(ctx context.Context, w *world) error {
	for table, key := range map[string]string{w.records: "id", w.accounts: "pk"} {
		_, _ = s.client.DeleteTable(ctx, &dynamodb.DeleteTableInput{TableName: &table}) // of a run before

		_, err := s.client.CreateTable(ctx, &dynamodb.CreateTableInput{
			TableName: &table, BillingMode: types.BillingModePayPerRequest,
			AttributeDefinitions: []types.AttributeDefinition{{AttributeName: &key, AttributeType: types.ScalarAttributeTypeS}},
			KeySchema:            []types.KeySchemaElement{{AttributeName: &key, KeyType: types.KeyTypeHash}},
		})
		if err != nil {
			return fmt.Errorf("create a table: %w", err)
		}
	}

	return nil
}

// compareBalances demands that the accounts have what was counted: the count of this program is no opinion.
func (s settings) compareBalances(ctx context.Context, w *world) error {
	out, err := s.client.Scan(ctx, &dynamodb.ScanInput{TableName: &w.accounts, ConsistentRead: aws.Bool(true)})
	if err != nil {
		return fmt.Errorf("read the accounts: %w", err)
	}

	balance, effects := 0, 0

	for _, item := range out.Items {
		if n, ok := item["balance"].(*types.AttributeValueMemberN); ok {
			var b int
			if _, err := fmt.Sscan(n.Value, &b); err != nil {
				return fmt.Errorf("read a balance: %w", err)
			}

			balance += b
		}
	}

	for _, e := range w.effects {
		effects += len(e)
	}

	if balance != effects {
		return fmt.Errorf("%s, %s: %d effects were counted, and the accounts have %d", w.scenario.name, w.contender.name, effects, balance)
	}

	return nil
}

// alone says whether the time of the scenario is reported.
func (sc scenario) alone() bool { return sc.name == "calm" || sc.name == "hot items" }

func (v verdict) String() string {
	return fmt.Sprintf("%d payments: doubles %d+%d, lost %d, stuck %d, came back %d, timeouts %d, strikes %d, requests %d, conflicts %d, %.1f s",
		v.Payments, v.DoublesLayer, v.DoublesOthers, v.Lost, v.Stuck, v.CameBack, v.Timeouts, v.Strikes, v.Requests, v.Conflicts, v.Wall/1000)
}
