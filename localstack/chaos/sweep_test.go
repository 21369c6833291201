//go:build chaos

package chaos_test

import (
	"context"
	"time"

	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/idemddb/go-idemddb/functions/payments/ledger"
	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/idemddb/outbox"
)

// keepSweeping sends what is not sent, again and again, through the same faults as the functions, also while a function sends it.
// The returned function ends that.
func (c *clients) keepSweeping() (stop func()) {
	ctx, cancel := context.WithCancel(c.Context())
	dynamo, queues := c.services.dynamo.proxy(func(moment) {}), c.services.queues.proxy(func(moment) {})
	client := dynamodb.New(c.pipe.DynamoDB.Options(), func(o *dynamodb.Options) { o.BaseEndpoint = &dynamo.URL })
	ended := make(chan struct{})

	go func() {
		defer close(ended)

		for ctx.Err() == nil {
			for _, namespace := range []string{"api", "payments"} {
				limited, cancel := context.WithTimeout(ctx, timeout)
				_, _ = c.sweepThrough(limited, client, queues.URL, namespace) // only the last sweep has to succeed

				cancel()
			}

			pass(2 * time.Second)
		}
	}()

	return func() {
		cancel()
		<-ended
		dynamo.Close()
		queues.Close()
	}
}

// sweepBoth sends what is left, on both ways.
func (c *clients) sweepBoth() {
	c.sweep("api")
	c.work()
	c.sweep("payments")
}

// sweep sends the messages of a namespace that are left, as functions/relay does two minutes later.
func (r *run) sweep(namespace string) {
	report, err := r.sweepThrough(r.Context(), r.pipe.DynamoDB, r.url, namespace)
	if err != nil || report.Left+report.Parked > 0 || report.Incomplete {
		r.Errorf("sweep of %s: %+v, %v", namespace, report, err)
	}
}

func (r *run) sweepThrough(ctx context.Context, dynamo *dynamodb.Client, queues, namespace string) (outbox.Report, error) {
	client := sqs.New(sqs.Options{Region: "us-east-1", BaseEndpoint: &queues, Credentials: credentials.NewStaticCredentialsProvider("local", "local", "")})

	store, err := idemddb.New(dynamo, r.pipe.RecordTableName, namespace, &idemddb.Options{
		UnsentIndex: "unsent", Now: func() time.Time { return time.Now().Add(2 * time.Minute) },
		Senders: map[string]idemddb.Sender{
			ledger.Captured: outbox.SQS(client, r.url+"/1/captured"), ledger.Accepted: outbox.SQS(client, r.url+"/1/payments"),
		},
	})
	if err != nil {
		return outbox.Report{}, err
	}

	return outbox.Sweep(ctx, store, dynamo)
}
