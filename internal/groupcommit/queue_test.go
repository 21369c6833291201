package groupcommit_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/groupcommit"
	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/retry"
)

// Most of what a Queue does is tested in package idemddb, through Batch.

// slow is a client that answers each statement with success, after a while.
type slow struct {
	delay    time.Duration
	requests []int // the numbers of statements
}

func (s *slow) BatchExecuteStatement(
	_ context.Context, in *dynamodb.BatchExecuteStatementInput, _ ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	s.requests = append(s.requests, len(in.Statements))

	<-time.After(s.delay)

	return &dynamodb.BatchExecuteStatementOutput{Responses: make([]types.BatchStatementResponse, len(in.Statements))}, nil
}

func (*slow) UpdateItem(
	context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, nil
}

// request is one that is done with its first answer. It is called when that is read.
type request func()

func (request) Statement() types.BatchStatementRequest { return types.BatchStatementRequest{} }
func (request) Input() *dynamodb.UpdateItemInput       { return &dynamodb.UpdateItemInput{} }
func (r request) Read(protocol.Answer) (protocol.Step, error) {
	r()
	return protocol.Done, nil
}

func TestAnAnswerIsNotReadAfterItsWriterHasLeft(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		client := &slow{delay: 10 * time.Millisecond}
		queue := &groupcommit.Queue{Client: &groupcommit.Client{API: client}}
		queue.Expect(3)

		var (
			all  sync.WaitGroup
			mu   sync.Mutex
			read []string
		)

		for key, timeout := range map[string]time.Duration{"a": time.Second, "b": time.Millisecond, "c": time.Second} {
			all.Go(func() {
				queue.Arrive()
				defer queue.Leave(t.Context())

				ctx, cancel := context.WithTimeout(t.Context(), timeout)
				defer cancel()

				done, err := queue.Send(ctx, groupcommit.Write{
					Key: key, Policy: retry.Policy{End: time.Now().Add(time.Second)},
					Request: request(func() {
						mu.Lock()
						defer mu.Unlock()

						read = append(read, key)
					}),
				})

				if want := map[bool]error{true: context.DeadlineExceeded}[key == "b"]; !done || !errors.Is(err, want) {
					t.Errorf("key %s: got %t, %v, want %v", key, done, err, want)
				}
			})
		}

		all.Wait()
		slices.Sort(read)

		if want := []string{"a", "c"}; !slices.Equal(read, want) {
			t.Errorf("the answers of %v were read, want those of %v", read, want)
		}

		if want := []int{3}; !slices.Equal(client.requests, want) {
			t.Errorf("requests of %v statements, want %v", client.requests, want)
		}
	})
}

// Otherwise all later writes would wait for a request that was never made: the completion behind a renewal that was stopped, for example.
func TestAWriteIsSentAfterOneWhoseWriterLeftBeforeItsRequest(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		queue := &groupcommit.Queue{Client: &groupcommit.Client{API: &slow{}}}
		send := func(ctx context.Context) error {
			_, err := queue.Send(ctx, groupcommit.Write{
				Key: "k", Policy: retry.Policy{End: time.Now().Add(time.Minute)}, Request: request(func() {}),
			})

			return err
		}

		for range 20 { // in some, the request is quicker than the writer
			left, cancel := context.WithCancel(t.Context())
			cancel()

			if err := send(left); err != nil && !errors.Is(err, context.Canceled) {
				t.Fatal(err)
			}

			in, cancel := context.WithTimeout(t.Context(), time.Second)
			if err := send(in); err != nil {
				t.Fatalf("the write behind it is not sent: %v", err)
			}

			cancel()
		}
	})
}
