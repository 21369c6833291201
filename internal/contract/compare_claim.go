package contract

import (
	"fmt"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// comparisonCases say that a batch answers and writes what single requests do. The single request says what is right.
var comparisonCases = costly(
	testCase{name: "batch: claims answer and write what single claims do, whatever they find and whatever was expected", check: func(h *harness) {
		h.compareClaims()
	}},
	testCase{name: "batch: the same claims with attempts that are limited", check: func(h *harness) { h.compareClaims(maxAttempts(2)) }},
	testCase{name: "batch: the same claims without takeover", check: func(h *harness) { h.compareClaims(noTakeover) }},
	testCase{name: "batch: the same claims with both", check: func(h *harness) { h.compareClaims(maxAttempts(2), noTakeover) }},
	testCase{name: "batch: the same claims with a cache", check: func(h *harness) {
		h.compareClaims(func(o *idemddb.Options) { o.Cache = 1000 })
	}},
	testCase{name: "batch: the same claims with a traceparent", check: func(h *harness) { h.compareClaims(traced("run")) }},
	testCase{name: "batch: settling answers and writes what it does alone, whatever became of the claim", check: func(h *harness) {
		h.compareSettling()
	}},
)

// expectations are the ways in which each situation is claimed, as prefixes of keys: by a single claim, and in one batch with all
// others as a first delivery and as a redelivery.
var expectations = []string{"single, ", "new, ", "redelivered, "}

// compareClaims claims each situation in each way.
func (h *harness) compareClaims(change ...func(*idemddb.Options)) {
	h.Helper()

	s := h.store(change...)
	before := h.prepareSituations(s)

	h.Advance(claimedAt.Sub(h.Now()))

	var (
		want     []answer
		requests []request
	)

	for _, of := range situations {
		var a answer

		a.claim, a.record, a.err = s.Claim(h.Context(), expectations[0]+of.name, &idemddb.ClaimOptions{Fingerprint: of.fingerprint})
		want = append(want, a)
		requests = append(requests,
			request{key: expectations[1] + of.name, fingerprint: of.fingerprint},
			request{key: expectations[2] + of.name, fingerprint: of.fingerprint, redelivered: true},
		)
	}

	for i, got := range h.claimBatch(s, requests...) {
		key, single := requests[i].key, expectations[0]+situations[i/2].name
		h.equal(key, got.String(), want[i/2].String())
		h.equal("record of "+key, h.effect(key, before[key]), h.effect(single, before[single]))

		if got.claim != nil {
			h.equal("fence of "+key, got.claim.Fence(), h.number(key, "fence"))
		}
	}
}

// prepareSituations makes each situation for each way to claim it, and returns the records by their keys.
func (h *harness) prepareSituations(s *idemddb.Store) map[string]attributes {
	h.Helper()

	records := map[string]attributes{}

	for _, of := range situations {
		for _, expected := range expectations {
			key := expected + of.name
			of.prepare(h, s, key)
			records[key] = h.item(key)
		}
	}

	return records
}

// effect is a record as text, without its key. Of its owner token it says only whether it is the one before. It can be called on
// any goroutine.
func (h *harness) effect(key string, before attributes) string {
	h.Helper()

	it := h.item(key)
	if it == nil {
		return "none"
	}

	token := show(attributes{"own": it["own"]})
	kept := token == show(attributes{"own": before["own"]})

	maps.DeleteFunc(it, func(name string, _ types.AttributeValue) bool {
		_, isKey := h.key(key)[name]

		return isKey || name == "own"
	})

	if result, ok := it["res"].(*types.AttributeValueMemberB); ok {
		it["res"] = str("bytes: " + string(result.Value))
	}

	return fmt.Sprintf("%s, owner token kept: %t", show(it), kept)
}
