// Do charges payments in the three ways that docs/do.md shows.
package main

import (
	"context"
	"errors"
	"log"
	"os"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/idemddb/go-idemddb/idemddb"
)

func charge(context.Context) (string, error) { return "receipt 1", nil }

func byRun(ctx context.Context, store *idemddb.Store, key string) error {
	record, err := idemddb.Run(ctx, store, key, nil, func(ctx context.Context, claim *idemddb.Claim) ([]byte, error) {
		receipt, err := charge(ctx) // claim.Fence() and claim.Takeover() are for the bank, if it asks

		return []byte(receipt), err
	})
	if err != nil {
		return err // come back later
	}
	if record != nil {
		log.Printf("charged before: %s", record.Result)
	}

	return nil
}

func byDo(ctx context.Context, store *idemddb.Store) error {
	receipt, err := idemddb.Do(ctx, store, "payment-1", nil, charge)
	if err != nil {
		return err
	}

	log.Print(receipt)

	return nil
}

func byClaim(ctx context.Context, store *idemddb.Store, key string) error {
	claim, record, err := store.Claim(ctx, key, nil)
	if err != nil {
		return err // nothing ran: come back later
	}
	if record != nil {
		return nil // the work was done before; record.Result is its result
	}
	defer claim.Release(ctx, nil) // has no effect once the claim is settled

	work, stop := claim.Keep(ctx) // renews the lease
	receipt, err := charge(work)
	stop()
	if err != nil {
		return errors.Join(err, claim.Release(ctx, err)) // Release returns only its own error
	}

	if err := claim.Complete(ctx, []byte(receipt)); !claim.IsDone(err) {
		return err
	}

	return nil // done, perhaps without its record: an event says so
}

func main() {
	ctx := context.Background()

	cfg, err := config.LoadDefaultConfig(ctx)
	if err != nil {
		log.Fatal(err)
	}

	cfg.HTTPClient = idemddb.HTTPClient()

	store, err := idemddb.New(dynamodb.NewFromConfig(cfg), os.Getenv("TABLE_NAME"), "payments", nil)
	if err != nil {
		log.Fatal(err)
	}

	for _, err := range []error{byRun(ctx, store, "payment-2"), byDo(ctx, store), byClaim(ctx, store, "payment-3")} {
		if err != nil {
			log.Fatal(err)
		}
	}
}
