package lambdawrap_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/idemddb/go-idemddb/lambdawrap"
)

// durableHandler is the context of the handler of a durable function, as the SDK for durable executions makes it.
type durableHandler struct{ context.Context }

func (durableHandler) ExecutionArn() string { return "arn:execution" }
func (durableHandler) IsReplaying() bool    { return false }

// startedFuncs are functions of Func for inputs of several types, with metrics and without, as lambda.Start gets them. ran counts their handlers.
func startedFuncs(h *harness, ran *int) map[string]lambda.Handler {
	metrics := lambdawrap.NewMetrics(io.Discard, "payments")

	return map[string]lambda.Handler{
		"a struct":          lambda.NewHandler(funcOf[order](h, ran)),
		"a list":            lambda.NewHandler(funcOf[[]order](h, ran)),
		"any":               lambda.NewHandler(funcOf[any](h, ran)),
		"raw JSON":          lambda.NewHandler(funcOf[json.RawMessage](h, ran)),
		"any, with metrics": lambda.NewHandler(lambdawrap.Measure(metrics, funcOf[any](h, ran))),
	}
}

func funcOf[In any](h *harness, ran *int) lambdawrap.EventFunc[In, string] {
	return lambdawrap.Func(h.store, func(context.Context, In) (string, error) {
		*ran++

		return "<&>", nil
	}, &lambdawrap.FuncOptions[In]{Key: func(context.Context, In) (string, error) { return "k", nil }})
}

func TestTheArrayOfAPipeAndADurableInvocationAreRefusedByFuncBeforeAnythingRuns(t *testing.T) {
	t.Parallel()

	for payload, want := range map[string]string{
		`[{"messageId":"m1","eventSource":"aws:sqs","body":"{}"}]`:                                                   "Pipe",
		"\n [{\"eventSource\":\"aws:kinesis\"},{}]":                                                                  "one key on the whole",
		`[{"eventSource":"aws:kafka","topic":"t"}]`:                                                                  "Pipe",
		`{"DurableExecutionArn":"arn:aws:lambda:x","CheckpointToken":"t","InitialExecutionState":{"Operations":[]}}`: "durable function",
	} {
		ran, h := 0, newHarness(t, nil)

		for name, f := range startedFuncs(h, &ran) {
			if _, err := f.Invoke(t.Context(), []byte(payload)); err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%s, %s: got %v, want %q", name, payload, err, want)
			}
		}

		h.equal("runs", ran, 0)
		h.equal("requests", len(h.db.Requests()), 0)
	}
}

func TestTheContextOfADurableHandlerIsRefusedByFunc(t *testing.T) {
	t.Parallel()

	ran, h := 0, newHarness(t, nil)

	_, err := funcOf[any](h, &ran)(durableHandler{t.Context()}, nil)
	if err == nil || !strings.Contains(err.Error(), "durable function") {
		t.Errorf("got %v", err)
	}

	h.equal("runs", ran, 0)
	h.equal("requests", len(h.db.Requests()), 0)
}

// A list of a caller's own is one input, and the result is written as lambda.Start writes it.
func TestAllOtherInputsAreReadAndAnsweredAsByLambdaStart(t *testing.T) {
	t.Parallel()

	for name, payloads := range map[string][]string{
		"a list": {`[]`, `[{"id":"o-1"}]`, `null`}, "any": {`{}`, `[]`, `[1]`, `[{"eventSource":""}]`, `1`, `"DurableExecutionArn"`, `{"DurableExecutionArn":"a"}`},
		"a struct": {`{}`, `{"eventSource":"aws:sqs"}`}, "raw JSON": {`[[]]`},
	} {
		for _, payload := range payloads {
			ran, h := 0, newHarness(t, nil)

			answer, err := startedFuncs(h, &ran)[name].Invoke(t.Context(), []byte(payload))
			if string(answer) != `"<&>"` || err != nil || ran != 1 {
				t.Errorf("%s, %s: got %s, %v, %d runs", name, payload, answer, err, ran)
			}
		}
	}

	ran, h := 0, newHarness(t, nil)

	_, err := startedFuncs(h, &ran)["a struct"].Invoke(t.Context(), []byte(`[1]`))
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok || ran != 0 {
		t.Errorf("what is not of the type: got %v, %d runs", err, ran)
	}

	failing := lambdawrap.Func(h.store, func(context.Context, any) (string, error) { return "", errBank },
		&lambdawrap.FuncOptions[any]{Key: func(context.Context, any) (string, error) { return "other", nil }})
	if _, err := failing.Invoke(t.Context(), []byte(`{}`)); !errors.Is(err, errBank) {
		t.Errorf("got %v, want the handler's error", err)
	}
}

func TestTheKeyOfAStepOfADurableExecution(t *testing.T) {
	t.Parallel()

	key := func(ctx context.Context, step string) string {
		return keyOfEvent(t, func(context.Context, string) (string, error) { return lambdawrap.DurableKey(ctx, step) }, step)
	}

	for name, c := range map[string]struct{ got, want string }{
		"a step":          {key(durableHandler{t.Context()}, "charge"), `#["arn:execution","charge"]`},
		"without a name":  {key(durableHandler{t.Context()}, ""), "no key"},
		"outside":         {key(t.Context(), "charge"), "no key"},
		"derived context": {key(context.WithoutCancel(durableHandler{t.Context()}), "charge"), "no key"},
	} {
		if c.got != c.want {
			t.Errorf("%s: got %s, want %s", name, c.got, c.want)
		}
	}
}
