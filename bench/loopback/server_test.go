package loopback

import (
	"encoding/gob"
	"io"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// startInThisProcess connects a Process with a server that runs in the test.
func startInThisProcess(t *testing.T) *Process {
	t.Helper()

	commands, input := io.Pipe()
	output, answers := io.Pipe()
	ended := make(chan error, 1)

	go func() {
		ended <- Serve(t.Context(), commands, answers)
		answers.Close()
	}()

	t.Cleanup(func() {
		input.Close()

		if err := <-ended; err != nil {
			t.Error(err)
		}
	})

	return &Process{commands: gob.NewEncoder(input), answers: gob.NewDecoder(output)}
}

// insert writes the same new item with a client of its own, and returns DynamoDB's error.
func insert(t *testing.T, url string) error {
	t.Helper()

	client := dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider("AKID", "SECRET", ""),
	})

	_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{
		TableName:           aws.String(TableName),
		Item:                map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: "payment-1"}},
		ConditionExpression: aws.String("attribute_not_exists(pk)"),
	})

	return err
}

func TestServerCountsSinceTheCommandBefore(t *testing.T) {
	t.Parallel()

	p := startInThisProcess(t)

	url, err := p.NewTable()
	if err != nil {
		t.Fatal(err)
	}

	if err := insert(t, url); err != nil {
		t.Fatal(err)
	}

	if err := insert(t, url); err == nil { // a refused write costs a write unit, too
		t.Error("the second insert succeeded, want it refused")
	}

	got, err := p.SetLatency(0)
	if err != nil || got.Requests != 2 || got.WriteUnits != 2 || got.Connections != 2 || got.Bytes < 1000 {
		t.Errorf("got %+v, %v, want 2 requests, 2 write units, 2 connections and their bytes", got, err)
	}

	if got, err := p.SetLatency(0); err != nil || got != (Counts{}) {
		t.Errorf("got %+v, %v afterwards, want nothing", got, err)
	}
}

func TestNewTableIsEmptyAndWithoutLatency(t *testing.T) {
	t.Parallel()

	p := startInThisProcess(t)

	for range 2 {
		url, err := p.NewTable()
		if err != nil {
			t.Fatal(err)
		}

		if err := insert(t, url); err != nil {
			t.Error(err)
		}
	}
}

func TestLatencyHoldsEachRequest(t *testing.T) {
	t.Parallel()

	const latency = 20 * time.Millisecond

	p := startInThisProcess(t)

	url, err := p.NewTable()
	if err != nil {
		t.Fatal(err)
	}

	if _, err := p.SetLatency(latency); err != nil {
		t.Fatal(err)
	}

	began := time.Now()

	if err := insert(t, url); err != nil {
		t.Fatal(err)
	}

	if took := time.Since(began); took < latency {
		t.Errorf("the request took %v, want at least %v", took, latency)
	}
}
