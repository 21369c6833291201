package queue_test

import (
	"testing"

	"github.com/idemddb/go-idemddb/internal/queue"
)

func TestAURLOfAQueueEndsInItsName(t *testing.T) {
	t.Parallel()

	for text, want := range map[string]bool{
		"https://sqs.eu-west-1.amazonaws.com/111122223333/payments":      true,
		"https://sqs.eu-west-1.amazonaws.com/111122223333/payments.fifo": true,
		"https://sqs.eu-west-1.amazonaws.com/111122223333/a":             true, // SQS takes names of 1 to 80 characters
		"http://localhost:4566/000000000000/a":                           true,
		"http://sqs.eu-west-1.localhost.localstack.cloud:4566/queue/a":   true,
		"https://sqs.eu-west-1.amazonaws.com":                            false,
		"https://sqs.eu-west-1.amazonaws.com/":                           false,
		"arn:aws:sqs:eu-west-1:111122223333:payments":                    false,
		"ftp://sqs.eu-west-1.amazonaws.com/111122223333/payments":        false,
		"http://localhost:4566/queue/eu-west-1/000000000000/dead":        true,
		"https:///111122223333/dead":                                     false,
		"https://sqs.eu-west-1.amazonaws.com/111122223333/payments\n":    false,
		"payments":  false,
		"https:///": false,
		"":          false,
		"https://sqs.eu-west-1.amazonaws.com/%zz": false,
	} {
		if err := queue.CheckURL(text); (err == nil) != want {
			t.Errorf("%q: got %v", text, err)
		}
	}
}
