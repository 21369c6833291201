package contract

import (
	"context"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// traceCases say that a record leads from a replay and a takeover to the run before, and that nothing else depends on it.
var traceCases = []testCase{
	{name: "a replay names the run that completed the key, whichever way it was written", check: func(h *harness) {
		for key, complete := range tracedCompletions {
			h.claim(h.store(traced("earlier")), key)
			h.endLease()
			complete(h, h.store(traced(key)), key)
			h.equal("trace of "+key, h.item(key)["trace"], str(key))
			h.equal("Trace of "+key, h.replay(h.store(), key).Trace, key)
		}
	}},
	{name: "a record past its retention keeps nothing of the runs of its earlier life", check: func(h *harness) {
		for key, again := range tracedCompletions {
			h.must(h.claim(h.store(traced("old")), key).Complete(h.Context(), nil))
			h.endRetention()
			again(h, h.store(traced(key)), key)
			h.equal("trace of "+key, h.item(key)["trace"], str(key))
			h.equal("ptrace of "+key, h.item(key)["ptrace"], str(""))
		}
	}},
	{name: "a run that was rejected is named in its record, also in place of one past its retention", check: func(h *harness) {
		h.reject(h.store(traced("first")), "k", false)
		h.equal("trace", h.text("trace"), "first")
		h.reject(h.store(traced("second")), "k", true)
		h.equal("trace", h.text("trace"), "second")
		h.endRetention()
		h.reject(h.store(traced("third")), "k", true)
		h.equal("trace", h.text("trace"), "third")
	}},
	{name: "a takeover names the run before, also if its answer is lost, and a first claim and one after a release do not", check: func(h *harness) {
		for name, f := range unanswered {
			h.claim(h.store(traced("first")), name)
			h.endLease()

			c := h.claim(h.storeOn(h.intercepted(nth(1, f)), traced("second")), name)
			h.equal("TakenFrom", c.TakenFrom(), "first")
			h.equal("trace", h.item(name)["trace"], str("second"))
			h.must(c.Release(h.Context(), nil))
			h.equal("TakenFrom after a release", h.claim(h.store(traced("third")), name).TakenFrom(), "")
		}

		h.equal("TakenFrom of a new key", h.claim(h.store(traced("first")), "new").TakenFrom(), "")
	}},
	{name: "batch: claims keep their runs, and takeovers name those before, also if the answer is lost", check: func(h *harness) {
		for name, f := range unanswered {
			keys := []string{name + " a", name + " b"}
			for i, c := range h.winKeys(h.storeOn(h.interceptedBatch(nth(1, f)), traced("first")), false, keys...) {
				h.equal("TakenFrom of a new key", c.TakenFrom(), "")
				h.equal("trace", h.item(keys[i])["trace"], str("first"))
			}

			h.endLease()

			for i, c := range h.winKeys(h.storeOn(h.interceptedBatch(nth(1, f)), traced("second")), true, keys...) {
				h.equal("TakenFrom", c.TakenFrom(), "first")
				h.equal("trace", h.item(keys[i])["trace"], str("second"))
				h.equal("ptrace", h.item(keys[i])["ptrace"], str("first"))
			}
		}
	}},
	{name: "batch: a record without a traceparent is taken over with one", check: func(h *harness) {
		h.abandoned("a")
		h.abandoned("b")

		for _, c := range h.winKeys(h.store(traced("second")), true, "a", "b") {
			h.equal("Takeover", c.Takeover(), true)
			h.equal("TakenFrom", c.TakenFrom(), "")
			h.equal("trace", h.item(c.Key())["trace"], str("second"))
		}
	}},
	{name: "what is no traceparent is not kept, takes the place of an earlier one, and costs no work", check: func(h *harness) {
		longest := strings.Repeat("t", 128)
		for name, trace := range map[string]func(*idemddb.Options){
			"empty": traced(""), "too long": traced(longest + "t"), "a space": traced("a b"), "a line": traced("a\n"),
			"not ASCII": traced("é"), "DEL": traced("\x7f"),
			"a panic": func(o *idemddb.Options) { o.Trace = func(context.Context) string { panic("no span") } },
		} {
			h.claim(h.store(traced(longest)), name)
			h.equal("trace", h.item(name)["trace"], str(longest))
			h.endLease()

			c := h.claim(h.store(trace), name)
			h.equal(name+": TakenFrom", c.TakenFrom(), longest)
			h.must(c.Complete(h.Context(), nil))
			h.equal(name+": Trace", h.replay(h.store(), name).Trace, "")
		}
	}},
	{name: "whatever a foreign writer puts in its place, a traceparent refuses nothing", check: func(h *harness) {
		for name, v := range map[string]types.AttributeValue{"number": num(1), "list": &types.AttributeValueMemberL{}, "text": str("two words")} {
			h.claim(h.store(traced("first")), name)
			h.edit(name, attributes{"trace": v})
			h.endLease()

			c := h.claim(h.store(traced("second")), name)
			h.equal("Takeover", c.Takeover(), true)
			h.equal("TakenFrom", c.TakenFrom(), "")
			h.edit(name, attributes{"trace": v})
			h.must(c.Complete(h.Context(), nil))
			h.equal("Trace", h.replay(h.store(), name).Trace, "")
		}
	}},
	{name: "without Options.Trace nothing is asked, kept or said", check: func(h *harness) {
		h.abandoned("k")
		c := h.claim(h.store(), "k")
		h.equal("TakenFrom", c.TakenFrom(), "")
		h.must(c.Complete(h.Context(), nil))

		for _, name := range []string{"trace", "ptrace"} {
			h.equal(name, h.item("k")[name], attributes{}[name])
		}

		h.equal("Trace", h.replay(h.store(traced("run")), "k").Trace, "")
	}},
	{name: "each call asks for its traceparent once, and its events name the run before", check: func(h *harness) {
		var (
			asked  int
			events []string
		)

		counted := func(o *idemddb.Options) {
			o.Cache = 10
			o.Trace = func(context.Context) string { asked++; return "run" }
			o.Observe = func(_ context.Context, e idemddb.Event) {
				if e.Kind != idemddb.KindRetried && e.Kind != idemddb.KindUnshared && e.Kind != idemddb.KindReadsDenied {
					events = append(events, string(e.Kind)+" "+e.Trace)
				}
			}
		}

		h.claim(h.store(traced("first")), "k")
		h.endLease()

		s := h.storeOn(h.intercepted(nth(1, loseReply)), counted)
		h.must(h.claim(s, "k").Complete(h.Context(), nil))
		h.equal("Trace from the cache", h.replay(s, "k").Trace, "run")
		h.equal("asked", asked, 1)
		h.replay(h.store(counted), "k")
		h.committed(s, "other", effects(h.count("a")))
		h.equal("asked", asked, 3)

		if want := []string{"takeover first", "completed ", "replayed run", "replayed run", "completed "}; !slices.Equal(events, want) {
			h.Errorf("events: got %q, want %q", events, want)
		}
	}},
}

// tracedCompletions are the ways in which a key is claimed and completed.
var tracedCompletions = map[string]func(h *harness, s *idemddb.Store, key string){
	"claim": func(h *harness, s *idemddb.Store, key string) { h.must(h.claim(s, key).Complete(h.Context(), nil)) },
	"claim,compared": func(h *harness, s *idemddb.Store, key string) {
		h.must(h.claimWith(s, key, &idemddb.ClaimOptions{Fingerprint: "a"}).Complete(h.Context(), nil))
	},
	"with-effects": func(h *harness, s *idemddb.Store, key string) {
		h.must(h.claim(s, key).CompleteWith(h.Context(), nil, effects(h.count(key))))
	},
	"commit": func(h *harness, s *idemddb.Store, key string) { h.committed(s, key, effects(h.count(key))) },
}

// traced gives the claims of a Store this traceparent.
func traced(text string) func(*idemddb.Options) {
	return func(o *idemddb.Options) { o.Trace = func(context.Context) string { return text } }
}
