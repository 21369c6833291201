package groupcommit

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/internal/protocol"
	"github.com/idemddb/go-idemddb/internal/wire"
)

// API is what a client needs for shared requests, and for a write that is alone; *dynamodb.Client has it.
type API interface {
	wire.Updater
	wire.Executor
}

// Client sends the shared requests of all queues of one table.
type Client struct {
	API     API
	Options []func(*dynamodb.Options)

	Retried   func(ctx context.Context, key string, err error) // called before each further try; key is "" for several
	Ungrouped func(ctx context.Context, err error)             // called when requests are not shared from now on, and why

	offUntil     atomic.Pointer[time.Time] // when shared requests are tried again; nil for now
	wrongAnswers atomic.Int64              // requests in a row that were answered with a wrong number of answers
}

const (
	// offPause is how long writes are sent by requests of their own after BatchExecuteStatement was denied: the role may be given the
	// right meanwhile.
	offPause = 5 * time.Minute

	// maxWrongAnswers is how many times in a row a request may be answered with another number of answers than statements: such a
	// backend does not support shared requests.
	maxWrongAnswers = 3
)

// Shares reports whether writes share requests now: BatchExecuteStatement was not denied recently.
func (c *Client) Shares() bool {
	until := c.offUntil.Load()

	return until == nil || time.Now().After(*until)
}

// statements returns the statements of one request, in the order of the writes. Each is built anew, so that it has the present time.
func statements(writes []*write) []types.BatchStatementRequest {
	made := make([]types.BatchStatementRequest, len(writes))
	for i, w := range writes {
		made[i] = w.Statement()
	}

	return made
}

// execute makes one request of up to Size statements and returns an answer to each.
func (c *Client) execute(ctx context.Context, statements []types.BatchStatementRequest) []protocol.Answer {
	shared := wire.Statements(ctx, c.API, statements, c.Options...)
	outcome, isWrong := wire.OutcomeOf(shared.Err), errors.Is(shared.Err, wire.ErrCount)

	switch {
	case shared.Denied != nil:
		c.turnOff(ctx, shared.Denied)
	case isWrong && c.wrongAnswers.Add(1) == maxWrongAnswers:
		c.turnOff(ctx, shared.Err)

		outcome = protocol.NotShared
	}

	if shared.Err == nil {
		c.wrongAnswers.Store(0)

		return shared.Answers
	}

	if !wire.IsTransient(shared.Err) {
		outcome = protocol.NotShared
	}

	return slices.Repeat([]protocol.Answer{{Outcome: outcome, Err: shared.Err, IsShared: true}}, len(statements))
}

// turnOff turns shared requests off for a while.
func (c *Client) turnOff(ctx context.Context, err error) {
	now := time.Now()
	until := now.Add(offPause)

	old := c.offUntil.Load()
	if old != nil && now.Before(*old) || !c.offUntil.CompareAndSwap(old, &until) {
		return // another request has turned them off
	}

	c.wrongAnswers.Store(0)
	c.Ungrouped(ctx, err)
}
