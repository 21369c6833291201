package contract

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"

	"github.com/idemddb/go-idemddb/idemddb"
	"github.com/idemddb/go-idemddb/internal/engine"
	"github.com/idemddb/go-idemddb/internal/planner"
)

// looked is an engine that calls a function after each read of records before their transaction.
type looked struct {
	*batchInterceptor

	then  func(out *dynamodb.BatchExecuteStatementOutput) error
	reads atomic.Int64
}

// BatchExecuteStatement is intercepted. A read has as long as it takes: DynamoDB Local, on a busy machine, takes longer than an
// Engine waits for what only saves a request.
func (e *looked) BatchExecuteStatement(
	ctx context.Context, in *dynamodb.BatchExecuteStatementInput, opts ...func(*dynamodb.Options),
) (*dynamodb.BatchExecuteStatementOutput, error) {
	if !isRead(in) {
		return e.batchInterceptor.BatchExecuteStatement(ctx, in, opts...)
	}

	out, err := e.batchInterceptor.BatchExecuteStatement(context.WithoutCancel(ctx), in, opts...)
	if err != nil {
		return nil, err
	}

	e.reads.Add(1)

	if e.then != nil {
		err = e.then(out)
	}

	return out, err
}

func isRead(in *dynamodb.BatchExecuteStatementInput) bool {
	return strings.HasPrefix(*in.Statements[0].Statement, "SELECT")
}

// onceMet returns a Store that has just met a duplicate, so that the records of its next transactions are read first, where its
// engine shares requests. After each read, then is called. items is how many items the transactions have that were sent
// afterwards.
func (h *harness) onceMet(name string, then func(*dynamodb.BatchExecuteStatementOutput) error, change ...func(*idemddb.Options)) (
	s *idemddb.Store, e *looked, items func() []int,
) {
	h.Helper()

	e = &looked{batchInterceptor: &batchInterceptor{interceptor: h.intercepted(nil)}, then: then}
	var api idemddb.DynamoDB = e.interceptor
	if h.reads() {
		api = e
	}

	s = h.storeOn(api, change...)

	h.committed(h.store(), name+" met 1", adds(h.add("met "+name, "2")))
	h.done(h.settleTogether(s, name+" met ", h.three("met "+name)...), secondReplayed...)
	h.equal("items of the transactions that met a duplicate", e.items(), []int{4, 3})

	return s, e, func() []int { return e.items()[2:] }
}

// reads reports whether the engine shares requests, and so can read.
func (h *harness) reads() bool {
	_, shares := h.engine.(batchExecutor)

	return shares
}

// three are additions to an item, of which the second was made before.
func (h *harness) three(item string) []idemddb.Effects {
	return []idemddb.Effects{adds(h.add(item, "1")), adds(h.add(item, "2")), adds(h.add(item, "4"))}
}

// secondReplayed are the kinds of three endings.
var secondReplayed = []idemddb.Kind{idemddb.KindCompleted, idemddb.KindReplayed, idemddb.KindCompleted}

// faultsOfReads are what can become of a read, after which it proves nothing.
var faultsOfReads = map[string]func(*dynamodb.BatchExecuteStatementOutput) error{
	"no answer": func(*dynamodb.BatchExecuteStatementOutput) error { return errReset },
	"an answer without content": func(out *dynamodb.BatchExecuteStatementOutput) error {
		out.Responses = nil

		return nil
	},
	"an answer without items": func(out *dynamodb.BatchExecuteStatementOutput) error {
		for i := range out.Responses {
			out.Responses[i].Item = nil
		}

		return nil
	},
	"the answer to others": func(out *dynamodb.BatchExecuteStatementOutput) error {
		out.Responses = append(out.Responses[1:], out.Responses[0])

		return nil
	},
	"denied": func(*dynamodb.BatchExecuteStatementOutput) error {
		return &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "not authorized to perform: dynamodb:PartiQLSelect"}
	},
	"denied for each record": func(out *dynamodb.BatchExecuteStatementOutput) error {
		for i := range out.Responses {
			out.Responses[i] = types.BatchStatementResponse{Error: &types.BatchStatementError{Code: types.BatchStatementErrorCodeEnumAccessDenied}}
		}

		return nil
	},
}

