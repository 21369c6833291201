package contract

import (
	"errors"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/idemddb/go-idemddb/idemddb"
)

// situation is a record that a claim can find.
type situation struct {
	name        string
	fingerprint string // of the claim
	prepare     func(h *harness, s *idemddb.Store, key string)
}

// claimedAt is when the situations are claimed.
var claimedAt = epoch.Add(time.Second)

// situations leave out records without born, which no claim of ours makes: a batch does not add it, and nothing shows the
// difference.
var situations = []situation{
	{"new", "", none},
	{"new, with a fingerprint", "a", none},
	{"held", "", edited(nil)},
	{"released", "", edited(nil, released)},
	{"released with a cause", "", edited(nil, func(h *harness, c *idemddb.Claim) {
		h.must(c.Release(h.Context(), errors.New("bank closed")))
	})},
	{"released unused", "", edited(nil, unused)},
	{"released twice", "", func(h *harness, s *idemddb.Store, key string) {
		released(h, h.claim(s, key))

		if c, _, err := s.Claim(h.Context(), key, nil); err == nil && c != nil {
			released(h, c)
		}
	}},
	{"attempts used up and released", "", edited(attributes{"att": num(2)}, released)},
	{"more than all attempts, lease over", "", edited(attributes{"att": num(3), "lease": num(1)})},
	{"the last attempt", "", edited(attributes{"att": num(1)}, released)},
	{"taken over and released unused", "", takenOver(unused)},
	{"taken over and released", "", takenOver(released)},
	{"lease over", "", edited(attributes{"lease": num(claimedAt.Add(-skew).UnixMilli() - 1)})},
	{"lease over for the clock skew to the millisecond", "", edited(attributes{"lease": num(claimedAt.Add(-skew).UnixMilli())})},
	{"lease over for less than the clock skew", "", edited(attributes{"lease": num(claimedAt.Add(-skew).UnixMilli() + 1)})},
	{"completed", "", edited(nil, completed)},
	{"completed without a result", "", edited(nil, func(h *harness, c *idemddb.Claim) { h.must(c.Complete(h.Context(), nil)) })},
	{"completed, result omitted", "", edited(attributes{"res": &types.AttributeValueMemberNULL{Value: true}}, completed)},
	{"completed, with a lease that is over", "", edited(attributes{"lease": num(1)}, completed)},
	{"completed by a claim without a fingerprint", "a", edited(nil, completed)},
	{"failed", "", edited(nil, func(h *harness, c *idemddb.Claim) { h.must(c.Fail(h.Context(), errors.New("no such account"))) })},
	{"completed, past its retention", "", edited(attributes{"exp": num(claimedAt.Unix())}, completed)},
	{"completed, in the last second of its retention", "", edited(attributes{"exp": num(claimedAt.Unix() + 1)}, completed)},
	{"released, past its retention", "", edited(attributes{"exp": num(claimedAt.Unix())}, released)},
	{"released, long past its retention", "", edited(attributes{"exp": num(1)}, released)},
	{"released, in the last second of its retention", "", edited(attributes{"exp": num(claimedAt.Unix() + 1)}, released)},
	{"held, past its retention", "", edited(attributes{"exp": num(1)})},
	{"lease over, past its retention", "", edited(attributes{"exp": num(1), "lease": num(1)})},
	{"another input, held", "b", fingerprinted()},
	{"another input, released", "b", fingerprinted(released)},
	{"another input, completed", "b", fingerprinted(completed)},
	{"the same input, held", "a", fingerprinted()},
	{"the same input, released", "a", fingerprinted(released)},
	{"the same input, completed", "a", fingerprinted(completed)},
	{"no input compared, released", "", fingerprinted(released)},
	{"an input from before inputs were compared, released", "a", edited(nil, released)},
	{"an input of another version of the algorithm, held", "a", anotherAlgorithm()},
	{"an input of another version of the algorithm, released", "a", anotherAlgorithm(released)},
	{"an input of another version of the algorithm, completed", "a", anotherAlgorithm(completed)},
	{"another version, released", "", edited(attributes{"v": num(2)}, released)},
	{"another version, completed", "", edited(attributes{"v": num(2)}, completed)},
	{"no version", "", edited(attributes{"v": nil}, released)},
	{"no owner token, released", "", edited(attributes{"own": nil}, released)},
	{"no owner token, held", "", edited(attributes{"own": nil})},
	{"no fencing token, released", "", edited(attributes{"fence": nil}, released)},
	{"no lease", "", edited(attributes{"lease": nil})},
	{"no lease, past its retention", "", edited(attributes{"lease": nil, "exp": num(1)})},
	{"no attempts, released", "", edited(attributes{"att": nil}, released)},
	{"no TTL", "", edited(attributes{"exp": nil}, released)},
	{"attempts that are no number, released", "", edited(attributes{"att": str("x")}, released)},
	{"a fencing token that is no whole number, released", "", edited(attributes{"fence": &types.AttributeValueMemberN{Value: "1.5"}}, released)},
	{"a lease that is no number", "", edited(attributes{"lease": str("x")})},
	{"an unknown state", "", edited(attributes{"st": str("PAUSED")}, released)},
	{"a result that is no bytes", "", edited(attributes{"res": str("x")}, completed)},
}

func none(*harness, *idemddb.Store, string) {}

func released(h *harness, c *idemddb.Claim)  { h.must(c.Release(h.Context(), nil)) }
func unused(h *harness, c *idemddb.Claim)    { h.must(c.ReleaseUnused(h.Context())) }
func completed(h *harness, c *idemddb.Claim) { h.must(c.Complete(h.Context(), []byte("paid"))) }

// edited claims a key, ends the claim, and changes the record.
func edited(change attributes, end ...func(*harness, *idemddb.Claim)) func(*harness, *idemddb.Store, string) {
	return func(h *harness, s *idemddb.Store, key string) {
		c := h.claim(s, key)

		for _, f := range end {
			f(h, c)
		}

		if change != nil {
			h.edit(key, change)
		}
	}
}

// fingerprinted claims a key with the fingerprint "a", and ends the claim.
func fingerprinted(end ...func(*harness, *idemddb.Claim)) func(*harness, *idemddb.Store, string) {
	return func(h *harness, s *idemddb.Store, key string) {
		c := h.claimWith(s, key, &idemddb.ClaimOptions{Fingerprint: "a"})

		for _, f := range end {
			f(h, c)
		}
	}
}

// anotherAlgorithm is fingerprinted, by another version of the algorithm.
func anotherAlgorithm(end ...func(*harness, *idemddb.Claim)) func(*harness, *idemddb.Store, string) {
	claim := fingerprinted(end...)

	return func(h *harness, s *idemddb.Store, key string) {
		claim(h, s, key)
		h.edit(key, attributes{"fp": str("2:made by another algorithm")})
	}
}

// takenOver takes a key over, and ends the claim.
func takenOver(end func(*harness, *idemddb.Claim)) func(*harness, *idemddb.Store, string) {
	return func(h *harness, _ *idemddb.Store, key string) {
		h.abandoned(key)
		end(h, h.claim(h.store(), key))
	}
}
