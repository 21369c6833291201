package contract

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/idemddb/go-idemddb/idemddb"
)

// doCases say what Do returns and leaves.
var doCases = []testCase{
	{name: "Do: a result over the limit is done and not kept", check: func(h *harness) {
		s, runs := h.store(), 0
		work := func(context.Context) (string, error) {
			runs++

			return strings.Repeat("x", 6_500_000), nil
		}

		first, err := idemddb.Do(h.Context(), s, "k", nil, work)
		h.must(err)
		h.equal("length", len(first), 6_500_000)

		again, err := idemddb.Do(h.Context(), s, "k", nil, work)
		h.must(err)
		h.equal("value", again, "")

		_, err = idemddb.Do(h.Context(), s, "k", &idemddb.ClaimOptions{NeedResult: true}, work)
		h.is(err, idemddb.ErrResultOmitted)
		h.equal("runs", runs, 1)
		h.isOmitted(h.replay(s, "k"))
	}},
	{name: "Do: every JSON value is replayed as it was", check: func(h *harness) {
		s := h.store()

		for name, text := range map[string]string{
			"object": `{}`, "list": `[]`, "zero": `0`, "false": `false`, "empty": `""`, "null": `null`, "number": `9007199254740993`,
		} {
			var want any

			decoder := json.NewDecoder(strings.NewReader(text))
			decoder.UseNumber()
			h.must(decoder.Decode(&want))

			for range 2 {
				got, err := idemddb.Do(h.Context(), s, name, nil, func(context.Context) (any, error) { return want, nil })
				h.must(err)
				h.equal(name, got, want)
			}
		}
	}},
	{name: "Do: work that was taken over by a worker that completed returns that worker's result", check: func(h *harness) {
		s := h.store()
		got, err := idemddb.Do(h.Context(), s, "k", nil, func(context.Context) (string, error) {
			h.endLease()
			h.must(h.claim(s, "k").Complete(h.Context(), []byte(`"theirs"`)))

			return "mine", nil
		})
		h.must(err)
		h.equal("value", got, "theirs")
	}},
	{name: "Do: work that was taken over by a worker that still runs returns ErrFenced beside its value", check: func(h *harness) {
		s := h.store()
		got, err := idemddb.Do(h.Context(), s, "k", nil, func(context.Context) (string, error) {
			h.endLease()
			h.claim(s, "k")

			return "mine", nil
		})
		h.is(err, idemddb.ErrFenced)
		h.equal("value", got, "mine")
	}},
	{name: "Do: each of two nested calls replays its own answer", check: func(h *harness) {
		s, inner := h.store(), 0
		work := func(ctx context.Context) (int, error) {
			return idemddb.Do(ctx, s, "inner", nil, func(ctx context.Context) (int, error) {
				c, ok := idemddb.FromContext(ctx)
				h.equal("the claim in the context", ok && c.Key() == "inner", true)

				inner++

				return 21, nil
			})
		}

		for range 2 {
			v, err := idemddb.Do(h.Context(), s, "outer", nil, work)
			h.must(err)
			h.equal("value", v, 21)
		}

		h.equal("runs", inner, 1)
	}},
	{name: "Do: what work stores by its own claim is what is replayed", check: func(h *harness) {
		s := h.store()
		_, err := idemddb.Do(h.Context(), s, "k", nil, func(ctx context.Context) (string, error) {
			c, ok := idemddb.FromContext(ctx)
			if !ok {
				return "", errors.New("the context has no claim")
			}

			return "value", c.Complete(ctx, []byte(`"stored"`))
		})
		h.must(err)
		h.equal("Result", string(h.replay(s, "k").Result), `"stored"`)
	}},
}
