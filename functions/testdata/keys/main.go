// Keys prints the keys of two messages. docs/keys.md shows its functions.
package main

import (
	"context"
	"fmt"
	"log"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/lambdawrap"
)

// An order number that some producers write in lower case.
func orderNumber(_ context.Context, m events.SQSMessage) (string, error) {
	number, ok := m.MessageAttributes["orderNumber"]
	if !ok || number.StringValue == nil || *number.StringValue == "" {
		return "", fmt.Errorf("%w: attribute orderNumber is missing", lambdawrap.ErrNoKey)
	}

	return idemddb.TextKey(strings.ToUpper(*number.StringValue)), nil
}

// since uses the old key for messages that were sent before a moment, and the new one for all others.
func since(moment time.Time, old, current lambdawrap.KeyFunc) lambdawrap.KeyFunc {
	return func(ctx context.Context, m events.SQSMessage) (string, error) {
		sent, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64) // milliseconds
		if err != nil {
			return "", fmt.Errorf("message %s: SentTimestamp: %w", m.MessageId, err)
		}
		if time.UnixMilli(sent).Before(moment) {
			return old(ctx, m)
		}

		return current(ctx, m)
	}
}

func main() {
	body, err := lambdawrap.Body("orderNumber")
	if err != nil {
		log.Fatal(err)
	}

	key := since(time.Date(2026, 12, 1, 12, 0, 0, 0, time.UTC), orderNumber, body)
	fmt.Println(key(context.Background(), events.SQSMessage{Attributes: map[string]string{"SentTimestamp": "1796126400000"}}))
}