// readCases say that the read before a transaction saves what duplicates cost, and decides about nothing that may change.
var readCases = []testCase{
	{name: "read first: after a duplicate was met, the next one is answered by a read, and cancels nothing", check: func(h *harness) {
		s, _, items := h.onceMet("", nil)
		h.committed(h.store(), "k1", adds(h.add("x", "2")))
		h.done(h.settleTogether(s, "k", h.three("x")...), secondReplayed...)
		h.happened("x", "7")

		want := []int{4, 3}
		if h.reads() {
			want = []int{3}
		}

		h.equal("items", items(), want)
	}},
	{name: "read first: where all are duplicates, no transaction is sent", check: func(h *harness) {
		s, _, items := h.onceMet("", nil)

		for _, key := range []string{"k0", "k1", "k2"} {
			h.committed(h.store(), key, adds(h.add("x", "1")))
		}

		h.done(h.settleTogether(s, "k", h.three("x")...), idemddb.KindReplayed, idemddb.KindReplayed, idemddb.KindReplayed)
		h.happened("x", "3")

		if h.reads() {
			h.equal("items", items(), []int{})
		}
	}},
	{name: "read first: a read without an answer proves nothing", check: func(h *harness) {
		for name, fault := range faultsOfReads {
			s, _, items := h.onceMet(name, fault)
			h.committed(h.store(), name+"1", adds(h.add(name, "2")))
			h.done(h.settleTogether(s, name, h.three(name)...), secondReplayed...)
			h.happened(name, "7")
			h.equal(name+": items", items(), []int{4, 3})
		}
	}},
	{name: "read first: a denial turns only the read off, and is told once in five minutes", check: func(h *harness) {
		var told atomic.Int64

		s, e, _ := h.onceMet("", faultsOfReads["denied"], func(o *idemddb.Options) {
			o.Observe = func(_ context.Context, event idemddb.Event) {
				if event.Kind == idemddb.KindReadsDenied {
					told.Add(1)
				}
			}
		})

		for i := range 3 {
			h.committed(h.store(), fmt.Sprint(i, " 1"), adds(h.add("x", "2")))
			h.done(h.settleTogether(s, fmt.Sprint(i, " "), h.three("x")...), secondReplayed...)
		}

		h.happened("x", "21")
		h.equal("writes share requests", s.Engine().Shares(), h.reads())

		if h.reads() {
			h.equal("reads", e.reads.Load(), int64(1))
			h.equal("told", told.Load(), int64(1))
		}
	}},
	{name: "read first: a record that changes after the read decides by the condition of the transaction", check: func(h *harness) {
		var holder *idemddb.Claim

		s, _, _ := h.onceMet("", func(*dynamodb.BatchExecuteStatementOutput) error {
			return holder.Complete(h.Context(), nil)
		})
		holder = h.claim(h.store(), "k1")

		if !h.reads() {
			h.must(holder.Complete(h.Context(), nil))
		}

		h.done(h.settleTogether(s, "k", h.three("x")...), secondReplayed...)
		h.happened("x", "5")
	}},
	{name: "read first: a completion with effects whose key another worker has completed since is fenced by the read", check: func(h *harness) {
		s, _, items := h.onceMet("", nil)
		group := s.Engine().NewGroup()
		ctx := engine.With(h.Context(), &engine.Invocation{Group: group})
		lost, _, err := s.Claim(ctx, "lost", nil)
		h.must(err)
		h.endLease()
		h.must(h.claim(h.store(), "lost").Complete(h.Context(), []byte("theirs")))

		// Together with the completion they are a full flight, which leaves at once.
		wait := h.settleIn(group, s, "k", slices.Repeat([]idemddb.Effects{adds(h.add("x", "1"))}, planner.Size-1)...)
		fenced := as[*idemddb.FencedError](h, lost.CompleteWith(ctx, nil, adds(h.add("x", "100"))))
		h.equal("the other's result", string(fenced.Record.Result), "theirs")
		h.done(wait(), slices.Repeat(allCommitted[:1], planner.Size-1)...)
		h.happened("x", "24")

		want := []int{26, 25}
		if h.reads() {
			want = []int{25}
		}

		h.equal("items", items(), want)
	}},
	{name: "read first: a record past its retention, and one that was released, answer nothing", check: func(h *harness) {
		h.committed(h.store(), "k0", adds(h.add("x", "1")))
		h.endRetention()

		s, _, _ := h.onceMet("", nil)
		h.must(h.claim(h.store(), "k1").Release(h.Context(), nil))
		h.done(h.settleTogether(s, "k", h.three("x")...), allCommitted...)
		h.happened("x", "8")
	}},
	{name: "read first: a key that was ended for good is answered so, and one in progress is not", check: func(h *harness) {
		s, _, items := h.onceMet("", nil)
		h.must(h.claim(h.store(), "k0").Fail(h.Context(), errors.New("the account is closed")))
		h.claim(h.store(), "k2")

		endings := h.settleTogether(s, "k", h.three("x")...)
		h.is(endings[0].Err, idemddb.ErrFailed)
		h.equal("committed", endings[1].Kind, idemddb.KindCompleted)
		h.is(endings[2].Err, idemddb.ErrInProgress)
		h.happened("x", "2")

		want := []int{4, 2}
		if h.reads() {
			want = []int{3, 2}
		}

		h.equal("items", items(), want)
	}},
}
